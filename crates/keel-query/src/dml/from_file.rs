//! `INSERT … WITH (hints) SELECT … FROM OPENROWSET (BULK …)`: rows of a file, for which four hints mean what BULK INSERT's options do.
//!
//! KEEPIDENTITY takes the identity column's values from the file, which are read and left otherwise; KEEPDEFAULTS puts a column's default where
//! the file has NULL; IGNORE_CONSTRAINTS looks at no CHECK and FOREIGN KEY; IGNORE_TRIGGERS fires no trigger. The first two, elsewhere than
//! in front of a file, mean nothing ("Table hints", *KEEPIDENTITY*).

use super::target::Target;
use crate::bind::Binder;
use crate::bind::merge_types::assign_to;
use crate::errors::Result;
use crate::expr::{Expr, ExprKind};
use keel_parser::ast;
use keel_types::{Length, SqlType};

/// What the hints of an INSERT say of the file that its rows come from.
#[derive(Clone, Copy, Default)]
pub(super) struct FromFile {
    is_file: bool,
    pub keep_identity: bool,
    keep_defaults: bool,
    ignore_constraints: bool,
}

impl FromFile {
    pub fn of(insert: &ast::Insert) -> FromFile {
        let ast::InsertSource::Query(query) = &insert.source else { return FromFile::default() };
        let ast::QueryBody::Select(select) = &query.body else { return FromFile::default() };
        if !select.from.iter().any(reads_file) {
            return FromFile::default();
        }
        let says = |hint: &ast::TableHint| insert.target.hints.contains(hint);
        FromFile {
            is_file: true,
            keep_identity: says(&ast::TableHint::KeepIdentity),
            keep_defaults: says(&ast::TableHint::KeepDefaults),
            ignore_constraints: says(&ast::TableHint::IgnoreConstraints),
        }
    }

    /// Takes the constraints away that are not to be looked at.
    pub fn relieve(self, target: &mut Target) {
        if self.ignore_constraints {
            target.checks.clear();
            target.parents.clear();
        }
    }

    /// The values that are stored, by column.
    pub fn values(
        self,
        binder: &mut Binder<'_>,
        target: &Target,
        columns: &[usize],
        exprs: Vec<Expr>,
    ) -> Result<(Vec<usize>, Vec<Expr>)> {
        let (mut kept, mut values) = (Vec::new(), Vec::new());
        for (column, value) in columns.iter().zip(exprs) {
            if self.is_file && !self.keep_identity && target.identity == Some(*column) {
                continue;
            }
            let has_default = target.table.columns[*column].default.is_some();
            let value = if self.keep_defaults && has_default {
                or_default(value, target.default_of(binder, *column)?)?
            } else {
                value
            };
            kept.push(*column);
            values.push(value);
        }
        Ok((kept, values))
    }
}

/// A value, or where that is NULL the default; strings are not cut before they are stored.
fn or_default(value: Expr, default: Expr) -> Result<Expr> {
    let ty = if value.ty.is_string() { SqlType::NVarChar(Length::Max) } else { value.ty };
    let (value, default) = (assign_to(value, ty)?, assign_to(default, ty)?);
    let (collation, coercibility) = (value.collation, value.coercibility);
    let kind = ExprKind::FirstOf(vec![value, default]);
    Ok(Expr { kind, ty, collation, coercibility, nullable: true })
}

fn reads_file(source: &ast::TableSource) -> bool {
    match &source.kind {
        ast::TableSourceKind::Bulk { .. } => true,
        ast::TableSourceKind::Join { left, right, .. } => reads_file(left) || reads_file(right),
        _ => false,
    }
}
