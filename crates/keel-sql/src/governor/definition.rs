//! Pools and workload groups as they are defined, and what a definition has to obey. Kept in master as JSON.

use super::errors;
use crate::views::same;
use keel_types::error::Result;
use serde::{Deserialize, Serialize};

/// `pool_id` and `group_id` of what the server itself does.
pub const INTERNAL: i32 = 1;
/// `pool_id` and `group_id` of everybody whom nobody has put elsewhere.
pub const DEFAULT: i32 = 2;
/// The first id of one's own pools and groups.
const FIRST_OWN: i32 = 256;
/// Most pools, the predefined ones included.
const POOLS_MAX: usize = 64;

/// A resource pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolDef {
    /// `pool_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// MIN_CPU_PERCENT: had when there is contention.
    pub min_cpu: i32,
    /// MAX_CPU_PERCENT: not passed when there is contention.
    pub max_cpu: i32,
    /// CAP_CPU_PERCENT: never passed.
    pub cap_cpu: i32,
    /// MIN_MEMORY_PERCENT
    pub min_memory: i32,
    /// MAX_MEMORY_PERCENT
    pub max_memory: i32,
    /// MIN_IOPS_PER_VOLUME
    pub min_iops: i32,
    /// MAX_IOPS_PER_VOLUME; 0 for no limit.
    pub max_iops: i32,
    /// Schedulers it keeps to; `None` for AUTO.
    pub schedulers: Option<Vec<u32>>,
}

impl PoolDef {
    /// One that limits nothing.
    #[must_use]
    pub fn new(id: i32, name: &str) -> PoolDef {
        PoolDef {
            id,
            name: name.to_owned(),
            min_cpu: 0,
            max_cpu: 100,
            cap_cpu: 100,
            min_memory: 0,
            max_memory: 100,
            min_iops: 0,
            max_iops: 0,
            schedulers: None,
        }
    }

    /// Whether it has anything to say about processor time.
    #[must_use]
    pub fn limits_cpu(&self) -> bool {
        (self.min_cpu, self.max_cpu, self.cap_cpu) != (0, 100, 100)
    }

    /// Its number of an option.
    fn option(&mut self, name: &str) -> Option<(&mut i32, std::ops::RangeInclusive<i64>)> {
        const ANY: std::ops::RangeInclusive<i64> = 0..=i32::MAX as i64;
        Some(match name {
            "MIN_CPU_PERCENT" => (&mut self.min_cpu, 0..=100),
            "MAX_CPU_PERCENT" => (&mut self.max_cpu, 1..=100),
            "CAP_CPU_PERCENT" => (&mut self.cap_cpu, 1..=100),
            "MIN_MEMORY_PERCENT" => (&mut self.min_memory, 0..=100),
            "MAX_MEMORY_PERCENT" => (&mut self.max_memory, 1..=100),
            "MIN_IOPS_PER_VOLUME" => (&mut self.min_iops, ANY),
            "MAX_IOPS_PER_VOLUME" => (&mut self.max_iops, ANY),
            _ => return None,
        })
    }

    /// Sets an option. Error 153 for a number that it does not take.
    pub fn set(&mut self, name: &str, value: Option<i64>, statement: &str) -> Result<()> {
        let refused = || errors::bad_option(name, statement);
        let (place, range) = self.option(name).ok_or_else(refused)?;
        let value = value.filter(|v| range.contains(v)).ok_or_else(refused)?;
        *place = value as i32;
        Ok(())
    }

    /// What its own numbers have to obey. Errors 10908 and 10909.
    fn check(&self) -> Result<()> {
        let pairs = [
            ("min_cpu_percent", self.min_cpu, "max_cpu_percent", self.max_cpu),
            ("min_memory_percent", self.min_memory, "max_memory_percent", self.max_memory),
        ];
        for (attribute, value, other, limit) in pairs {
            if value > limit {
                return Err(errors::greater(attribute, value, other, limit));
            }
        }
        if self.cap_cpu < self.min_cpu {
            return Err(errors::less("cap_cpu_percent", self.cap_cpu, "min_cpu_percent", self.min_cpu));
        }
        if self.max_iops > 0 && self.min_iops > self.max_iops {
            let (min, max) = (self.min_iops, self.max_iops);
            return Err(errors::greater("min_iops_per_volume", min, "max_iops_per_volume", max));
        }
        Ok(())
    }
}

/// IMPORTANCE
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Importance {
    /// LOW
    Low,
    /// MEDIUM
    #[default]
    Medium,
    /// HIGH
    High,
}

impl Importance {
    /// As it is written.
    #[must_use]
    pub fn parse(word: &str) -> Option<Importance> {
        match word {
            "LOW" => Some(Importance::Low),
            "MEDIUM" => Some(Importance::Medium),
            "HIGH" => Some(Importance::High),
            _ => None,
        }
    }

    /// As views have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Importance::Low => "Low",
            Importance::Medium => "Medium",
            Importance::High => "High",
        }
    }

    /// How much of the pool's processor time its requests get beside those of other groups: the product's ratio of 9 : 3 : 1.
    #[must_use]
    pub fn weight(self) -> f64 {
        match self {
            Importance::Low => 1.0,
            Importance::Medium => 3.0,
            Importance::High => 9.0,
        }
    }
}

/// A workload group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupDef {
    /// `group_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// `pool_id` of its pool.
    pub pool: i32,
    /// IMPORTANCE
    pub importance: Importance,
    /// REQUEST_MAX_MEMORY_GRANT_PERCENT
    pub max_grant_percent: f64,
    /// REQUEST_MAX_CPU_TIME_SEC; 0 for no limit.
    pub max_cpu_seconds: i32,
    /// REQUEST_MEMORY_GRANT_TIMEOUT_SEC
    pub grant_timeout_seconds: i32,
    /// MAX_DOP
    pub max_dop: i32,
    /// GROUP_MAX_REQUESTS; 0 for no limit.
    pub max_requests: i32,
}

impl GroupDef {
    /// One with everything left out.
    #[must_use]
    pub fn new(id: i32, name: &str, pool: i32) -> GroupDef {
        GroupDef {
            id,
            name: name.to_owned(),
            pool,
            importance: Importance::default(),
            max_grant_percent: 25.0,
            max_cpu_seconds: 0,
            grant_timeout_seconds: 0,
            max_dop: 0,
            max_requests: 0,
        }
    }

    /// Sets an option that is a number. Error 153 for one that it does not take.
    pub fn set(&mut self, name: &str, value: Option<f64>, statement: &str) -> Result<()> {
        let refused = || errors::bad_option(name, statement);
        let value = value.ok_or_else(refused)?;
        if name == "REQUEST_MAX_MEMORY_GRANT_PERCENT" {
            if !(0.0..=100.0).contains(&value) {
                return Err(refused());
            }
            self.max_grant_percent = value;
            return Ok(());
        }
        let (place, most) = match name {
            "REQUEST_MAX_CPU_TIME_SEC" => (&mut self.max_cpu_seconds, i32::MAX),
            "REQUEST_MEMORY_GRANT_TIMEOUT_SEC" => (&mut self.grant_timeout_seconds, i32::MAX),
            "MAX_DOP" => (&mut self.max_dop, 64),
            "GROUP_MAX_REQUESTS" => (&mut self.max_requests, i32::MAX),
            _ => return Err(refused()),
        };
        if value.fract() != 0.0 || !(0.0..=f64::from(most)).contains(&value) {
            return Err(refused());
        }
        *place = value as i32;
        Ok(())
    }
}

/// The governor's own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GovernorDef {
    /// RECONFIGURE was the last word, not DISABLE.
    pub enabled: bool,
    /// `object_id` of the classifier in master; 0 for none.
    pub classifier: i32,
    /// MAX_OUTSTANDING_IO_PER_VOLUME; 0 for the default.
    pub outstanding_io: i32,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Settings.
    pub settings: GovernorDef,
    /// Pools by id.
    pub pools: Vec<PoolDef>,
    /// Groups by id.
    pub groups: Vec<GroupDef>,
}

impl Default for Configuration {
    fn default() -> Self {
        let of = |id, name| (PoolDef::new(id, name), GroupDef::new(id, name, id));
        let (pools, groups) = [of(INTERNAL, "internal"), of(DEFAULT, "default")].into_iter().unzip();
        Configuration { settings: GovernorDef::default(), pools, groups }
    }
}

fn check_name(kind: &str, name: &str) -> Result<()> {
    if name.starts_with('#') { Err(errors::temporary_name(kind, name)) } else { Ok(()) }
}

fn next_id(taken: impl Iterator<Item = i32>) -> i32 {
    taken.max().map_or(FIRST_OWN, |id| (id + 1).max(FIRST_OWN))
}

impl Configuration {
    /// From what is kept: the predefined ones are always there, and may have been altered.
    #[must_use]
    pub fn from_kept(settings: GovernorDef, pools: Vec<PoolDef>, groups: Vec<GroupDef>) -> Configuration {
        let mut all = Configuration { settings, ..Configuration::default() };
        pools.into_iter().for_each(|pool| all.put_pool(pool));
        groups.into_iter().for_each(|group| all.put_group(group));
        all
    }

    /// The pool of that name.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<&PoolDef> {
        self.pools.iter().find(|p| same(&p.name, name))
    }

    /// The group of that name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&GroupDef> {
        self.groups.iter().find(|g| same(&g.name, name))
    }

    /// A new pool of that name.
    pub fn new_pool(&self, name: &str) -> Result<PoolDef> {
        check_name("resource pool", name)?;
        if self.pool(name).is_some() {
            return Err(errors::exists("resource pool", name));
        }
        if self.pools.len() >= POOLS_MAX {
            return Err(errors::too_many_pools(POOLS_MAX));
        }
        Ok(PoolDef::new(next_id(self.pools.iter().map(|p| p.id)), name))
    }

    /// A new group of that name, in the default pool.
    pub fn new_group(&self, name: &str) -> Result<GroupDef> {
        check_name("workload group", name)?;
        if self.group(name).is_some() {
            return Err(errors::exists("workload group", name));
        }
        Ok(GroupDef::new(next_id(self.groups.iter().map(|g| g.id)), name, DEFAULT))
    }

    /// Whether a pool may be so beside the others. Errors 10908, 10909 and 10911.
    pub fn check_pool(&self, pool: &PoolDef) -> Result<()> {
        pool.check()?;
        let others =
            |of: fn(&PoolDef) -> i32| -> i32 { self.pools.iter().filter(|p| p.id != pool.id).map(of).sum() };
        if others(|p| p.min_cpu) + pool.min_cpu > 100 {
            return Err(errors::minima_exceed("min_cpu_percent", pool.min_cpu));
        }
        if others(|p| p.min_memory) + pool.min_memory > 100 {
            return Err(errors::minima_exceed("min_memory_percent", pool.min_memory));
        }
        Ok(())
    }

    /// The pool that a group is put into.
    pub fn pool_for_group(&self, pool: &str, verb: &str, group: &GroupDef) -> Result<i32> {
        let found = self.pool(pool).ok_or_else(|| errors::no_pool(pool))?.id;
        match (group.id, found) {
            (DEFAULT, other) if other != DEFAULT => Err(errors::default_group_moved()),
            (_, INTERNAL) => Err(errors::in_internal_pool(verb, &group.name)),
            (_, found) => Ok(found),
        }
    }

    /// Whether a pool may be dropped. Errors 10913 and 10917.
    pub fn check_drop(&self, pool: &PoolDef) -> Result<()> {
        if pool.id < FIRST_OWN {
            return Err(errors::predefined_dropped("resource pool"));
        }
        match self.groups.iter().find(|g| g.pool == pool.id) {
            Some(group) => Err(errors::pool_has_groups(&pool.name, &group.name)),
            None => Ok(()),
        }
    }

    /// Makes or replaces a pool.
    pub fn put_pool(&mut self, pool: PoolDef) {
        self.pools.retain(|p| p.id != pool.id);
        self.pools.push(pool);
        self.pools.sort_by_key(|p| p.id);
    }

    /// Makes or replaces a group.
    pub fn put_group(&mut self, group: GroupDef) {
        self.groups.retain(|g| g.id != group.id);
        self.groups.push(group);
        self.groups.sort_by_key(|g| g.id);
    }

    /// Whether processor time is shared out otherwise than the kernel does it by itself.
    #[must_use]
    pub fn shares_cpu(&self) -> bool {
        let first = self.groups.first().map(|g| g.importance);
        self.settings.enabled
            && (self.pools.iter().any(PoolDef::limits_cpu)
                || self.groups.iter().any(|g| Some(g.importance) != first))
    }
}

/// Whether a group is one of one's own.
#[must_use]
pub fn is_own(id: i32) -> bool {
    id >= FIRST_OWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_begin_at_256_and_minima_add_up() {
        let mut all = Configuration::default();
        let mut first = all.new_pool("first").unwrap();
        assert_eq!(first.id, 256);
        first.set("MIN_CPU_PERCENT", Some(60), "CREATE RESOURCE POOL").unwrap();
        all.check_pool(&first).unwrap();
        all.put_pool(first);
        let mut second = all.new_pool("second").unwrap();
        assert_eq!(second.id, 257);
        second.min_cpu = 41;
        assert_eq!(all.check_pool(&second).unwrap_err().number, 10911);
        second.min_cpu = 40;
        all.check_pool(&second).unwrap();
        assert_eq!(all.new_pool("FIRST").unwrap_err().number, 10919);
    }

    #[test]
    fn numbers_outside_their_range_are_refused() {
        let mut pool = PoolDef::new(256, "p");
        for (option, value) in [("MAX_CPU_PERCENT", 0), ("CAP_CPU_PERCENT", 101), ("MIN_MEMORY_PERCENT", -1)]
        {
            assert_eq!(pool.set(option, Some(value), "CREATE RESOURCE POOL").unwrap_err().number, 153);
        }
        let mut group = GroupDef::new(256, "g", DEFAULT);
        assert_eq!(group.set("MAX_DOP", Some(65.0), "x").unwrap_err().number, 153);
        assert_eq!(group.set("GROUP_MAX_REQUESTS", Some(1.5), "x").unwrap_err().number, 153);
        group.set("REQUEST_MAX_MEMORY_GRANT_PERCENT", Some(0.5), "x").unwrap();
    }
}
