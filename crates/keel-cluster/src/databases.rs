//! [`Databases`]: the databases of a configuration, in the order they were added. Whatever happens to a group is looked at for each of
//! them, so one is found without a search: with a thousand databases a search in each would be a million steps for every event.

use crate::config::GroupDatabase;
use crate::ids::GroupDatabaseId;
use indexmap::IndexMap;
use indexmap::map::{IntoValues, Values, ValuesMut};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Databases by identity, in the order they were added. Written as a sequence.
#[derive(Clone, Debug, Default)]
pub struct Databases(IndexMap<GroupDatabaseId, GroupDatabase>);

impl Databases {
    /// None.
    #[must_use]
    pub fn new() -> Databases {
        Databases::default()
    }

    /// The database with this identity.
    #[must_use]
    pub fn get(&self, id: GroupDatabaseId) -> Option<&GroupDatabase> {
        self.0.get(&id)
    }

    /// The same, to be changed; its identity stays.
    pub fn get_mut(&mut self, id: GroupDatabaseId) -> Option<&mut GroupDatabase> {
        self.0.get_mut(&id)
    }

    /// Whether there is one with this identity.
    #[must_use]
    pub fn contains(&self, id: GroupDatabaseId) -> bool {
        self.0.contains_key(&id)
    }

    /// The one that was added first.
    #[must_use]
    pub fn first(&self) -> Option<&GroupDatabase> {
        self.0.values().next()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> Values<'_, GroupDatabaseId, GroupDatabase> {
        self.0.values()
    }

    /// Adds one behind the others; one with the same identity makes room where it is.
    pub fn push(&mut self, database: GroupDatabase) {
        self.0.insert(database.id, database);
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(&GroupDatabase) -> bool) {
        self.0.retain(|_, database| keep(database));
    }
}

impl PartialEq for Databases {
    fn eq(&self, other: &Databases) -> bool {
        self.iter().eq(other)
    }
}

impl Eq for Databases {}

impl FromIterator<GroupDatabase> for Databases {
    fn from_iter<I: IntoIterator<Item = GroupDatabase>>(all: I) -> Databases {
        Databases(all.into_iter().map(|database| (database.id, database)).collect())
    }
}

impl<'a> IntoIterator for &'a Databases {
    type Item = &'a GroupDatabase;
    type IntoIter = Values<'a, GroupDatabaseId, GroupDatabase>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.values()
    }
}

impl<'a> IntoIterator for &'a mut Databases {
    type Item = &'a mut GroupDatabase;
    type IntoIter = ValuesMut<'a, GroupDatabaseId, GroupDatabase>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.values_mut()
    }
}

impl IntoIterator for Databases {
    type Item = GroupDatabase;
    type IntoIter = IntoValues<GroupDatabaseId, GroupDatabase>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values()
    }
}

impl Serialize for Databases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for Databases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Databases, D::Error> {
        Vec::<GroupDatabase>::deserialize(deserializer).map(|all| all.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn database(n: u128) -> GroupDatabase {
        GroupDatabase::new(GroupDatabaseId(Uuid::from_u128(n)), format!("db{n}"), 7)
    }

    #[test]
    fn they_keep_their_order_and_are_written_as_a_sequence() {
        let all = [database(9), database(2), database(5)];
        let mut databases: Databases = all.iter().cloned().collect();
        let bytes = postcard::to_stdvec(&databases).unwrap();
        assert_eq!(bytes, postcard::to_stdvec(&all.to_vec()).unwrap());
        assert_eq!(postcard::from_bytes::<Databases>(&bytes).unwrap(), databases);
        databases.retain(|d| d.id != all[1].id);
        databases.push(all[1].clone());
        let names: Vec<&str> = databases.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["db9", "db5", "db2"]);
        assert_eq!(databases.get(all[2].id), Some(&all[2]));
        assert_ne!(databases, all.into_iter().collect());
    }
}
