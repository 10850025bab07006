//! SET options of a session.

use keel_query::IsolationLevel;
use keel_types::datetime::language::{Dates, Language};

/// Everything SET changes. A procedure's own SETs end with it, so this is saved and restored as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOptions {
    /// On/off switches.
    pub switches: Switches,
    /// SET TRANSACTION ISOLATION LEVEL
    pub isolation: IsolationLevel,
    /// SET ROWCOUNT
    pub row_count: u64,
    /// SET LOCK_TIMEOUT in milliseconds, -1 for none.
    pub lock_timeout_ms: i32,
    /// SET DEADLOCK_PRIORITY, -10..=10.
    pub deadlock_priority: i8,
    /// SET DATEFORMAT and SET LANGUAGE
    pub dates: Dates,
    /// SET DATEFIRST
    pub date_first: u8,
    /// SET TEXTSIZE
    pub text_size: i32,
}

macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal;)*) => {
        /// The on/off options as bits.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct Switches(pub u32);

        impl Switches {
            $($(#[$doc])* pub const $name: Switches = Switches(1 << $bit);)*

            /// The switch of that upper-case name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Switches> {
                match name {
                    $($text => Some(Switches::$name),)*
                    _ => None,
                }
            }
        }
    };
}

switches! {
    /// ANSI_NULLS
    ANSI_NULLS = 0, "ANSI_NULLS";
    /// QUOTED_IDENTIFIER
    QUOTED_IDENTIFIER = 1, "QUOTED_IDENTIFIER";
    /// ANSI_PADDING
    ANSI_PADDING = 2, "ANSI_PADDING";
    /// ANSI_WARNINGS
    ANSI_WARNINGS = 3, "ANSI_WARNINGS";
    /// ARITHABORT
    ARITHABORT = 4, "ARITHABORT";
    /// ARITHIGNORE
    ARITHIGNORE = 5, "ARITHIGNORE";
    /// CONCAT_NULL_YIELDS_NULL
    CONCAT_NULL = 6, "CONCAT_NULL_YIELDS_NULL";
    /// NUMERIC_ROUNDABORT
    NUMERIC_ROUNDABORT = 7, "NUMERIC_ROUNDABORT";
    /// NOCOUNT
    NOCOUNT = 8, "NOCOUNT";
    /// XACT_ABORT
    XACT_ABORT = 9, "XACT_ABORT";
    /// IMPLICIT_TRANSACTIONS
    IMPLICIT = 10, "IMPLICIT_TRANSACTIONS";
    /// CURSOR_CLOSE_ON_COMMIT
    CURSOR_CLOSE = 11, "CURSOR_CLOSE_ON_COMMIT";
    /// ANSI_NULL_DFLT_ON
    NULL_DEFAULT_ON = 12, "ANSI_NULL_DFLT_ON";
    /// ANSI_NULL_DFLT_OFF
    NULL_DEFAULT_OFF = 13, "ANSI_NULL_DFLT_OFF";
    /// PARSEONLY
    PARSEONLY = 14, "PARSEONLY";
    /// NOEXEC
    NOEXEC = 15, "NOEXEC";
    /// FMTONLY
    FMTONLY = 16, "FMTONLY";
    /// SHOWPLAN_TEXT
    SHOWPLAN_TEXT = 17, "SHOWPLAN_TEXT";
    /// SHOWPLAN_ALL
    SHOWPLAN_ALL = 18, "SHOWPLAN_ALL";
    /// SHOWPLAN_XML
    SHOWPLAN_XML = 19, "SHOWPLAN_XML";
    /// STATISTICS IO
    STATISTICS_IO = 20, "IO";
    /// STATISTICS TIME
    STATISTICS_TIME = 21, "TIME";
    /// STATISTICS PROFILE
    STATISTICS_PROFILE = 22, "PROFILE";
    /// STATISTICS XML
    STATISTICS_XML = 23, "XML";
    /// FORCEPLAN
    FORCEPLAN = 24, "FORCEPLAN";
    /// NO_BROWSETABLE
    NO_BROWSETABLE = 25, "NO_BROWSETABLE";
    /// REMOTE_PROC_TRANSACTIONS
    REMOTE_PROC = 26, "REMOTE_PROC_TRANSACTIONS";
    /// RESULT_SET_CACHING and other switches without meaning here.
    IGNORED = 31, "RESULT_SET_CACHING";
}

impl Switches {
    /// What `ANSI_DEFAULTS` stands for.
    pub const ANSI_DEFAULTS: Switches = Switches(
        Self::ANSI_NULLS.0
            | Self::QUOTED_IDENTIFIER.0
            | Self::ANSI_PADDING.0
            | Self::ANSI_WARNINGS.0
            | Self::NULL_DEFAULT_ON.0
            | Self::CURSOR_CLOSE.0
            | Self::IMPLICIT.0,
    );
    /// Those that change what a text means: part of the plan cache's key.
    pub const PLAN_AFFECTING: Switches = Switches(
        Self::ANSI_NULLS.0
            | Self::QUOTED_IDENTIFIER.0
            | Self::ANSI_PADDING.0
            | Self::ANSI_WARNINGS.0
            | Self::ARITHABORT.0
            | Self::CONCAT_NULL.0
            | Self::NUMERIC_ROUNDABORT.0
            | Self::NULL_DEFAULT_ON.0
            | Self::NULL_DEFAULT_OFF.0
            | Self::FORCEPLAN.0,
    );

    /// With one of these statements are looked at and not carried out.
    pub const LOOKING: Switches = Switches(
        Self::NOEXEC.0
            | Self::FMTONLY.0
            | Self::SHOWPLAN_TEXT.0
            | Self::SHOWPLAN_ALL.0
            | Self::SHOWPLAN_XML.0,
    );

    /// With one of these, plans are shown instead.
    pub const SHOWPLAN: Switches =
        Switches(Self::SHOWPLAN_TEXT.0 | Self::SHOWPLAN_ALL.0 | Self::SHOWPLAN_XML.0);
    /// With one of these, what a statement's operators did is shown behind its result.
    pub const PROFILING: Switches = Switches(Self::STATISTICS_PROFILE.0 | Self::STATISTICS_XML.0);

    /// Whether one of `other` is on.
    #[must_use]
    pub fn any(self, other: Switches) -> bool {
        self.0 & other.0 != 0
    }
    /// Whether all of `other` are on.
    #[must_use]
    pub fn has(self, other: Switches) -> bool {
        self.0 & other.0 == other.0
    }
    /// Turns them on or off.
    pub fn set(&mut self, other: Switches, on: bool) {
        if on { self.0 |= other.0 } else { self.0 &= !other.0 }
    }

    /// Those that `@@OPTIONS` and `user options` have bits for.
    const BITS: [(Switches, i64); 14] = [
        (Switches::IMPLICIT, 2),
        (Switches::CURSOR_CLOSE, 4),
        (Switches::ANSI_WARNINGS, 8),
        (Switches::ANSI_PADDING, 16),
        (Switches::ANSI_NULLS, 32),
        (Switches::ARITHABORT, 64),
        (Switches::ARITHIGNORE, 128),
        (Switches::QUOTED_IDENTIFIER, 256),
        (Switches::NOCOUNT, 512),
        (Switches::NULL_DEFAULT_ON, 1024),
        (Switches::NULL_DEFAULT_OFF, 2048),
        (Switches::CONCAT_NULL, 4096),
        (Switches::NUMERIC_ROUNDABORT, 8192),
        (Switches::XACT_ABORT, 16384),
    ];

    /// `@@OPTIONS`
    #[must_use]
    pub fn at_at_options(self) -> i64 {
        Self::BITS.iter().filter(|(s, _)| self.has(*s)).map(|(_, b)| b).sum()
    }

    /// Turns on what such a number has.
    pub fn set_bits(&mut self, bits: i64) {
        Self::BITS.iter().filter(|(_, b)| bits & b != 0).for_each(|(s, _)| self.set(*s, true));
    }
}

impl SetOptions {
    /// The options of a new session. `ansi` is what ODBC, OLE DB and .NET clients ask for at login.
    #[must_use]
    pub fn new(ansi: bool) -> SetOptions {
        let mut switches = Switches(0);
        if ansi {
            let on = [
                Switches::ANSI_NULLS,
                Switches::QUOTED_IDENTIFIER,
                Switches::ANSI_PADDING,
                Switches::ANSI_WARNINGS,
                Switches::CONCAT_NULL,
                Switches::NULL_DEFAULT_ON,
            ];
            on.into_iter().for_each(|s| switches.set(s, true));
        } else {
            switches.set(Switches::ANSI_PADDING, true);
        }
        SetOptions {
            switches,
            isolation: IsolationLevel::ReadCommitted,
            row_count: 0,
            lock_timeout_ms: -1,
            deadlock_priority: 0,
            dates: Dates::US,
            date_first: 7,
            text_size: i32::MAX,
        }
    }

    /// The same with the language of the login, if there is such a language, and `user options` of the instance.
    #[must_use]
    pub fn at_login(ansi: bool, language: &str, user_options: i64) -> SetOptions {
        let mut options = SetOptions::new(ansi);
        options.switches.set_bits(user_options);
        if let Some(language) = Language::find(language) {
            options.set_language(language);
        }
        options
    }

    /// SET LANGUAGE: dates are read, and weeks begin, as in that language.
    pub fn set_language(&mut self, language: &'static Language) {
        self.dates = Dates { order: language.order, language };
        self.date_first = language.first;
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn on(&self, s: Switches) -> bool {
        self.switches.has(s)
    }
}
