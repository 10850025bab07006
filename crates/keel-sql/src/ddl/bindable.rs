//! CREATE DEFAULT, CREATE RULE and their DROP; what `sp_bindefault` and `sp_bindrule` bind them to.
//!
//! A default or rule is an object of its own ([`BindableDef`]). A column that it is bound to has its expression beside its id, as it has that
//! of a constraint: who inserts and updates needs to look nowhere else. It cannot be altered, and not dropped while it is bound.
//! An alias type hands what is bound to it on to columns that are made of it.

use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, Named, Picture, fold, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::functions::split_name;
use crate::program::Program;
use crate::run::Runner;
use keel_parser::ast::{self, DropClass};
use keel_parser::keyword::Kw;
use keel_parser::lexer::{self, Tok};
use keel_query::bind::expr::{Clause, ExprCx};
use keel_query::bind::{Binder, Scope};
use keel_query::catalog::{BindableDef, Catalog as _, ColumnDef, DefaultDef, RuleDef, TableDef, TypeDef};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType};
use std::sync::Arc;

type E = Box<SqlError>;

errors::error_functions! {
    /// A rule that does not say where the value goes.
    rule_without_variable() = 160, 15, 1, "Rule does not contain a variable.";
    /// Or says it of several.
    rule_of_variables() = 161, 15, 1, "Rule contains more than one variable.";
    /// DROP of what is bound.
    is_bound(kind, name) = 3716, 16, 1, "The {kind} '{name}' cannot be dropped because it is bound to one or more column.";
    /// DROP DEFAULT of a constraint.
    is_a_constraint() = 3717, 16, 1, "Cannot drop a default constraint by DROP DEFAULT statement. Use ALTER TABLE to drop a constraint default.";
    /// Bound to `int` and its like.
    system_type() = 4185, 16, 1, "This action cannot be performed on a system type.";
    /// Unknown default.
    no_default(name) = 15016, 16, 1, "The default '{name}' does not exist.";
    /// Unknown rule.
    no_rule(name) = 15017, 16, 1, "The rule '{name}' does not exist.";
    /// Another word than 'futureonly'.
    default_usage() = 15100, 16, 1, "Usage: sp_bindefault defaultname, objectname [, 'futureonly']";
    /// A column that has no default.
    not_for_default() = 15101, 16, 1, "Cannot bind a default to a computed column, a sparse column, or to a column of the following data types: timestamp, varchar(max), nvarchar(max), varbinary(max), xml, or CLR type.";
    /// A column that numbers its rows.
    identity_column() = 15102, 16, 1, "Cannot bind a default to an identity column.";
    /// A column with a constraint.
    has_default() = 15103, 16, 1, "Cannot bind a default to a column created with or altered to have a default value.";
    /// Another word than 'futureonly'.
    rule_usage() = 15106, 16, 1, "Usage: sp_bindrule rulename, objectname [, 'futureonly']";
    /// A column that has no rule.
    not_for_rule() = 15107, 16, 1, "Cannot bind a rule to a computed column, a sparse column, or to a column of the following data types: text, ntext, image, timestamp, varchar(max), nvarchar(max), varbinary(max), xml, or user-defined data type.";
    /// Neither a column nor a type.
    no_target(name) = 15148, 16, 1, "The data type or table column '{name}' does not exist or you do not have permission.";
    /// Nothing to unbind.
    column_without_default(name) = 15236, 16, 1, "Column '{name}' has no default.";
    /// Nothing to unbind.
    type_without_default(name) = 15237, 16, 1, "User data type '{name}' has no default.";
    /// Nothing to unbind.
    column_without_rule(name) = 15238, 16, 1, "Column '{name}' has no rule.";
    /// Nothing to unbind.
    type_without_rule(name) = 15239, 16, 1, "User data type '{name}' has no rule.";
}

/// What is bound, or unbound from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    /// `sp_bindefault`
    Default,
    /// `sp_bindrule`
    Rule,
}

/// What something is bound to.
enum Target {
    Column(Arc<TableDef>, usize),
    Type(Arc<TypeDef>),
}

impl Binding {
    fn of(is_rule: bool) -> Binding {
        if is_rule { Binding::Rule } else { Binding::Default }
    }

    fn kind(self) -> &'static str {
        if self == Binding::Rule { "rule" } else { "default" }
    }

    /// The id of what is bound to a column; of a constraint none.
    fn on_column(self, c: &ColumnDef) -> Option<i32> {
        match self {
            Binding::Default => c.default.as_ref().filter(|d| d.is_bound()).map(|d| d.object_id),
            Binding::Rule => c.rule.as_ref().map(|r| r.object_id),
        }
    }

    fn on_type(self, t: &TypeDef) -> Option<i32> {
        match self {
            Binding::Default => t.default.as_ref().map(|d| d.object_id),
            Binding::Rule => t.rule.as_ref().map(|r| r.object_id),
        }
    }

    /// Why a column cannot have one.
    fn check(self, c: &ColumnDef) -> Result<()> {
        let refused = c.computed.is_some() || c.ty == SqlType::RowVersion || is_large(c.ty);
        match self {
            Binding::Default if refused => Err(not_for_default()),
            Binding::Default if c.identity.is_some() => Err(identity_column()),
            Binding::Default if c.default_constraint().is_some() => Err(has_default()),
            Binding::Rule if refused || is_old_large(c.ty) => Err(not_for_rule()),
            _ => Ok(()),
        }
    }

    /// Puts it, or nothing, where it goes.
    fn put(self, bound: Option<&BindableDef>, default: &mut Option<DefaultDef>, rule: &mut Option<RuleDef>) {
        match self {
            Binding::Default => *default = bound.map(as_default),
            Binding::Rule => *rule = bound.map(as_rule),
        }
    }
}

fn as_default(b: &BindableDef) -> DefaultDef {
    DefaultDef { object_id: b.object_id, name: String::new(), text: b.expression.clone() }
}

fn as_rule(b: &BindableDef) -> RuleDef {
    RuleDef { object_id: b.object_id, condition: b.expression.clone() }
}

fn is_large(ty: SqlType) -> bool {
    let max = matches!(
        ty,
        SqlType::VarChar(Length::Max) | SqlType::NVarChar(Length::Max) | SqlType::VarBinary(Length::Max)
    );
    max || matches!(
        ty,
        SqlType::Xml | SqlType::TypedXml(_) | SqlType::Geometry | SqlType::Geography | SqlType::HierarchyId
    )
}

fn is_old_large(ty: SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::NText | SqlType::Image)
}

/// A new column has what its alias type has, unless it cannot.
pub(super) fn inherit(column: &mut ColumnDef, alias: &TypeDef) {
    if Binding::Default.check(column).is_ok() {
        column.default.clone_from(&alias.default);
    }
    if Binding::Rule.check(column).is_ok() {
        column.rule.clone_from(&alias.rule);
    }
}

/// Names of what is bound to a column, for who wants to drop it.
pub(super) fn bound_names(picture: &Picture, column: &ColumnDef) -> Vec<String> {
    let ids = [Binding::Default, Binding::Rule].map(|binding| binding.on_column(column));
    let bound = picture.bindables().filter(|b| ids.contains(&Some(b.object_id)));
    bound.map(|b| b.name.clone()).collect()
}

impl Runner<'_> {
    /// CREATE DEFAULT, CREATE RULE
    pub(super) fn create_bindable(
        &mut self,
        program: &Program,
        statement: &ast::Statement,
        c: &ast::CreateBindable,
    ) -> Result<()> {
        let place = self.place(program, &c.name)?;
        place.refuse_system_schema()?;
        let written = lexer::tokenize(statement.span.text(&program.text), true).unwrap_or_default();
        if written.iter().any(|t| t.tok == Tok::Kw(Kw::SELECT)) {
            return Err(errors::no_subqueries());
        }
        let expression = keel_parser::to_text::stored_text(&c.expression);
        self.check_bindable(program, &expression, c.is_rule)?;
        self.lock_name(&place)?;
        self.check_free(&place)?;
        let now = self.info.engine.now_local();
        let def = BindableDef {
            object_id: place.entry.allocate_object(),
            schema_id: place.schema_id,
            name: place.name.clone(),
            is_rule: c.is_rule,
            text: super::module::module_text(program, statement),
            expression,
            created: now,
            modified: now,
        };
        self.put(&place.entry, CatalogObject::Bindable(Arc::new(def)))
    }

    /// Whether it can be the expression of a default, or of a rule. What type its variable has shows when it is bound.
    fn check_bindable(&self, program: &Program, expression: &str, is_rule: bool) -> Result<()> {
        let tokens = lexer::tokenize(expression, true).unwrap_or_default();
        let mut variables: Vec<_> = tokens.iter().filter(|t| t.tok == Tok::Variable).collect();
        variables.dedup_by_key(|t| fold(&expression[t.start as usize..t.end as usize]));
        let first = variables.first().map(|t| &expression[t.start as usize..t.end as usize]);
        let value = match (is_rule, first, variables.len()) {
            (false, Some(name), _) => return Err(errors::undeclared_variable(name)),
            (false, None, _) => expression.to_owned(),
            (true, _, 0) => return Err(rule_without_variable()),
            (true, _, 1) => RuleDef { object_id: 0, condition: expression.to_owned() }.with("NULL"),
            (true, ..) => return Err(rule_of_variables()),
        };
        let parsed = keel_parser::parse_expr(&value).map_err(crate::run::parse_error)?;
        let (names, scope) = (Scope::default(), self.ddl_scope(program));
        let (mut binder, mut cx) = (Binder::new(&scope), ExprCx::new(&names, Clause::Other));
        if is_rule {
            binder.condition(&parsed, &mut cx)?;
        } else {
            binder.value(&parsed, &mut cx)?;
        }
        Ok(())
    }

    pub(super) fn drop_bindable(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
        d: &ast::Drop,
    ) -> Result<()> {
        let binding = Binding::of(d.class == DropClass::Rule);
        let (entry, dropped) = match self.named(program, name) {
            Some((entry, Named::Bindable(b))) if Binding::of(b.is_rule) == binding => (entry, b),
            Some((_, Named::Constraint(table, id))) if binding == Binding::Default => {
                let default = table.columns.iter().filter_map(ColumnDef::default_constraint);
                let is_default = default.into_iter().any(|default| default.object_id == id);
                let missing = || errors::cannot_drop_missing(binding.kind(), name);
                return Err(if is_default { is_a_constraint() } else { missing() });
            }
            _ if d.if_exists => return Ok(()),
            _ => return Err(errors::cannot_drop_missing(binding.kind(), name)),
        };
        self.lock_catalog(&entry)?;
        let picture = self.info.picture(&entry);
        let id = Some(dropped.object_id);
        let columns = picture.tables().any(|t| t.columns.iter().any(|c| binding.on_column(c) == id));
        if columns || picture.types().any(|t| binding.on_type(t) == id) {
            let state = if binding == Binding::Default { 3 } else { 1 };
            return Err(Box::new(SqlError { state, ..*is_bound(binding.kind(), &dropped.name) }));
        }
        let key = CatalogKey { class: object_class::BINDABLE, id: dropped.object_id };
        self.change(&entry, CatalogOp::Remove(key))
    }

    /// `sp_bindefault`, `sp_bindrule`. True when it was bound to a column.
    pub(crate) fn bind(&mut self, binding: Binding, name: &str, to: &str, future_only: bool) -> Result<bool> {
        let entry = self.info.current_database();
        self.lock_catalog(&entry)?;
        let found = crate::functions::find_named(self.info, name);
        let bound = match found {
            Some((at, Named::Bindable(b))) if at.id == entry.id && Binding::of(b.is_rule) == binding => b,
            _ => return Err(if binding == Binding::Rule { no_rule(name) } else { no_default(name) }),
        };
        match self.bind_target(&entry, to)? {
            Target::Column(table, at) => {
                binding.check(&table.columns[at])?;
                self.rebind(&table, binding, Some(&*bound), |i, _| i == at)?;
                Ok(true)
            }
            Target::Type(alias) => {
                let before = binding.on_type(&alias);
                self.bind_type(&entry, &alias, binding, Some(&*bound))?;
                if !future_only {
                    self.rebind_columns(&entry, alias.user_type_id, binding, Some(&*bound), before)?;
                }
                Ok(false)
            }
        }
    }

    /// `sp_unbindefault`, `sp_unbindrule`. True when it was unbound from a column.
    pub(crate) fn unbind(&mut self, binding: Binding, from: &str, future_only: bool) -> Result<bool> {
        let entry = self.info.current_database();
        self.lock_catalog(&entry)?;
        match self.bind_target(&entry, from)? {
            Target::Column(table, at) if binding.on_column(&table.columns[at]).is_none() => {
                let rule = binding == Binding::Rule;
                Err(if rule { column_without_rule(from) } else { column_without_default(from) })
            }
            Target::Column(table, at) => {
                self.rebind(&table, binding, None, |i, _| i == at)?;
                Ok(true)
            }
            Target::Type(alias) => {
                let Some(before) = binding.on_type(&alias) else {
                    let rule = binding == Binding::Rule;
                    return Err(if rule { type_without_rule(from) } else { type_without_default(from) });
                };
                self.bind_type(&entry, &alias, binding, None)?;
                if !future_only {
                    self.rebind_columns(&entry, alias.user_type_id, binding, None, Some(before))?;
                }
                Ok(false)
            }
        }
    }

    /// A column, `[schema.]table.column`, or an alias type, `[schema.]type`, of a database whose user may alter it.
    fn bind_target(&self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<Target> {
        let missing = || no_target(name);
        if let Ok((table, part)) = crate::procs::owner_of_part(self, name)
            && table.database == entry.id
            && let Some(at) = table.columns.iter().position(|c| fold(&c.name) == fold(&part))
        {
            let on = crate::catalog::SecurableRef::Object(table.object_id);
            return if self.info.may(entry, "ALTER", on) {
                Ok(Target::Column(table, at))
            } else {
                Err(missing())
            };
        }
        let parts = split_name(name);
        let picture = self.info.picture(entry);
        let schema = match &parts[..] {
            [_] => Some(self.info.default_schema(entry)),
            [schema, _] => picture.schema_id(schema),
            _ => None,
        };
        let last = parts.last().map_or("", String::as_str);
        let alias = schema.and_then(|schema| picture.user_type(schema, last)).filter(|t| t.table.is_none());
        match alias {
            Some(alias) => {
                self.owner_only()?;
                Ok(Target::Type(alias))
            }
            None if keel_types::ty::catalog::system_types().iter().any(|t| fold(t.name) == fold(last)) => {
                Err(system_type())
            }
            None => Err(missing()),
        }
    }

    fn bind_type(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        alias: &TypeDef,
        binding: Binding,
        bound: Option<&BindableDef>,
    ) -> Result<()> {
        let mut new = alias.clone();
        binding.put(bound, &mut new.default, &mut new.rule);
        self.put(entry, CatalogObject::Type(Arc::new(new)))
    }

    /// The columns of an alias type that have what it had before.
    fn rebind_columns(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        alias: i32,
        binding: Binding,
        bound: Option<&BindableDef>,
        before: Option<i32>,
    ) -> Result<()> {
        let follows = |c: &ColumnDef| {
            c.alias == Some(alias) && binding.on_column(c) == before && binding.check(c).is_ok()
        };
        let picture = self.info.picture(entry);
        for table in picture.tables().filter(|t| t.columns.iter().any(follows)) {
            self.rebind(table, binding, bound, |_, c| follows(c))?;
        }
        Ok(())
    }

    /// Changes what columns of a table have.
    fn rebind(
        &mut self,
        table: &TableDef,
        binding: Binding,
        bound: Option<&BindableDef>,
        chosen: impl Fn(usize, &ColumnDef) -> bool,
    ) -> Result<()> {
        self.lock_schema(table.database, table.object_id)?;
        let mut new = table.clone();
        for (i, c) in new.columns.iter_mut().enumerate() {
            if chosen(i, c) {
                binding.put(bound, &mut c.default, &mut c.rule);
            }
        }
        self.replace_table(new).map(|_| ())
    }
}
