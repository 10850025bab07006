//! What views, functions and triggers may not say, told when they are made.

use super::determinism::builtin_calls;
use crate::errors;
use keel_parser::ast::{self, StatementKind};
use keel_parser::keyword::Kw;
use keel_parser::lexer::{self, Tok};
use keel_query::ColumnMeta;
use keel_query::catalog::{ModuleDef, TableDef};
use keel_types::SqlError;
use keel_types::error::Result;

/// Columns of a view: as many as its list has (8158, 8159), each with a name (4511) of its own (4506).
pub(super) fn check_view_columns(v: &ast::CreateView, columns: &[ColumnMeta]) -> Result<()> {
    let view = &v.name.name.text;
    if !v.columns.is_empty() {
        match v.columns.len().cmp(&columns.len()) {
            std::cmp::Ordering::Less => return Err(keel_query::errors::more_columns_than_list(view)),
            std::cmp::Ordering::Greater => return Err(keel_query::errors::fewer_columns_than_list(view)),
            std::cmp::Ordering::Equal => {}
        }
        let names: Vec<&str> = v.columns.iter().map(|c| c.text.as_str()).collect();
        return each_once(&names, view);
    }
    let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    match names.iter().position(|name| name.is_empty()) {
        Some(at) => Err(errors::view_column_unnamed(at + 1)),
        None => each_once(&names, view),
    }
}

/// The same of an inline function: 4514 and 4506.
pub(super) fn check_function_columns(name: &ast::ObjectName, columns: &[ColumnMeta]) -> Result<()> {
    let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    match names.iter().position(|name| name.is_empty()) {
        Some(at) => Err(errors::function_column_unnamed(at + 1)),
        None => each_once(&names, &name.name.text),
    }
}

fn each_once(names: &[&str], module: &str) -> Result<()> {
    let again = |(at, name): &(usize, &&str)| names[..*at].iter().any(|n| crate::views::same(n, name));
    match names.iter().enumerate().find(again) {
        Some((_, name)) => Err(errors::module_column_twice(name, module)),
        None => Ok(()),
    }
}

/// What is wrong with the statements of a function, in order.
pub(super) fn function_faults(f: &ast::CreateFunction, module: &ModuleDef) -> Vec<SqlError> {
    let mut faults =
        Faults { scalar: matches!(f.returns, ast::FunctionReturns::Scalar(_)), found: Vec::new() };
    for call in builtin_calls(&module.text) {
        if call.is_rand() || call.makes_guid() {
            faults.add(errors::side_effect(call.name.to_ascii_lowercase(), 1), call.line);
        }
    }
    if let ast::FunctionBody::Statements(body) = &f.body {
        faults.of_all(body);
        if !ends_with_return(body) {
            let line = body.last().map_or(1, |s| s.span.line);
            faults.add(errors::no_return_at_end(), line);
        }
    }
    faults.found.sort_by_key(|e| e.line);
    faults.found
}

struct Faults {
    scalar: bool,
    found: Vec<SqlError>,
}

impl Faults {
    fn add(&mut self, e: Box<SqlError>, line: u32) {
        self.found.push(*errors::located(e, line, None));
    }

    fn of_all(&mut self, statements: &[ast::Statement]) {
        statements.iter().for_each(|s| self.of(s));
    }

    fn of(&mut self, s: &ast::Statement) {
        match &s.kind {
            StatementKind::Block(body) => self.of_all(body),
            StatementKind::If(i) => {
                self.of(&i.then);
                i.otherwise.iter().for_each(|s| self.of(s));
            }
            StatementKind::While(w) => self.of(&w.body),
            StatementKind::Select(select) if returns_rows(&select.query.body) => {
                self.add(errors::select_in_function(), s.span.line);
            }
            StatementKind::Return(None) if self.scalar => {
                self.add(errors::return_without_value(), s.span.line);
            }
            StatementKind::Return(Some(_)) if !self.scalar => {
                self.add(errors::return_value_in_batch(), s.span.line);
            }
            kind => {
                if let Some((what, state)) = side_effect(kind) {
                    self.add(errors::side_effect(what, state), s.span.line);
                }
            }
        }
    }
}

/// Whether a function whose body this is cannot run past its end.
fn ends_with_return(body: &[ast::Statement]) -> bool {
    body.last().is_some_and(|last| match &last.kind {
        StatementKind::Return(_) => true,
        StatementKind::Block(body) => ends_with_return(body),
        _ => false,
    })
}

fn returns_rows(body: &ast::QueryBody) -> bool {
    match body {
        ast::QueryBody::Select(select) => {
            let assigns = select.items.iter().any(|i| matches!(i, ast::SelectItem::Assign { .. }));
            !assigns && select.into.is_none()
        }
        ast::QueryBody::Set { .. } => true,
    }
}

/// The name under which the product refuses a statement that acts beyond a function, and the state of the error.
fn side_effect(kind: &StatementKind) -> Option<(&'static str, u8)> {
    Some(match kind {
        StatementKind::Insert(i) if matches!(i.source, ast::InsertSource::Execute(_)) => ("INSERT EXEC", 14),
        StatementKind::Insert(i) if is_stored(&i.target, i.with.as_ref(), &[]) => ("INSERT", 15),
        StatementKind::Update(u) if is_stored(&u.target, u.with.as_ref(), &u.from) => ("UPDATE", 15),
        StatementKind::Delete(d) if is_stored(&d.target, d.with.as_ref(), &d.from) => ("DELETE", 15),
        StatementKind::Merge(m) if is_stored(&m.target, m.with.as_ref(), &[]) => ("MERGE", 15),
        StatementKind::Truncate(_) => ("TRUNCATE TABLE", 15),
        StatementKind::Print(_) => ("PRINT", 14),
        StatementKind::RaisError(_) => ("RAISERROR", 14),
        StatementKind::Throw(_) => ("THROW", 14),
        StatementKind::TryCatch(_) => ("BEGIN TRY", 14),
        StatementKind::WaitFor(_) => ("WAITFOR", 14),
        StatementKind::Conversation(c) => (conversation_verb(c), 14),
        StatementKind::Execute(e) if matches!(e.target, ast::ExecuteTarget::Text(_)) => {
            ("EXECUTE STRING", 14)
        }
        StatementKind::BeginTransaction(_) => ("BEGIN TRANSACTION", 15),
        StatementKind::Commit(_) => ("COMMIT TRANSACTION", 15),
        StatementKind::Rollback(_) => ("ROLLBACK TRANSACTION", 15),
        StatementKind::Save(_) => ("SAVE TRANSACTION", 15),
        _ => return None,
    })
}

fn conversation_verb(c: &ast::Conversation) -> &'static str {
    match c {
        ast::Conversation::Begin(_) => "BEGIN DIALOG",
        ast::Conversation::Send(_) => "SEND",
        ast::Conversation::Receive(_) => "RECEIVE",
        ast::Conversation::GetGroup { .. } => "GET CONVERSATION GROUP",
        ast::Conversation::End { .. } => "END CONVERSATION",
        ast::Conversation::Move { .. } => "MOVE CONVERSATION",
        ast::Conversation::Timer { .. } => "BEGIN CONVERSATION TIMER",
    }
}

/// Whether rows of something else than a table variable are changed: by its name, an alias in FROM, or a common table expression.
fn is_stored(target: &ast::DmlTarget, with: Option<&ast::With>, from: &[ast::TableSource]) -> bool {
    let ast::TableRef::Named(name) = &target.table else { return false };
    let of_with = with.is_some_and(|w| w.ctes.iter().any(|c| c.name.is(&name.name.text)));
    !of_with && !from.iter().any(|source| is_variable_named(source, &name.name))
}

fn is_variable_named(source: &ast::TableSource, name: &ast::Ident) -> bool {
    match &source.kind {
        ast::TableSourceKind::Variable { alias: Some(alias), .. } => alias.is(&name.text),
        ast::TableSourceKind::Join { left, right, .. } => {
            is_variable_named(left, name) || is_variable_named(right, name)
        }
        _ => false,
    }
}

/// Error 207 for each UPDATE(column) of a trigger whose table has no such column.
pub(super) fn unknown_updates(module: &ModuleDef, table: &TableDef) -> Vec<SqlError> {
    let tokens = lexer::tokenize(&module.text, module.quoted_identifier).unwrap_or_default();
    let asked = tokens.windows(4).filter_map(|t| {
        let is_call = t[0].tok == Tok::Kw(Kw::UPDATE) && t[1].tok == Tok::LParen && t[3].tok == Tok::RParen;
        let raw = module.text.get(t[2].start as usize..t[2].end as usize)?;
        let name = if t[2].tok == Tok::Quoted { lexer::unquote(raw) } else { raw.to_owned() };
        is_call.then_some((name, t[2].line))
    });
    let unknown = asked.filter(|(name, _)| !table.columns.iter().any(|c| crate::views::same(&c.name, name)));
    unknown
        .map(|(name, line)| *errors::located(keel_query::errors::invalid_column(&name), line, None))
        .collect()
}
