//! The types that parameters and results of modules were declared with. Programs know what a value is; that it was declared as `dbo.Flag` only the
//! module's text says, and `sys.parameters` and DROP TYPE want to know.

use crate::catalog::Picture;
use crate::engine::DatabaseEntry;
use crate::modules;
use crate::session::info::Info;
use crate::session::scope::Scope;
use keel_parser::ast::{FunctionReturns, Parameter, ParameterType, StatementKind, TypeName};
use keel_query::catalog::{ModuleDef, ModuleKind, TypeDef};
use std::sync::Arc;

/// Types that users made, as a module's declaration names them.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    /// Of the result; `None` where it is no such type, and where there is none.
    pub result: Option<Arc<TypeDef>>,
    /// Of each parameter, in order.
    pub parameters: Vec<Option<Arc<TypeDef>>>,
}

impl Declared {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<TypeDef>> {
        self.parameters.iter().chain([&self.result]).flatten()
    }
}

/// What a module was declared with; nothing of views and triggers, and of a module whose text is not read any more.
pub(crate) fn of_module(info: &Info, entry: &DatabaseEntry, picture: &Picture, m: &ModuleDef) -> Declared {
    if matches!(m.kind, ModuleKind::View | ModuleKind::Trigger) || picture.types().next().is_none() {
        return Declared::default();
    }
    let Ok(statement) = modules::parse(m) else { return Declared::default() };
    let mut scope = Scope::bare(info, entry.id);
    scope.identity.schema_id = m.schema_id;
    let own = |ty: &TypeName| scope.made_type(ty);
    let of = |p: &Parameter| match &p.ty {
        ParameterType::Typed(ty) => own(ty),
        ParameterType::Cursor => None,
    };
    match &statement.kind {
        StatementKind::CreateProcedure(p) => {
            Declared { result: None, parameters: p.parameters.iter().map(of).collect() }
        }
        StatementKind::CreateFunction(f) => {
            let result = if let FunctionReturns::Scalar(ty) = &f.returns { own(ty) } else { None };
            Declared { result, parameters: f.parameters.iter().map(of).collect() }
        }
        _ => Declared::default(),
    }
}

/// The name of a table, type or module that a type cannot be dropped for.
pub(crate) fn user_of_type(
    info: &Info,
    entry: &DatabaseEntry,
    picture: &Picture,
    ty: &TypeDef,
) -> Option<String> {
    let has =
        |columns: &[keel_query::catalog::ColumnDef]| columns.iter().any(|c| c.alias == Some(ty.user_type_id));
    let table = picture.tables().find(|t| has(&t.columns)).map(|t| t.name.clone());
    let shape = |t: &&Arc<TypeDef>| t.table.as_ref().is_some_and(|shape| has(&shape.columns));
    let uses = |m: &&Arc<ModuleDef>| {
        of_module(info, entry, picture, m).all().any(|used| used.user_type_id == ty.user_type_id)
    };
    table
        .or_else(|| picture.types().find(shape).map(|t| t.name.clone()))
        .or_else(|| picture.modules().find(uses).map(|m| m.name.clone()))
}
