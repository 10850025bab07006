//! The events that triggers of databases and of the server fire on, and the groups they belong to.
//!
//! Numbers, names and groups are those of `sys.trigger_event_types` (SQL Server 2025): events below 10,000, groups above. Most
//! are of things that are not here; a trigger may name them all the same.

/// An event, or a group of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventType {
    /// `type`
    pub number: i32,
    /// `type_name`
    pub name: &'static str,
    /// `parent_type`: the group it belongs to; 0 for none.
    pub parent: i32,
}

/// Numbers from here on are groups.
pub const FIRST_GROUP: i32 = 10_001;
/// The group of what happens to the server.
const SERVER_LEVEL: i32 = 10_002;
/// What a server's trigger names to fire when a session begins: no event of definitions, and in no group.
pub const LOGON: &str = "LOGON";
/// Number of LOGON in `sys.server_trigger_events`.
pub const LOGON_NUMBER: i32 = 147;

impl EventType {
    /// Whether it stands for all events below it.
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.number >= FIRST_GROUP
    }

    /// Whether it is this event or group, or in it.
    #[must_use]
    pub fn within(&self, other: &EventType) -> bool {
        let mut at = Some(self);
        while let Some(here) = at {
            if here.number == other.number {
                return true;
            }
            at = by_number(here.parent);
        }
        false
    }

    /// Whether it happens to the server, so that triggers of databases do not see it.
    #[must_use]
    pub fn is_server_level(&self) -> bool {
        match by_number(SERVER_LEVEL) {
            Some(server) => self.within(server) || self.parent == 0,
            None => false,
        }
    }

    /// The events it stands for, by number: those of a group, or itself.
    pub fn events(&'static self) -> impl Iterator<Item = &'static EventType> {
        ALL.iter().filter(move |e| !e.is_group() && e.within(self))
    }
}

/// An event or group by its name, in any case.
#[must_use]
pub fn named(name: &str) -> Option<&'static EventType> {
    ALL.iter().find(|e| e.name.eq_ignore_ascii_case(name))
}

fn by_number(number: i32) -> Option<&'static EventType> {
    ALL.binary_search_by_key(&number, |e| e.number).ok().map(|at| &ALL[at])
}

const fn e(number: i32, name: &'static str, parent: i32) -> EventType {
    EventType { number, name, parent }
}

/// All of them, by number.
pub static ALL: &[EventType] = &[
    e(21, "CREATE_TABLE", 10_018),
    e(22, "ALTER_TABLE", 10_018),
    e(23, "DROP_TABLE", 10_018),
    e(24, "CREATE_INDEX", 10_020),
    e(25, "ALTER_INDEX", 10_020),
    e(26, "DROP_INDEX", 10_020),
    e(27, "CREATE_STATISTICS", 10_021),
    e(28, "UPDATE_STATISTICS", 10_021),
    e(29, "DROP_STATISTICS", 10_021),
    e(34, "CREATE_SYNONYM", 10_022),
    e(36, "DROP_SYNONYM", 10_022),
    e(41, "CREATE_VIEW", 10_019),
    e(42, "ALTER_VIEW", 10_019),
    e(43, "DROP_VIEW", 10_019),
    e(51, "CREATE_PROCEDURE", 10_024),
    e(52, "ALTER_PROCEDURE", 10_024),
    e(53, "DROP_PROCEDURE", 10_024),
    e(61, "CREATE_FUNCTION", 10_023),
    e(62, "ALTER_FUNCTION", 10_023),
    e(63, "DROP_FUNCTION", 10_023),
    e(71, "CREATE_TRIGGER", 10_025),
    e(72, "ALTER_TRIGGER", 10_025),
    e(73, "DROP_TRIGGER", 10_025),
    e(74, "CREATE_EVENT_NOTIFICATION", 10_026),
    e(76, "DROP_EVENT_NOTIFICATION", 10_026),
    e(91, "CREATE_TYPE", 10_028),
    e(93, "DROP_TYPE", 10_028),
    e(101, "CREATE_ASSEMBLY", 10_027),
    e(102, "ALTER_ASSEMBLY", 10_027),
    e(103, "DROP_ASSEMBLY", 10_027),
    e(131, "CREATE_USER", 10_031),
    e(132, "ALTER_USER", 10_031),
    e(133, "DROP_USER", 10_031),
    e(134, "CREATE_ROLE", 10_032),
    e(135, "ALTER_ROLE", 10_032),
    e(136, "DROP_ROLE", 10_032),
    e(137, "CREATE_APPLICATION_ROLE", 10_033),
    e(138, "ALTER_APPLICATION_ROLE", 10_033),
    e(139, "DROP_APPLICATION_ROLE", 10_033),
    e(141, "CREATE_SCHEMA", 10_034),
    e(142, "ALTER_SCHEMA", 10_034),
    e(143, "DROP_SCHEMA", 10_034),
    e(144, "CREATE_LOGIN", 10_006),
    e(145, "ALTER_LOGIN", 10_006),
    e(146, "DROP_LOGIN", 10_006),
    e(151, "CREATE_MESSAGE_TYPE", 10_042),
    e(152, "ALTER_MESSAGE_TYPE", 10_042),
    e(153, "DROP_MESSAGE_TYPE", 10_042),
    e(154, "CREATE_CONTRACT", 10_043),
    e(156, "DROP_CONTRACT", 10_043),
    e(157, "CREATE_QUEUE", 10_044),
    e(158, "ALTER_QUEUE", 10_044),
    e(159, "DROP_QUEUE", 10_044),
    e(161, "CREATE_SERVICE", 10_045),
    e(162, "ALTER_SERVICE", 10_045),
    e(163, "DROP_SERVICE", 10_045),
    e(164, "CREATE_ROUTE", 10_046),
    e(165, "ALTER_ROUTE", 10_046),
    e(166, "DROP_ROUTE", 10_046),
    e(167, "GRANT_SERVER", 10_007),
    e(168, "DENY_SERVER", 10_007),
    e(169, "REVOKE_SERVER", 10_007),
    e(170, "GRANT_DATABASE", 10_035),
    e(171, "DENY_DATABASE", 10_035),
    e(172, "REVOKE_DATABASE", 10_035),
    e(174, "CREATE_REMOTE_SERVICE_BINDING", 10_047),
    e(175, "ALTER_REMOTE_SERVICE_BINDING", 10_047),
    e(176, "DROP_REMOTE_SERVICE_BINDING", 10_047),
    e(177, "CREATE_XML_SCHEMA_COLLECTION", 10_048),
    e(178, "ALTER_XML_SCHEMA_COLLECTION", 10_048),
    e(179, "DROP_XML_SCHEMA_COLLECTION", 10_048),
    e(181, "CREATE_ENDPOINT", 10_003),
    e(182, "ALTER_ENDPOINT", 10_003),
    e(183, "DROP_ENDPOINT", 10_003),
    e(191, "CREATE_PARTITION_FUNCTION", 10_050),
    e(192, "ALTER_PARTITION_FUNCTION", 10_050),
    e(193, "DROP_PARTITION_FUNCTION", 10_050),
    e(194, "CREATE_PARTITION_SCHEME", 10_051),
    e(195, "ALTER_PARTITION_SCHEME", 10_051),
    e(196, "DROP_PARTITION_SCHEME", 10_051),
    e(197, "CREATE_CERTIFICATE", 10_030),
    e(198, "ALTER_CERTIFICATE", 10_030),
    e(199, "DROP_CERTIFICATE", 10_030),
    e(201, "CREATE_DATABASE", 10_004),
    e(202, "ALTER_DATABASE", 10_004),
    e(203, "DROP_DATABASE", 10_004),
    e(204, "ALTER_AUTHORIZATION_SERVER", 10_008),
    e(205, "ALTER_AUTHORIZATION_DATABASE", 10_036),
    e(206, "CREATE_XML_INDEX", 10_020),
    e(207, "ADD_ROLE_MEMBER", 10_032),
    e(208, "DROP_ROLE_MEMBER", 10_032),
    e(209, "ADD_SERVER_ROLE_MEMBER", 10_005),
    e(210, "DROP_SERVER_ROLE_MEMBER", 10_005),
    e(211, "ALTER_EXTENDED_PROPERTY", 10_053),
    e(212, "ALTER_FULLTEXT_CATALOG", 10_054),
    e(213, "ALTER_FULLTEXT_INDEX", 10_020),
    e(214, "ALTER_INSTANCE", 10_002),
    e(215, "ALTER_MESSAGE", 10_014),
    e(216, "ALTER_PLAN_GUIDE", 10_055),
    e(217, "ALTER_REMOTE_SERVER", 10_015),
    e(218, "BIND_DEFAULT", 10_052),
    e(219, "BIND_RULE", 10_056),
    e(220, "CREATE_DEFAULT", 10_052),
    e(221, "CREATE_EXTENDED_PROCEDURE", 10_011),
    e(222, "CREATE_EXTENDED_PROPERTY", 10_053),
    e(223, "CREATE_FULLTEXT_CATALOG", 10_054),
    e(224, "CREATE_FULLTEXT_INDEX", 10_020),
    e(225, "CREATE_LINKED_SERVER", 10_012),
    e(226, "CREATE_LINKED_SERVER_LOGIN", 10_013),
    e(227, "CREATE_MESSAGE", 10_014),
    e(228, "CREATE_PLAN_GUIDE", 10_055),
    e(229, "CREATE_RULE", 10_056),
    e(230, "CREATE_REMOTE_SERVER", 10_015),
    e(231, "DROP_DEFAULT", 10_052),
    e(232, "DROP_EXTENDED_PROCEDURE", 10_011),
    e(233, "DROP_EXTENDED_PROPERTY", 10_053),
    e(234, "DROP_FULLTEXT_CATALOG", 10_054),
    e(235, "DROP_FULLTEXT_INDEX", 10_020),
    e(236, "DROP_LINKED_SERVER_LOGIN", 10_013),
    e(237, "DROP_MESSAGE", 10_014),
    e(238, "DROP_PLAN_GUIDE", 10_055),
    e(239, "DROP_RULE", 10_056),
    e(240, "DROP_REMOTE_SERVER", 10_015),
    e(241, "RENAME", 10_016),
    e(242, "UNBIND_DEFAULT", 10_052),
    e(243, "UNBIND_RULE", 10_056),
    e(244, "CREATE_SYMMETRIC_KEY", 10_037),
    e(245, "ALTER_SYMMETRIC_KEY", 10_037),
    e(246, "DROP_SYMMETRIC_KEY", 10_037),
    e(247, "CREATE_ASYMMETRIC_KEY", 10_038),
    e(248, "ALTER_ASYMMETRIC_KEY", 10_038),
    e(249, "DROP_ASYMMETRIC_KEY", 10_038),
    e(251, "ALTER_SERVICE_MASTER_KEY", 10_010),
    e(252, "CREATE_MASTER_KEY", 10_040),
    e(253, "ALTER_MASTER_KEY", 10_040),
    e(254, "DROP_MASTER_KEY", 10_040),
    e(255, "ADD_SIGNATURE_SCHEMA_OBJECT", 10_039),
    e(256, "DROP_SIGNATURE_SCHEMA_OBJECT", 10_039),
    e(257, "ADD_SIGNATURE", 10_039),
    e(258, "DROP_SIGNATURE", 10_039),
    e(259, "CREATE_CREDENTIAL", 10_009),
    e(260, "ALTER_CREDENTIAL", 10_009),
    e(261, "DROP_CREDENTIAL", 10_009),
    e(262, "DROP_LINKED_SERVER", 10_012),
    e(263, "ALTER_LINKED_SERVER", 10_012),
    e(264, "CREATE_EVENT_SESSION", 10_057),
    e(265, "ALTER_EVENT_SESSION", 10_057),
    e(266, "DROP_EVENT_SESSION", 10_057),
    e(267, "CREATE_RESOURCE_POOL", 10_059),
    e(268, "ALTER_RESOURCE_POOL", 10_059),
    e(269, "DROP_RESOURCE_POOL", 10_059),
    e(270, "CREATE_WORKLOAD_GROUP", 10_060),
    e(271, "ALTER_WORKLOAD_GROUP", 10_060),
    e(272, "DROP_WORKLOAD_GROUP", 10_060),
    e(273, "ALTER_RESOURCE_GOVERNOR_CONFIG", 10_058),
    e(274, "CREATE_SPATIAL_INDEX", 10_020),
    e(275, "CREATE_CRYPTOGRAPHIC_PROVIDER", 10_061),
    e(276, "ALTER_CRYPTOGRAPHIC_PROVIDER", 10_061),
    e(277, "DROP_CRYPTOGRAPHIC_PROVIDER", 10_061),
    e(278, "CREATE_DATABASE_ENCRYPTION_KEY", 10_062),
    e(279, "ALTER_DATABASE_ENCRYPTION_KEY", 10_062),
    e(280, "DROP_DATABASE_ENCRYPTION_KEY", 10_062),
    e(281, "CREATE_BROKER_PRIORITY", 10_063),
    e(282, "ALTER_BROKER_PRIORITY", 10_063),
    e(283, "DROP_BROKER_PRIORITY", 10_063),
    e(284, "CREATE_SERVER_AUDIT", 10_064),
    e(285, "ALTER_SERVER_AUDIT", 10_064),
    e(286, "DROP_SERVER_AUDIT", 10_064),
    e(287, "CREATE_SERVER_AUDIT_SPECIFICATION", 10_065),
    e(288, "ALTER_SERVER_AUDIT_SPECIFICATION", 10_065),
    e(289, "DROP_SERVER_AUDIT_SPECIFICATION", 10_065),
    e(290, "CREATE_DATABASE_AUDIT_SPECIFICATION", 10_066),
    e(291, "ALTER_DATABASE_AUDIT_SPECIFICATION", 10_066),
    e(292, "DROP_DATABASE_AUDIT_SPECIFICATION", 10_066),
    e(293, "CREATE_FULLTEXT_STOPLIST", 10_067),
    e(294, "ALTER_FULLTEXT_STOPLIST", 10_067),
    e(295, "DROP_FULLTEXT_STOPLIST", 10_067),
    e(296, "ALTER_SERVER_CONFIGURATION", 0),
    e(297, "CREATE_SEARCH_PROPERTY_LIST", 10_069),
    e(298, "ALTER_SEARCH_PROPERTY_LIST", 10_069),
    e(299, "DROP_SEARCH_PROPERTY_LIST", 10_069),
    e(300, "CREATE_SERVER_ROLE", 10_005),
    e(301, "ALTER_SERVER_ROLE", 10_005),
    e(302, "DROP_SERVER_ROLE", 10_005),
    e(303, "CREATE_SEQUENCE", 10_070),
    e(304, "ALTER_SEQUENCE", 10_070),
    e(305, "DROP_SEQUENCE", 10_070),
    e(306, "CREATE_AVAILABILITY_GROUP", 10_071),
    e(307, "ALTER_AVAILABILITY_GROUP", 10_071),
    e(308, "DROP_AVAILABILITY_GROUP", 10_071),
    e(309, "CREATE_AUDIT", 10_072),
    e(310, "DROP_AUDIT", 10_072),
    e(311, "ALTER_AUDIT", 10_072),
    e(312, "CREATE_SECURITY_POLICY", 10_073),
    e(313, "ALTER_SECURITY_POLICY", 10_073),
    e(314, "DROP_SECURITY_POLICY", 10_073),
    e(315, "CREATE_COLUMN_MASTER_KEY", 10_074),
    e(316, "DROP_COLUMN_MASTER_KEY", 10_074),
    e(317, "CREATE_COLUMN_ENCRYPTION_KEY", 10_075),
    e(318, "ALTER_COLUMN_ENCRYPTION_KEY", 10_075),
    e(319, "DROP_COLUMN_ENCRYPTION_KEY", 10_075),
    e(320, "ALTER_DATABASE_SCOPED_CONFIGURATION", 10_016),
    e(321, "CREATE_EXTERNAL_RESOURCE_POOL", 10_076),
    e(322, "ALTER_EXTERNAL_RESOURCE_POOL", 10_076),
    e(323, "DROP_EXTERNAL_RESOURCE_POOL", 10_076),
    e(324, "CREATE_EXTERNAL_LIBRARY", 10_077),
    e(325, "ALTER_EXTERNAL_LIBRARY", 10_077),
    e(326, "DROP_EXTERNAL_LIBRARY", 10_077),
    e(327, "ADD_SENSITIVITY_CLASSIFICATION", 10_078),
    e(328, "DROP_SENSITIVITY_CLASSIFICATION", 10_078),
    e(329, "CREATE_EXTERNAL_LANGUAGE", 10_079),
    e(330, "ALTER_EXTERNAL_LANGUAGE", 10_079),
    e(331, "DROP_EXTERNAL_LANGUAGE", 10_079),
    e(332, "CREATE_EXTERNAL_STREAM", 10_080),
    e(333, "DROP_EXTERNAL_STREAM", 10_080),
    e(334, "CREATE_POOL", 10_081),
    e(335, "ALTER_POOL", 10_081),
    e(336, "DROP_POOL", 10_081),
    e(337, "CREATE_SYNAPSE_WLG", 10_082),
    e(338, "ALTER_SYNAPSE_WLG", 10_082),
    e(339, "DROP_SYNAPSE_WLG", 10_082),
    e(340, "CREATE_SYNAPSE_WLC", 10_083),
    e(341, "ALTER_SYNAPSE_WLC", 10_083),
    e(342, "DROP_SYNAPSE_WLC", 10_083),
    e(343, "UNDO_DROP", 10_084),
    e(344, "CREATE_VECTOR_INDEX", 10_020),
    e(345, "ADD_INFORMATION_PROTECTION", 10_078),
    e(346, "DROP_INFORMATION_PROTECTION", 10_078),
    e(347, "CREATE_JSON_INDEX", 10_020),
    e(10_001, "DDL_EVENTS", 0),
    e(10_002, "DDL_SERVER_LEVEL_EVENTS", 10_001),
    e(10_003, "DDL_ENDPOINT_EVENTS", 10_002),
    e(10_004, "DDL_DATABASE_EVENTS", 10_002),
    e(10_005, "DDL_SERVER_SECURITY_EVENTS", 10_002),
    e(10_006, "DDL_LOGIN_EVENTS", 10_005),
    e(10_007, "DDL_GDR_SERVER_EVENTS", 10_005),
    e(10_008, "DDL_AUTHORIZATION_SERVER_EVENTS", 10_005),
    e(10_009, "DDL_CREDENTIAL_EVENTS", 10_005),
    e(10_010, "DDL_SERVICE_MASTER_KEY_EVENTS", 10_005),
    e(10_011, "DDL_EXTENDED_PROCEDURE_EVENTS", 10_002),
    e(10_012, "DDL_LINKED_SERVER_EVENTS", 10_002),
    e(10_013, "DDL_LINKED_SERVER_LOGIN_EVENTS", 10_012),
    e(10_014, "DDL_MESSAGE_EVENTS", 10_002),
    e(10_015, "DDL_REMOTE_SERVER_EVENTS", 10_002),
    e(10_016, "DDL_DATABASE_LEVEL_EVENTS", 10_001),
    e(10_017, "DDL_TABLE_VIEW_EVENTS", 10_016),
    e(10_018, "DDL_TABLE_EVENTS", 10_017),
    e(10_019, "DDL_VIEW_EVENTS", 10_017),
    e(10_020, "DDL_INDEX_EVENTS", 10_017),
    e(10_021, "DDL_STATISTICS_EVENTS", 10_017),
    e(10_022, "DDL_SYNONYM_EVENTS", 10_016),
    e(10_023, "DDL_FUNCTION_EVENTS", 10_016),
    e(10_024, "DDL_PROCEDURE_EVENTS", 10_016),
    e(10_025, "DDL_TRIGGER_EVENTS", 10_016),
    e(10_026, "DDL_EVENT_NOTIFICATION_EVENTS", 10_016),
    e(10_027, "DDL_ASSEMBLY_EVENTS", 10_016),
    e(10_028, "DDL_TYPE_EVENTS", 10_016),
    e(10_029, "DDL_DATABASE_SECURITY_EVENTS", 10_016),
    e(10_030, "DDL_CERTIFICATE_EVENTS", 10_029),
    e(10_031, "DDL_USER_EVENTS", 10_029),
    e(10_032, "DDL_ROLE_EVENTS", 10_029),
    e(10_033, "DDL_APPLICATION_ROLE_EVENTS", 10_029),
    e(10_034, "DDL_SCHEMA_EVENTS", 10_029),
    e(10_035, "DDL_GDR_DATABASE_EVENTS", 10_029),
    e(10_036, "DDL_AUTHORIZATION_DATABASE_EVENTS", 10_029),
    e(10_037, "DDL_SYMMETRIC_KEY_EVENTS", 10_029),
    e(10_038, "DDL_ASYMMETRIC_KEY_EVENTS", 10_029),
    e(10_039, "DDL_CRYPTO_SIGNATURE_EVENTS", 10_029),
    e(10_040, "DDL_MASTER_KEY_EVENTS", 10_029),
    e(10_041, "DDL_SSB_EVENTS", 10_016),
    e(10_042, "DDL_MESSAGE_TYPE_EVENTS", 10_041),
    e(10_043, "DDL_CONTRACT_EVENTS", 10_041),
    e(10_044, "DDL_QUEUE_EVENTS", 10_041),
    e(10_045, "DDL_SERVICE_EVENTS", 10_041),
    e(10_046, "DDL_ROUTE_EVENTS", 10_041),
    e(10_047, "DDL_REMOTE_SERVICE_BINDING_EVENTS", 10_041),
    e(10_048, "DDL_XML_SCHEMA_COLLECTION_EVENTS", 10_016),
    e(10_049, "DDL_PARTITION_EVENTS", 10_016),
    e(10_050, "DDL_PARTITION_FUNCTION_EVENTS", 10_049),
    e(10_051, "DDL_PARTITION_SCHEME_EVENTS", 10_049),
    e(10_052, "DDL_DEFAULT_EVENTS", 10_016),
    e(10_053, "DDL_EXTENDED_PROPERTY_EVENTS", 10_016),
    e(10_054, "DDL_FULLTEXT_CATALOG_EVENTS", 10_016),
    e(10_055, "DDL_PLAN_GUIDE_EVENTS", 10_016),
    e(10_056, "DDL_RULE_EVENTS", 10_016),
    e(10_057, "DDL_EVENT_SESSION_EVENTS", 10_002),
    e(10_058, "DDL_RESOURCE_GOVERNOR_EVENTS", 10_002),
    e(10_059, "DDL_RESOURCE_POOL", 10_058),
    e(10_060, "DDL_WORKLOAD_GROUP", 10_058),
    e(10_061, "DDL_CRYPTOGRAPHIC_PROVIDER_EVENTS", 10_005),
    e(10_062, "DDL_DATABASE_ENCRYPTION_KEY_EVENTS", 10_029),
    e(10_063, "DDL_BROKER_PRIORITY_EVENTS", 10_041),
    e(10_064, "DDL_SERVER_AUDIT_EVENTS", 10_005),
    e(10_065, "DDL_SERVER_AUDIT_SPECIFICATION_EVENTS", 10_005),
    e(10_066, "DDL_DATABASE_AUDIT_SPECIFICATION_EVENTS", 10_029),
    e(10_067, "DDL_FULLTEXT_STOPLIST_EVENTS", 10_016),
    e(10_069, "DDL_SEARCH_PROPERTY_LIST_EVENTS", 10_016),
    e(10_070, "DDL_SEQUENCE_EVENTS", 10_016),
    e(10_071, "DDL_AVAILABILITY_GROUP_EVENTS", 10_002),
    e(10_072, "DDL_DATABASE_AUDIT_EVENTS", 10_029),
    e(10_073, "DDL_SECURITY_POLICY_EVENTS", 10_016),
    e(10_074, "DDL_COLUMN_MASTER_KEY_EVENTS", 10_016),
    e(10_075, "DDL_COLUMN_ENCRYPTION_KEY_EVENTS", 10_016),
    e(10_076, "DDL_EXTERNAL_RESOURCE_POOL_EVENTS", 10_058),
    e(10_077, "DDL_LIBRARY_EVENTS", 10_016),
    e(10_078, "DDL_SENSITIVITY_EVENTS", 10_016),
    e(10_079, "DDL_EXTERNAL_LANGUAGE_EVENTS", 10_016),
    e(10_080, "DDL_EXTERNAL_STREAM_EVENTS", 10_016),
    e(10_081, "DDL_SYNAPSE_POOL_EVENTS", 10_002),
    e(10_082, "DDL_SYNAPSE_WLG_EVENTS", 10_002),
    e(10_083, "DDL_SYNAPSE_WLC_EVENTS", 10_002),
    e(10_084, "DDL_FIDO_EVENTS", 10_017),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_what_is_below_them() {
        assert!(ALL.is_sorted_by_key(|e| e.number));
        let count = |name| named(name).unwrap().events().count();
        assert_eq!(count("CREATE_TABLE"), 1);
        assert_eq!(count("ddl_table_events"), 3);
        assert_eq!(count("DDL_DATABASE_LEVEL_EVENTS"), 158);
        assert!(named("CREATE_LOGIN").unwrap().is_server_level());
        assert!(!named("CREATE_USER").unwrap().is_server_level());
        assert!(named("INSERT").is_none());
    }
}
