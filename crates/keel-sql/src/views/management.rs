//! Views over what this server does not have, which management tools read to draw their trees and to script objects:
//! semantic search, file tables, graph edges, selective XML indexes, schema collections' parts, external
//! code and data, endpoints of other kinds. They have the product's columns and no rows; where a database or the server has a
//! row by being one, it is there.

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, KIND, NAME, NULL, SMALL, SystemView, TEXT, TINY, ViewContext,
    int, text,
};
use keel_types::{Length, SqlType, Value};

const N255: SqlType = SqlType::NVarChar(Length::Limited(255));
const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const N260: SqlType = SqlType::NVarChar(Length::Limited(260));
const N384: SqlType = SqlType::NVarChar(Length::Limited(384));
const N776: SqlType = SqlType::NVarChar(Length::Limited(776));
const N4000: SqlType = SqlType::NVarChar(Length::Limited(4000));

fn nothing(_: &ViewContext<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

const fn none(name: &'static str, columns: &'static [Column]) -> SystemView {
    SystemView { schema: "sys", name, columns, rows: nothing }
}

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    // ---- keys and providers ----
    none("cryptographic_providers", &[
        ("provider_id", INT), ("name", NAME), ("guid", GUID), ("version", SqlType::NVarChar(Length::Limited(24))),
        ("dll_path", SqlType::NVarChar(Length::Limited(520))), ("is_enabled", BIT),
    ]),
    none("dm_cryptographic_provider_properties", &[
        ("provider_id", INT), ("guid", GUID), ("provider_version", N256), ("sqlcrypt_version", N256),
        ("friendly_name", SqlType::NVarChar(Length::Limited(2048))), ("authentication_type", N256), ("symmetric_key_support", TINY),
        ("symmetric_key_persistance", TINY), ("symmetric_key_export", TINY), ("symmetric_key_import", TINY),
        ("asymmetric_key_support", TINY), ("asymmetric_key_persistance", TINY), ("asymmetric_key_export", TINY),
        ("asymmetric_key_import", TINY),
    ]),
    none("dm_cryptographic_provider_keys", &[
        ("key_id", INT), ("key_name", SqlType::NVarChar(Length::Limited(512))), ("key_thumbprint", SqlType::VarBinary(Length::Limited(32))),
        ("algorithm_id", INT), ("algorithm_tag", SqlType::NVarChar(Length::Limited(60))), ("key_type", N256), ("key_length", INT),
    ]),
    // ---- XML, spatial, graph ----
    none("selective_xml_index_paths", &[
        ("object_id", INT), ("index_id", INT), ("path_id", INT), ("path", N4000), ("name", NAME), ("path_type", TINY),
        ("path_type_desc", NAME), ("xml_component_id", INT), ("xquery_type_description", N4000), ("is_xquery_type_inferred", BIT),
        ("xquery_max_length", SMALL), ("is_xquery_max_length_inferred", BIT), ("is_node", BIT), ("system_type_id", TINY),
        ("user_type_id", INT), ("max_length", SMALL), ("precision", TINY), ("scale", TINY), ("collation_name", NAME),
        ("is_singleton", BIT),
    ]),
    none("selective_xml_index_namespaces", &[
        ("object_id", INT), ("index_id", INT), ("is_default_uri", BIT), ("uri", N4000), ("prefix", N4000),
    ]),
    none("edge_constraints", &[
        ("name", NAME), ("object_id", INT), ("principal_id", INT), ("schema_id", INT), ("parent_object_id", INT), ("type", KIND),
        ("type_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("is_ms_shipped", BIT), ("is_published", BIT),
        ("is_schema_published", BIT), ("is_disabled", BIT), ("is_not_trusted", BIT), ("is_system_named", BIT),
        ("delete_referential_action", TINY), ("delete_referential_action_desc", DESC),
    ]),
    none("edge_constraint_clauses", &[
        ("object_id", INT), ("clause_number", INT), ("from_object_id", INT), ("to_object_id", INT),
    ]),
    // ---- full-text search ----
    none("fulltext_semantic_languages", &[("lcid", INT), ("name", NAME)]),
    none("registered_search_property_lists", &[
        ("property_list_id", INT), ("name", NAME), ("create_date", DATE), ("modify_date", DATE), ("principal_id", INT),
    ]),
    none("registered_search_properties", &[
        ("property_list_id", INT), ("property_id", INT), ("property_name", N256), ("property_set_guid", GUID), ("property_int_id", INT),
        ("property_description", SqlType::NVarChar(Length::Limited(512))),
    ]),
    // ---- files as rows, archives elsewhere ----
    none("filetables", &[
        ("object_id", INT), ("is_enabled", BIT), ("directory_name", N255), ("filename_collation_id", INT), ("filename_collation_name", NAME),
    ]),
    none("filetable_system_defined_objects", &[("object_id", INT), ("parent_object_id", INT)]),
    SystemView {
        schema: "sys", name: "database_filestream_options", rows: filestream_options, columns: &[
            ("database_id", INT), ("non_transacted_access", TINY), ("non_transacted_access_desc", DESC), ("directory_name", N255),
        ],
    },
    none("remote_data_archive_tables", &[
        ("object_id", INT), ("remote_database_id", INT), ("remote_table_name", NAME), ("filter_predicate", TEXT),
        ("migration_direction", TINY), ("migration_direction_desc", DESC), ("is_migration_paused", BIT), ("is_reconciled", BIT),
    ]),
    // ---- external code and data ----
    none("assembly_files", &[
        ("assembly_id", INT), ("name", N260), ("file_id", INT), ("content", SqlType::VarBinary(Length::Max)),
    ]),
    none("server_assembly_modules", &[
        ("object_id", INT), ("assembly_id", INT), ("assembly_class", NAME), ("assembly_method", NAME), ("execute_as_principal_id", INT),
    ]),
    none("function_order_columns", &[("object_id", INT), ("order_column_id", INT), ("column_id", INT), ("is_descending", BIT)]),
    none("external_libraries", &[
        ("external_library_id", INT), ("name", NAME), ("principal_id", INT), ("language", NAME), ("scope", INT),
        ("scope_desc", SqlType::VarChar(Length::Limited(7))),
    ]),
    none("external_library_files", &[
        ("external_library_id", INT), ("content", SqlType::VarBinary(Length::Max)), ("platform", TINY), ("platform_desc", NAME),
    ]),
    none("external_file_formats", &[
        ("file_format_id", INT), ("name", NAME), ("format_type", N256), ("field_terminator", SqlType::NVarChar(Length::Limited(10))),
        ("string_delimiter", SqlType::NVarChar(Length::Limited(10))), ("date_format", SqlType::NVarChar(Length::Limited(50))),
        ("use_type_default", INT), ("serde_method", N255), ("row_terminator", SqlType::NVarChar(Length::Limited(10))),
        ("encoding", SqlType::NVarChar(Length::Limited(10))), ("data_compression", N255), ("first_row", INT),
    ]),
    none("resource_governor_external_resource_pools", &[
        ("external_pool_id", INT), ("name", NAME), ("max_cpu_percent", INT), ("max_processes", BIG), ("max_memory_percent", INT),
        ("version", INT),
    ]),
    // ---- modules of other kinds ----
    none("numbered_procedure_parameters", &[
        ("object_id", INT), ("procedure_number", SMALL), ("name", NAME), ("parameter_id", INT), ("system_type_id", TINY),
        ("user_type_id", INT), ("max_length", SMALL), ("precision", TINY), ("scale", TINY), ("is_output", BIT), ("is_cursor_ref", BIT),
    ]),
    // ---- endpoints of other kinds, mirroring, clusters of the operating system ----
    none("http_endpoints", &[
        ("name", NAME), ("endpoint_id", INT), ("principal_id", INT), ("protocol", TINY), ("protocol_desc", DESC), ("type", TINY),
        ("type_desc", DESC), ("state", TINY), ("state_desc", DESC), ("is_admin_endpoint", BIT), ("site", NAME), ("url_path", N4000),
        ("is_clear_port_enabled", BIT), ("clear_port", INT), ("is_ssl_port_enabled", BIT), ("ssl_port", INT), ("is_anonymous_enabled", BIT),
        ("is_basic_auth_enabled", BIT), ("is_digest_auth_enabled", BIT), ("is_kerberos_auth_enabled", BIT), ("is_ntlm_auth_enabled", BIT),
        ("is_integrated_auth_enabled", BIT), ("authorization_realm", NAME), ("default_logon_domain", NAME), ("is_compression_enabled", BIT),
    ]),
    none("soap_endpoints", &[
        ("name", NAME), ("endpoint_id", INT), ("principal_id", INT), ("protocol", TINY), ("protocol_desc", DESC), ("type", TINY),
        ("type_desc", DESC), ("state", TINY), ("state_desc", DESC), ("is_admin_endpoint", BIT), ("is_sql_language_enabled", BIT),
        ("wsdl_generator_procedure", N776), ("default_database", NAME), ("default_namespace", N384), ("default_result_schema", TINY),
        ("default_result_schema_desc", DESC), ("is_xml_charset_enforced", BIT), ("is_session_enabled", BIT), ("session_timeout", INT),
        ("login_type", DESC), ("header_limit", INT),
    ]),
    none("endpoint_webmethods", &[
        ("endpoint_id", INT), ("namespace", N384), ("method_alias", SqlType::NVarChar(Length::Limited(64))), ("object_name", N776),
        ("result_schema", TINY), ("result_schema_desc", DESC), ("result_format", TINY), ("result_format_desc", DESC),
    ]),
    none("service_broker_endpoints", &[
        ("name", NAME), ("endpoint_id", INT), ("principal_id", INT), ("protocol", TINY), ("protocol_desc", DESC), ("type", TINY),
        ("type_desc", DESC), ("state", TINY), ("state_desc", DESC), ("is_admin_endpoint", BIT), ("is_message_forwarding_enabled", BIT),
        ("message_forwarding_size", INT), ("connection_auth", TINY), ("connection_auth_desc", DESC), ("certificate_id", INT),
        ("encryption_algorithm", TINY), ("encryption_algorithm_desc", DESC),
    ]),
    none("dm_io_cluster_valid_path_names", &[
        ("path_name", SqlType::NVarChar(Length::Limited(512))), ("cluster_owner_node", NAME), ("is_cluster_shared_volume", BIT),
    ]),
    none("fn_servershareddrives", &[("DriveName", SqlType::NChar(1))]),
];

/// A row for each database: none has a directory of files.
fn filestream_options(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    cx.engine.databases().iter().map(|d| vec![int(d.id.0), int(0), text("OFF"), NULL]).collect()
}
