//! The resource governor: its pools, its workload groups and its own settings.

use super::{Ident, ObjectName, Opt};

#[derive(Clone, Debug, PartialEq)]
pub enum GovernorStatement {
    /// `CREATE|ALTER RESOURCE POOL name [WITH (…)]`
    Pool {
        alter: bool,
        name: Ident,
        /// MIN_CPU_PERCENT and the like: a number each.
        options: Vec<Opt>,
        affinity: Option<PoolAffinity>,
    },
    DropPool(Ident),
    /// `CREATE|ALTER WORKLOAD GROUP name [WITH (…)] [USING pool [, EXTERNAL pool]]`
    Group {
        alter: bool,
        name: Ident,
        /// `None` without WITH. IMPORTANCE is a word, the others are numbers.
        options: Option<Vec<Opt>>,
        pool: Option<Ident>,
        external_pool: Option<Ident>,
    },
    DropGroup(Ident),
    /// `ALTER RESOURCE GOVERNOR …`
    Governor(GovernorAction),
}

/// `AFFINITY SCHEDULER = …` or `AFFINITY NUMANODE = …`; ranges with both ends.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolAffinity {
    Auto,
    Schedulers(Vec<(i64, i64)>),
    Nodes(Vec<(i64, i64)>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum GovernorAction {
    Reconfigure,
    Disable,
    ResetStatistics,
    /// `WITH (…)`
    Set(Vec<GovernorSetting>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum GovernorSetting {
    /// CLASSIFIER_FUNCTION; `None` for NULL.
    Classifier(Option<ObjectName>),
    /// MAX_OUTSTANDING_IO_PER_VOLUME; `None` for DEFAULT.
    OutstandingIo(Option<i64>),
}
