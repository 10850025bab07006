//! What modules name: `sys.sql_expression_dependencies`, `sys.sysdepends`.
//!
//! Nothing is recorded when a module is made: its text is read when somebody asks. A name counts where a table, view,
//! procedure or function stands (behind FROM, JOIN, EXEC and their kin), and everywhere when it has a schema in front of it. So a
//! dependency shows before and after the object is there; columns are not told apart.

use super::{BIT, Column, DESC, INT, NAME, NULL, SMALL, SystemView, TINY, ViewContext, bit, int, text};
use crate::catalog::{fold, id_of};

use keel_parser::keyword::Kw;
use keel_parser::lexer::{self, Tok, Token};
use keel_query::catalog::{Catalog as _, ModuleDef, ModuleKind};
use keel_types::Value;
use smol_str::SmolStr;
use std::collections::HashSet;
use std::sync::Arc;

const DEPENDENCY: &[Column] = &[
    ("referencing_id", INT),
    ("referencing_minor_id", INT),
    ("referencing_class", TINY),
    ("referencing_class_desc", DESC),
    ("is_schema_bound_reference", BIT),
    ("referenced_class", TINY),
    ("referenced_class_desc", DESC),
    ("referenced_server_name", NAME),
    ("referenced_database_name", NAME),
    ("referenced_schema_name", NAME),
    ("referenced_entity_name", NAME),
    ("referenced_id", INT),
    ("referenced_minor_id", INT),
    ("is_caller_dependent", BIT),
    ("is_ambiguous", BIT),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "sql_expression_dependencies",
        columns: DEPENDENCY,
        rows: dependencies,
    },
    SystemView {
        schema: "sys",
        name: "sysdepends",
        columns: &[("id", INT), ("depid", INT), ("number", SMALL), ("depnumber", SMALL)],
        rows: |cx| {
            let known = references(cx, |_| true)
                .into_iter()
                .filter_map(|r| Some(vec![int(r.from), int(r.to?), int(0), int(0)]));
            known.collect()
        },
    },
];

/// A module's use of a name.
struct Reference {
    from: i32,
    /// The parts, the object's own name last.
    parts: Vec<String>,
    /// The object, when it is here.
    to: Option<i32>,
    /// The module is made WITH SCHEMABINDING.
    bound: bool,
}

fn dependencies(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let part = |r: &Reference, behind: usize| {
        let at = r.parts.len().checked_sub(behind + 1);
        at.map_or(NULL, |at| text(r.parts[at].as_str()))
    };
    let row = |r: Reference| -> Vec<Value> {
        let mut row = vec![int(r.from), int(0), int(1), text("OBJECT_OR_COLUMN"), bit(r.bound), int(1)];
        row.extend([text("OBJECT_OR_COLUMN"), part(&r, 3), part(&r, 2), part(&r, 1), part(&r, 0)]);
        row.extend([r.to.map_or(NULL, int), int(0), bit(r.parts.len() == 1), bit(false)]);
        row
    };
    let mut rows: Vec<Vec<Value>> = references(cx, |_| true).into_iter().map(row).collect();
    rows.extend(super::policies::dependencies(cx));
    rows
}

/// What the modules that are asked for name, as far as the session sees modules and objects.
fn references(cx: &ViewContext<'_>, asked: impl Fn(&ModuleDef) -> bool) -> Vec<Reference> {
    let picture = &cx.picture;
    let mut found: Vec<Reference> = Vec::new();
    for module in picture.modules().filter(|m| asked(m)) {
        let bound = crate::modules::is_schema_bound(module);
        let first = found.len();
        for (parts, stands_for_object) in names_in(module) {
            let schema = match &parts[..] {
                [database, schema, _] if fold(database) == fold(&cx.entry.name()) => {
                    picture.schema_id(schema)
                }
                [schema, _] => picture.schema_id(schema),
                [_] => Some(module.schema_id),
                _ => None,
            };
            let name = parts.last().map_or("", String::as_str);
            let by_name = |schema: i32| picture.named(schema, name).map(|named| id_of(&named));
            let to = schema
                .and_then(by_name)
                .or_else(|| if parts.len() == 1 { by_name(crate::catalog::DBO) } else { None });
            // `a.b` is mostly a column, and a single unknown name a common table expression.
            let is_reference = to.is_some() || (stands_for_object && parts.len() > 1);
            let seen = || found[first..].iter().any(|r| r.parts == parts);
            if is_reference && to != Some(module.object_id) && !seen() {
                found.push(Reference { from: module.object_id, parts, to, bound });
            }
        }
    }
    found
}

/// Each view with each table or view that its text names.
pub(super) fn tables_of_views(cx: &ViewContext<'_>) -> Vec<(Arc<ModuleDef>, i32)> {
    let is_table = |id: i32| {
        cx.picture.stored_by_id(id).is_some()
            || cx.picture.module_by_id(id).is_some_and(|m| m.kind == ModuleKind::View)
    };
    let mut found = Vec::new();
    for r in references(cx, |m| m.kind == ModuleKind::View) {
        let view = cx.picture.module_by_id(r.from).filter(|m| m.kind == ModuleKind::View);
        if let (Some(view), Some(to)) = (view, r.to.filter(|to| is_table(*to)))
            && !found.iter().any(|(v, t): &(Arc<ModuleDef>, i32)| v.object_id == r.from && *t == to)
        {
            found.push((Arc::clone(view), to));
        }
    }
    found
}

/// The words of a view's text that may be columns.
pub(super) struct ColumnNames {
    words: HashSet<SmolStr>,
    /// It has a `*` where columns are listed.
    all: bool,
}

impl ColumnNames {
    /// Whether a column of this name may be meant.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all || self.words.contains(&fold(name))
    }
}

/// What a view's text names: a column of a table that it uses is one of them, if it is used.
pub(super) fn names_of_columns(view: &ModuleDef) -> ColumnNames {
    let tokens = lexer::tokenize(&view.text, view.quoted_identifier).unwrap_or_default();
    let words = tokens.iter().filter(|t| is_name(t)).map(|t| fold(&word_of(view, t))).collect();
    let selects = |at: &usize| tokens[*at].tok == Tok::Kw(Kw::SELECT);
    let first = (0..tokens.len()).filter(selects).any(|at| begins_with_star(&tokens[at + 1..]));
    let lists = |before: &Token| matches!(before.tok, Tok::Comma | Tok::Dot);
    let all = first || tokens.windows(2).any(|w| w[1].tok == Tok::Star && lists(&w[0]));
    ColumnNames { words, all }
}

/// Whether the list behind SELECT begins with a `*`, behind ALL, DISTINCT and TOP.
fn begins_with_star(behind: &[Token]) -> bool {
    let mut at = 0;
    let is = |at: usize, tok: Tok| behind.get(at).is_some_and(|t| t.tok == tok);
    if is(at, Tok::Kw(Kw::ALL)) || is(at, Tok::Kw(Kw::DISTINCT)) {
        at += 1;
    }
    if is(at, Tok::Kw(Kw::TOP)) {
        at += 1;
        if is(at, Tok::LParen) {
            let end = behind[at..].iter().position(|t| t.tok == Tok::RParen);
            at += end.unwrap_or_default();
        }
        at += 1;
        at += usize::from(is(at, Tok::Kw(Kw::PERCENT)));
        // WITH TIES
        at += if is(at, Tok::Kw(Kw::WITH)) { 2 } else { 0 };
    }
    is(at, Tok::Star)
}

/// The word that a token is, without its quotes.
fn word_of(module: &ModuleDef, t: &Token) -> String {
    let raw = module.text.get(t.start as usize..t.end as usize).unwrap_or_default();
    if t.tok == Tok::Quoted { lexer::unquote(raw) } else { raw.to_owned() }
}

/// The names in a module's text, in parts, and whether each stands where only an object can.
fn names_in(module: &ModuleDef) -> Vec<(Vec<String>, bool)> {
    let tokens = lexer::tokenize(&module.text, module.quoted_identifier).unwrap_or_default();
    let word = |t: &Token| word_of(module, t);
    let mut names = Vec::new();
    let mut at = 0;
    // Whether a list of tables is going on, here and around the parentheses that are open.
    let (mut lists_tables, mut around) = (false, Vec::new());
    while at < tokens.len() {
        if !is_name(&tokens[at]) {
            match tokens[at].tok {
                Tok::LParen => around.push(lists_tables),
                Tok::RParen => lists_tables = around.pop().unwrap_or_default(),
                Tok::Kw(Kw::FROM | Kw::JOIN) => lists_tables = true,
                Tok::Kw(
                    Kw::SELECT
                    | Kw::WHERE
                    | Kw::GROUP
                    | Kw::HAVING
                    | Kw::ORDER
                    | Kw::ON
                    | Kw::UNION
                    | Kw::SET,
                ) => {
                    lists_tables = false;
                }
                _ => {}
            }
            at += 1;
            continue;
        }
        let begin = at;
        let mut parts = vec![word(&tokens[at])];
        while let [dot, next, ..] = &tokens[(at + 1).min(tokens.len())..]
            && dot.tok == Tok::Dot
            && is_name(next)
        {
            parts.push(word(next));
            at += 2;
        }
        at += 1;
        let in_list = begin > 0 && matches!(tokens[begin - 1].tok, Tok::Comma | Tok::LParen);
        let stands_for_object = stands_for_object(&tokens[..begin]) || lists_tables && in_list;
        if !parts[0].starts_with('#') && (stands_for_object || parts.len() > 1) {
            names.push((parts, stands_for_object));
        }
    }
    names
}

fn is_name(token: &Token) -> bool {
    matches!(token.tok, Tok::Word | Tok::Quoted)
}

/// Whether an object is named behind these tokens.
fn stands_for_object(before: &[Token]) -> bool {
    let opens = |token: &Token| {
        matches!(
            token.tok,
            Tok::Kw(
                Kw::FROM
                    | Kw::JOIN
                    | Kw::INTO
                    | Kw::UPDATE
                    | Kw::EXEC
                    | Kw::EXECUTE
                    | Kw::MERGE
                    | Kw::TABLE
                    | Kw::DELETE
                    | Kw::INSERT
            )
        )
    };
    match before {
        // EXEC @status = name
        [.., exec, variable, equals] if variable.tok == Tok::Variable && equals.tok == Tok::Eq => {
            matches!(exec.tok, Tok::Kw(Kw::EXEC | Kw::EXECUTE))
        }
        [.., last] => opens(last),
        [] => false,
    }
}
