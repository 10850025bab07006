//! Failover cluster instances, as SQL sees them: who shares the data directory, and moving the instance to another of them.
//!
//! Whoever runs the instance knows ([`FailoverCluster`], set by [`Engine::set_failover_cluster`](crate::Engine::set_failover_cluster)). Here is what can be
//! asked of it: `sys.dm_os_cluster_nodes`, `sys.fn_virtualservernodes`, `SERVERPROPERTY('IsClustered')`, `sys.sp_keel_possible_owners`,
//! `sys.sp_keel_move_instance`.

/// A machine that shares the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    /// Its name, in upper case.
    pub name: String,
    /// It gives signs of life.
    pub up: bool,
    /// It has the instance.
    pub is_current_owner: bool,
    /// Its place among the possible owners, from 0; `None` when it is none.
    pub preference: Option<usize>,
}

/// What runs a failover cluster instance on this machine. Errors are texts for whoever asked.
pub trait FailoverCluster: Send + Sync {
    /// Name of this machine.
    fn node(&self) -> &str;
    /// All that have ever been started, by name.
    fn nodes(&self) -> Vec<ClusterNode>;
    /// Names those who may have the instance, in the order of preference; the present owner must be one.
    fn set_possible_owners(&self, names: &[String]) -> Result<(), String>;
    /// Prepares that the instance goes to `to`, or to the first possible owner that is up, once it has stopped here.
    fn prepare_move(&self, to: Option<&str>) -> Result<(), String>;
}
