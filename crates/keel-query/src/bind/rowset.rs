//! Functions in FROM: the server's, users' inline functions, OPENJSON and OPENXML with their columns, methods of xml.

use super::expr::{Clause, ExprCx};
use super::from::{BoundSource, parts, rename};
use super::{Binder, BoundQuery, Scope, parse_error};
use crate::catalog::{ColumnDef, ModuleDef, ModuleKind};
use crate::errors::{self, Result};
use crate::expr::Expr;
use crate::openjson::JsonColumn;
use crate::scope::{NameParts, ObjectRef, RemoteRowset, VirtualColumn, VirtualTable};
use keel_parser::ast;
use keel_types::{Collation, SqlType};
use std::collections::HashMap;
use std::sync::Arc;

impl Binder<'_> {
    /// What a name of another server stands for, also through a synonym; `None` for names of this one.
    pub(crate) fn elsewhere(&self, name: &ast::ObjectName) -> Option<Result<ObjectRef>> {
        let remote = |server: &str, name| self.scope.remote_object(server, name).map(ObjectRef::Virtual);
        match &name.server {
            Some(server) if self.scope.is_own_server(&server.text) => None,
            Some(server) => Some(remote(&server.text, parts(name))),
            None => {
                let target = self.scope.remote_synonym(parts(name))?;
                let [server, database, schema, object] = target.as_slice() else { return None };
                let name = NameParts { database: Some(database), schema: Some(schema), object };
                Some(remote(server, name))
            }
        }
    }

    /// Error 208 or 5313.
    pub(crate) fn not_found(&self, name: &ast::ObjectName) -> errors::Error {
        let shown = name.to_string();
        if self.scope.is_synonym(parts(name)) {
            errors::synonym_of_nothing(&shown)
        } else {
            errors::invalid_object(&shown)
        }
    }

    pub(super) fn table_function(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::Expr],
        schema: Option<&ast::RowsetSchema>,
        alias: Option<&ast::Ident>,
        columns: &[ast::Ident],
        outer: &Scope<'_>,
    ) -> Result<BoundSource> {
        if !name.name.quoted
            && name.is_simple()
            && let Some(table) = self.remote_rows(&name.name.text, args)?
        {
            let exposed = alias.map_or("", |a| a.as_str());
            let (rel, mut sources) = self.virtual_table(table, exposed, Vec::new(), false, name);
            rename(&mut sources, columns, exposed)?;
            return Ok((rel, sources));
        }
        if super::xml::is_method(&name.name)
            && let Some(target) = super::xml::method_target(name)
            && self.is_in_sight(&target, outer)?
        {
            let target = ast::Expr { kind: ast::ExprKind::Column(target), span: name.span };
            return self.nodes_source(&target, &name.name, args, (alias, columns), outer);
        }
        if name.server.as_ref().is_some_and(|server| !self.scope.is_own_server(&server.text)) {
            return Err(errors::remote_function());
        }
        let exposed = alias.map_or(name.name.as_str(), |a| a.as_str()).to_owned();
        let mut cx = ExprCx::new(outer, Clause::Other);
        let object = match self.scope.table_function(parts(name)) {
            Some(object) => object,
            None => {
                // Where DEFAULT may not stand it is the function that is not there.
                cx.default = (!name.is_simple()).then(Expr::null);
                let args = args.iter().map(|a| self.value(a, &mut cx)).collect::<Result<Vec<_>>>()?;
                let table = match schema {
                    _ if name.name.is("OPENXML") => Some(self.open_xml(schema, args.len())?),
                    Some(ast::RowsetSchema::Columns(columns)) => {
                        Some(crate::openjson::elements(self.json_schema(columns)?))
                    }
                    _ if !name.is_simple() => None,
                    _ => {
                        crate::tvf::check_arguments(&name.name.text, &args)?;
                        crate::tvf::builtin(&name.name.text, &args)
                    }
                };
                let table = table.ok_or_else(|| errors::invalid_object(&name.to_string()))?;
                let (rel, mut sources) = self.virtual_table(table, &exposed, args, false, name);
                rename(&mut sources, columns, &exposed)?;
                return Ok((rel, sources));
            }
        };
        match object {
            ObjectRef::Virtual(table) => {
                // A system function takes DEFAULT for NULL.
                cx.default = Some(Expr::null());
                let args = match table.parameters() {
                    Some(parameters) => {
                        self.routine_arguments((&name.to_string(), 3), &parameters, args, &mut cx)?
                    }
                    None => args.iter().map(|a| self.value(a, &mut cx)).collect::<Result<Vec<_>>>()?,
                };
                let (rel, mut sources) = self.virtual_table(table, &exposed, args, false, name);
                rename(&mut sources, columns, &exposed)?;
                Ok((rel, sources))
            }
            ObjectRef::Module(module) if module.kind == ModuleKind::InlineTableFunction => {
                let parameters = self.scope.module_parameters(&module);
                let values = self.routine_arguments((&name.to_string(), 3), &parameters, args, &mut cx)?;
                let names = parameters.iter().map(|p| p.name.to_lowercase());
                let map: HashMap<String, Expr> = names.zip(values).collect();
                self.parameters.push(map);
                let bound = self.inline_function(&module);
                self.parameters.pop();
                let bound = bound?;
                self.derived(bound, &exposed, columns)
            }
            _ => Err(errors::invalid_object(&name.to_string())),
        }
    }

    /// `OPENROWSET (BULK 'file', …) AS alias (columns)`
    pub(super) fn bulk_rowset(
        &mut self,
        file: &str,
        options: &[ast::Opt],
        alias: Option<&ast::Ident>,
        columns: &[ast::Ident],
    ) -> Result<BoundSource> {
        let alias = alias.ok_or_else(errors::bulk_without_alias)?;
        let table = self.scope.bulk_rowset(file, options)?;
        let name = ast::ObjectName::simple(alias.clone());
        let (rel, mut sources) = self.virtual_table(table, alias.as_str(), Vec::new(), false, &name);
        rename(&mut sources, columns, alias.as_str())?;
        Ok((rel, sources))
    }

    /// Rows of another server: OPENQUERY, OPENROWSET, OPENDATASOURCE. `None` for other functions.
    fn remote_rows(&self, function: &str, args: &[ast::Expr]) -> Result<Option<Arc<dyn VirtualTable>>> {
        let function = function.to_ascii_uppercase();
        match function.as_str() {
            "OPENQUERY" => {
                let [server, text] = args else { return Err(errors::syntax_near(&function)) };
                let (server, text) = (word_or_text(server), word_or_text(text));
                self.scope.remote_rowset(&RemoteRowset::Query(&server, &text)).map(Some)
            }
            "OPENROWSET" | "OPENDATASOURCE" => {
                let [provider, connection @ .., what] = args else {
                    return Err(errors::syntax_near(&function));
                };
                if matches!(&provider.kind, ast::ExprKind::Column(_)) {
                    return Ok(None);
                }
                let provider = word_or_text(provider);
                let connection: Vec<String> = connection.iter().map(word_or_text).collect();
                let rowset = match &what.kind {
                    ast::ExprKind::Column(c) => {
                        let above = c.qualifier.as_deref();
                        let schema = above.map(|q| q.name.text.as_str());
                        let database = above.and_then(|q| q.schema.as_ref()).map(|d| d.text.as_str());
                        let name = NameParts { database, schema, object: &c.name.text };
                        return self
                            .scope
                            .remote_rowset(&RemoteRowset::Table(&provider, &connection, name))
                            .map(Some);
                    }
                    _ => word_or_text(what),
                };
                self.scope.remote_rowset(&RemoteRowset::Text(&provider, &connection, &rowset)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn json_schema(&self, columns: &[ast::SchemaColumn]) -> Result<Vec<JsonColumn>> {
        let column = |c: &ast::SchemaColumn| {
            let path = c.path.as_ref().map_or_else(|| format!("$.\"{}\"", c.name), ToString::to_string);
            let ty = self.type_of(&c.ty, false)?;
            if c.as_json && ty != SqlType::NVarChar(keel_types::Length::Max) {
                return Err(errors::json_column_type());
            }
            let collation = self.schema_collation(c, ty)?;
            Ok(JsonColumn { name: c.name.text.to_string(), ty, collation, path, as_json: c.as_json })
        };
        columns.iter().map(column).collect()
    }

    /// The collation of a column of OPENJSON or OPENXML: its own, or the database's.
    fn schema_collation(&self, column: &ast::SchemaColumn, ty: SqlType) -> Result<Collation> {
        match &column.collation {
            Some(_) if !ty.is_string() => Err(errors::not_collatable(ty.name())),
            Some(name) => self.collation_named(name),
            None => Ok(self.collation()),
        }
    }

    fn open_xml(
        &self,
        schema: Option<&ast::RowsetSchema>,
        arguments: usize,
    ) -> Result<Arc<dyn VirtualTable>> {
        if !(2..=3).contains(&arguments) {
            return Err(errors::syntax_near("OPENXML"));
        }
        let columns = match schema {
            None => None,
            Some(ast::RowsetSchema::Columns(columns)) => {
                let column = |c: &ast::SchemaColumn| {
                    let ty = self.type_of(&c.ty, false)?;
                    let mut column = VirtualColumn::new(c.name.text.to_string(), ty);
                    column.collation = self.schema_collation(c, ty)?;
                    Ok((column, c.path.as_ref().map(ToString::to_string)))
                };
                Some(columns.iter().map(column).collect::<Result<Vec<_>>>()?)
            }
            Some(ast::RowsetSchema::Table(name)) => match self.scope.object(parts(name)) {
                Some(ObjectRef::Table(table)) => {
                    let column = |c: &ColumnDef| {
                        let shown = VirtualColumn::new(c.name.to_string(), c.ty);
                        (VirtualColumn { collation: c.collation, ..shown }, None)
                    };
                    Some(table.columns.iter().map(column).collect())
                }
                _ => return Err(errors::invalid_object(&name.to_string())),
            },
        };
        Ok(crate::openxml::table(columns))
    }

    pub(super) fn inline_function(&mut self, module: &ModuleDef) -> Result<BoundQuery> {
        let options = keel_parser::ParseOptions { quoted_identifier: module.quoted_identifier };
        let batch = keel_parser::parse_batch(&module.text, options).map_err(|e| parse_error(*e))?;
        let Some(ast::StatementKind::CreateFunction(f)) = batch.statements.into_iter().next().map(|s| s.kind)
        else {
            return Err(errors::invalid_object(&module.name));
        };
        let ast::FunctionBody::Inline(query) = &f.body else {
            return Err(errors::invalid_object(&module.name));
        };
        let saved = std::mem::take(&mut self.ctes);
        let result = self.in_module(module, |b| b.select_statement_query(&query.select, None));
        self.ctes = saved;
        result
    }
}

/// The text of a literal argument, or the name that an identifier is.
fn word_or_text(e: &ast::Expr) -> String {
    match &e.kind {
        ast::ExprKind::Column(c) => c.name.text.to_string(),
        ast::ExprKind::Literal(ast::Literal::String { value, .. }) => value.to_string(),
        _ => String::new(),
    }
}
