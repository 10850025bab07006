//! Rows that are there before their statement runs (of a call, a bulk load, a queue), as the trees of the statements that take them.
//!
//! They stand under a name that nobody can write; the session's scope finds them by it.

use keel_parser::ast::{self, StatementKind};

/// Name under which the rows captured by INSERT … EXEC, a table-valued parameter or a bulk load are selected from.
pub const CAPTURED_ROWS: &str = "#$captured";

/// `SELECT items FROM` the captured rows.
#[must_use]
pub fn select_captured(span: ast::Span, items: Vec<ast::SelectItem>) -> ast::Query {
    let mut name = ast::ObjectName::simple(ast::Ident::new(CAPTURED_ROWS));
    name.span = span;
    let source = ast::TableSource {
        kind: ast::TableSourceKind::Named {
            name,
            alias: None,
            hints: Vec::new(),
            sample: None,
            system_time: None,
        },
        span,
    };
    let select = ast::Select {
        distinct: false,
        top: None,
        items,
        into: None,
        from: vec![source],
        filter: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
        span,
    };
    let body = ast::QueryBody::Select(Box::new(select));
    ast::Query { body, order_by: Vec::new(), offset: None, for_clause: None, span }
}

/// `INSERT … SELECT * FROM` the captured rows.
#[must_use]
pub fn insert_captured(span: ast::Span, insert: &ast::Insert) -> ast::Statement {
    let query = select_captured(span, vec![ast::SelectItem::Star { qualifier: None, span }]);
    let insert = ast::Insert { source: ast::InsertSource::Query(Box::new(query)), ..insert.clone() };
    ast::Statement { kind: StatementKind::Insert(Box::new(insert)), span }
}
