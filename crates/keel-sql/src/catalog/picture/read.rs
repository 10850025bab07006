//! A picture as the binder reads it.

use super::{Named, Picture, fold};
use keel_base::DatabaseId;
use keel_query::catalog::{
    Catalog, ForeignKeyDef, ModuleDef, ObjectId, SequenceDef, SynonymDef, TableDef, TypeDef,
};
use keel_query::full_text::StoplistDef;
use keel_query::policy::PolicyDef;
use std::sync::Arc;

impl Catalog for Picture {
    fn version(&self) -> u64 {
        self.version
    }
    fn database(&self) -> DatabaseId {
        self.database
    }
    fn limits_history(&self) -> bool {
        self.settings().flags.get(crate::history_cleanup::OPTION).copied().unwrap_or(true)
    }
    fn change_trees(&self) -> Option<keel_query::catalog::ChangeTrees> {
        self.settings().change_trees
    }
    fn schema_id(&self, name: &str) -> Option<i32> {
        self.schema_names.get(&fold(name)).copied()
    }
    fn schema_name(&self, schema_id: i32) -> Option<String> {
        self.schemas.get(&schema_id).map(|s| s.name.clone())
    }
    fn table(&self, schema_id: i32, name: &str) -> Option<Arc<TableDef>> {
        match self.named(schema_id, name)? {
            Named::Table(t) => Some(t),
            _ => None,
        }
    }
    fn table_by_id(&self, id: ObjectId) -> Option<Arc<TableDef>> {
        self.tables.get(&id).cloned()
    }
    fn module(&self, schema_id: i32, name: &str) -> Option<Arc<ModuleDef>> {
        match self.named(schema_id, name)? {
            Named::Module(m) => Some(m),
            _ => None,
        }
    }
    fn referencing(&self, table: ObjectId) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        let mut out = Vec::new();
        for other in self.tables.values() {
            for key in other.foreign_keys.iter().filter(|k| k.referenced_table == table) {
                out.push((Arc::clone(other), key.clone()));
            }
        }
        out
    }
    fn synonym(&self, schema_id: i32, name: &str) -> Option<Arc<SynonymDef>> {
        match self.named(schema_id, name)? {
            Named::Synonym(s) => Some(s),
            _ => None,
        }
    }
    fn sequence(&self, schema_id: i32, name: &str) -> Option<Arc<SequenceDef>> {
        match self.named(schema_id, name)? {
            Named::Sequence(s) => Some(s),
            _ => None,
        }
    }
    fn user_type(&self, schema_id: i32, name: &str) -> Option<Arc<TypeDef>> {
        let id = self.type_names.get(&(schema_id, fold(name)))?;
        self.types.get(id).cloned()
    }
    fn stoplist(&self, stoplist_id: i32) -> Option<Arc<StoplistDef>> {
        self.stoplists.get(&stoplist_id).cloned()
    }
    fn policies_on(&self, object: ObjectId) -> Vec<Arc<PolicyDef>> {
        let guards = |p: &&Arc<PolicyDef>| p.enabled && p.predicates_on(object).next().is_some();
        self.policies.values().filter(guards).cloned().collect()
    }
    fn indexed_views(&self, table: ObjectId) -> Vec<Arc<ModuleDef>> {
        let views = self.indexed_views.get(&table).into_iter().flatten();
        views.filter_map(|id| self.modules.get(id).cloned()).collect()
    }
    fn triggers(&self, table: ObjectId) -> Vec<Arc<ModuleDef>> {
        self.modules.values().filter(|m| m.parent == table && m.trigger.is_some()).cloned().collect()
    }
}
