//! Binding of the methods and properties of `hierarchyid`, `geometry` and `geography`.
//!
//! `t.c.Lat` reads as a column with a qualifier and `t.c.ToString()` as a function of a schema: which they are is known only
//! here, when names are looked up.

use super::Binder;
use super::expr::ExprCx;
use super::merge_types::assign_to;
use super::xml::no_method;
use crate::clr::{self, Method, SELF};
use crate::errors::{self, Result};
use crate::expr::{Expr, builtin};
use keel_parser::ast;
use keel_types::ty::parse::{TypeSite, parse_type};
use keel_types::{SqlError, SqlType, Value};

impl Binder<'_> {
    /// `x.Method(…)` of a value; methods of xml too.
    pub(super) fn method(
        &mut self,
        target: &ast::Expr,
        name: &ast::Ident,
        args: &[ast::Expr],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        if super::xml::is_method(name) {
            return self.xml_method(target, name, args, cx);
        }
        let this = self.value(target, cx)?;
        if !this.ty.is_clr() {
            return Err(if this.ty.is_xml() { no_method(name) } else { cannot_call(this.ty) });
        }
        match clr::instance_method(this.ty, name.as_str()).filter(|m| !m.property) {
            Some(method) => self.clr_call(this.ty, method, Some(this), args, cx),
            None => Err(clr::unknown(this.ty, name.as_str(), false)),
        }
    }

    /// `x.Property` of a value.
    pub(super) fn property(
        &mut self,
        target: &ast::Expr,
        name: &ast::Ident,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let this = self.value(target, cx)?;
        if !this.ty.is_clr() {
            return Err(cannot_call(this.ty));
        }
        match clr::instance_method(this.ty, name.as_str()).filter(|m| m.property) {
            Some(method) => self.clr_call(this.ty, method, Some(this), &[], cx),
            None => Err(clr::unknown(this.ty, name.as_str(), true)),
        }
    }

    /// `c.Property` and `t.c.Property`, which read as columns; `None` when there is no such column.
    pub(super) fn column_property(
        &mut self,
        c: &ast::ColumnRef,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Option<Expr>> {
        let Some(qualifier) = c.qualifier.as_deref() else { return Ok(None) };
        let table = qualifier.schema.clone().map(|table| {
            let schema = qualifier.database.clone();
            Box::new(ast::ObjectName { schema, ..ast::ObjectName::simple(table) })
        });
        let column = ast::ColumnRef { qualifier: table, name: qualifier.name.clone() };
        let Some(slot) = cx.scope.resolve(column.qualifier.as_deref(), &column.name.text)? else {
            return Ok(None);
        };
        if !self.read(slot).ty.is_clr() {
            return Ok(None);
        }
        let target = ast::Expr { kind: ast::ExprKind::Column(column), span: qualifier.span };
        self.property(&target, &c.name, cx).map(Some)
    }

    /// `type::Method(…)` and `type::Property`
    pub(super) fn static_method(
        &mut self,
        ty: &ast::ObjectName,
        name: &ast::Ident,
        args: Option<&[ast::Expr]>,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let full = ty.to_string();
        let found = parse_type(ty.name.as_str(), &[], TypeSite::cast(1)).ok().filter(|t| t.is_clr());
        let Some(ty) = found else {
            return Err(SqlError::new(243, 16, 4, format!("Type {full} is not a defined system type.")));
        };
        match clr::static_method(ty, name.as_str()).filter(|m| m.property == args.is_none()) {
            Some(method) => self.clr_call(ty, method, None, args.unwrap_or_default(), cx),
            None => Err(clr::unknown(ty, name.as_str(), args.is_none())),
        }
    }

    fn clr_call(
        &mut self,
        ty: SqlType,
        method: &'static Method,
        this: Option<Expr>,
        args: &[ast::Expr],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let own = |t: SqlType| if t == SELF { ty } else { t };
        if args.len() != method.params.len() {
            return Err(errors::argument_count(method.name, method.params.len()));
        }
        let instance = this.is_some();
        let mut given: Vec<Expr> = this.into_iter().collect();
        for (arg, param) in args.iter().zip(method.params) {
            let value = self.value(arg, cx)?;
            given.push(assign_to(value, own(*param))?);
        }
        let name = format!("{}.{}", clr::class_of(ty), method.name);
        let mut e = builtin::own(&name, own(method.returns), given, move |values| {
            let (this, args) = if instance { values.split_at(1) } else { (&[][..], values) };
            let this = this.first().unwrap_or(&Value::Null);
            if instance && this.is_null() || !method.takes_null && args.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            (method.run)(ty, this, args)
        });
        e.collation = self.collation();
        Ok(e)
    }
}

fn cannot_call(ty: SqlType) -> Box<SqlError> {
    SqlError::new(258, 15, 1, format!("Cannot call methods on {}.", ty.name()))
}
