//! WITH SCHEMABINDING: what a view or function is bound to stays as it is.
//!
//! Nothing is recorded when such a module is made. Whoever is about to drop or alter something asks what the bound modules of
//! its database name, and they are compiled for the answer: there are few of them, and few such statements.

use super::Place;
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::modules;
use crate::program::Need;
use crate::run::Runner;
use crate::session::scope::Scope;
use keel_parser::ast::{self, StatementKind};
use keel_parser::keyword::Kw;
use keel_parser::lexer::{self, Tok};
use keel_query::catalog::{Catalog as _, ModuleDef, ObjectId};
use keel_types::error::Result;
use std::sync::Arc;

/// A bound module's use of an object.
pub(crate) struct BoundUse {
    /// The module's name.
    pub module: String,
    /// The columns of the object that it names, by id.
    pub columns: Vec<i32>,
}

/// What the text of a module names.
#[derive(Default)]
pub(crate) struct Named {
    /// The objects, with their columns.
    pub uses: Vec<Need>,
    /// The first name that is not a schema's and an object's.
    pub odd_name: Option<String>,
}

impl Named {
    /// What a scope has seen.
    pub(crate) fn by(scope: Scope<'_>) -> Named {
        Named { uses: scope.needs.into_inner(), odd_name: scope.odd_name.into_inner() }
    }
}

impl Runner<'_> {
    /// The bound modules and security policies that name an object.
    pub(crate) fn bound_to(&self, entry: &Arc<DatabaseEntry>, wanted: ObjectId) -> Vec<BoundUse> {
        let picture = self.info.picture(entry);
        let bound = picture.modules().filter(|m| m.object_id != wanted && modules::is_schema_bound(m));
        let policies = super::policy::bound_to(&picture, wanted);
        bound
            .filter_map(|m| {
                let named = self.named_by(entry, m).unwrap_or_default();
                let mut uses = named.uses.into_iter().filter_map(|need| match need {
                    Need::Object { object, columns, .. } if object == wanted => columns.or(Some(Vec::new())),
                    _ => None,
                });
                let mut columns = uses.next()?;
                columns.extend(uses.flatten());
                Some(BoundUse { module: m.name.clone(), columns })
            })
            .chain(policies)
            .collect()
    }

    /// Error 3729 when a bound module names the object. `what` is to be done to it.
    pub(super) fn refuse_bound(
        &self,
        what: &str,
        name: &ast::ObjectName,
        entry: &Arc<DatabaseEntry>,
        object: ObjectId,
    ) -> Result<()> {
        match self.bound_to(entry, object).first() {
            Some(bound) => Err(errors::referenced_by_object(what, name, &bound.module)),
            None => Ok(()),
        }
    }

    /// Of a module that is to be made WITH SCHEMABINDING: whether what it names can be held to.
    pub(super) fn check_binding(
        &self,
        place: &Place,
        module: &ModuleDef,
        statement: &ast::Statement,
    ) -> Result<()> {
        let (kind, name) = match &statement.kind {
            StatementKind::CreateView(v) if v.options.schema_binding => ("view", &v.name),
            StatementKind::CreateFunction(f) if f.options.schema_binding => ("function", &f.name),
            _ => return Ok(()),
        };
        if selects_star(module) {
            return Err(errors::star_in_bound());
        }
        let named = self.named_by(&place.entry, module)?;
        if let Some(odd) = named.odd_name {
            return Err(errors::cannot_bind_name(kind, name, odd));
        }
        let picture = self.info.picture(&place.entry);
        for need in &named.uses {
            let Need::Object { object, .. } = need else { continue };
            let Some(used) = picture.module_by_id(*object) else { continue };
            if !modules::is_schema_bound(used) {
                let schema = picture.schema_name(used.schema_id).unwrap_or_default();
                return Err(errors::not_schema_bound(kind, name, format!("{schema}.{}", used.name)));
            }
        }
        Ok(())
    }

    /// What a view or function names itself.
    fn named_by(&self, entry: &Arc<DatabaseEntry>, module: &ModuleDef) -> Result<Named> {
        let statement = modules::parse(module)?;
        if let StatementKind::CreateView(v) = &statement.kind {
            let mut scope = Scope::bare(self.info, entry.id);
            scope.identity.schema_id = module.schema_id;
            keel_query::compile_select(&scope, &v.query.select)?;
            return Ok(Named::by(scope));
        }
        let program = modules::lower(self.info, entry.id, module)?;
        let query = match &statement.kind {
            StatementKind::CreateFunction(f) => match &f.body {
                ast::FunctionBody::Inline(query) => Some(&query.select),
                _ => None,
            },
            _ => None,
        };
        self.named_in_program(&program, query)
    }
}

/// Whether a select list of the module has a star: no operand is behind it, and no COUNT around it.
fn selects_star(module: &ModuleDef) -> bool {
    let tokens = lexer::tokenize(&module.text, module.quoted_identifier).unwrap_or_default();
    tokens.windows(3).any(|t| {
        t[1].tok == Tok::Star && t[0].tok != Tok::LParen && matches!(t[2].tok, Tok::Kw(Kw::FROM) | Tok::Comma)
    })
}
