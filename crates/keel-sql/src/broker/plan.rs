//! The statements of conversations as a program keeps them: variables are slots, expressions are compiled when they first run.

use crate::program::captured::select_captured;
use crate::program::{Slot, Unit, UnitSource};
use keel_parser::ast::{self, Conversation, EndConversation, ReceiveFilter, Related, StatementKind};
use keel_types::error::Result;
use keel_types::{Length, SqlType};
use smol_str::SmolStr;

const GUID: SqlType = SqlType::UniqueIdentifier;
const NAME: SqlType = SqlType::NVarChar(Length::Max);

/// A statement.
#[derive(Debug)]
pub enum Plan {
    /// BEGIN DIALOG
    Begin(Dialog),
    /// SEND
    Send {
        /// On which conversations.
        handles: Vec<Unit>,
        /// MESSAGE TYPE
        message_type: Option<SmolStr>,
        /// The body, as it is written.
        body: Option<Unit>,
    },
    /// RECEIVE
    Receive(Receive),
    /// GET CONVERSATION GROUP
    GetGroup {
        /// Gets the group.
        group: Slot,
        /// From.
        queue: ast::ObjectName,
        /// WAITFOR
        wait: Option<Option<Unit>>,
    },
    /// END CONVERSATION
    End {
        /// Which.
        handle: Unit,
        /// WITH ERROR, DESCRIPTION
        error: Option<(Unit, Unit)>,
        /// WITH CLEANUP
        cleanup: bool,
    },
    /// MOVE CONVERSATION
    Move {
        /// Which.
        handle: Unit,
        /// Whither.
        group: Unit,
    },
    /// BEGIN CONVERSATION TIMER
    Timer {
        /// Which.
        handle: Unit,
        /// TIMEOUT
        seconds: Unit,
    },
}

/// BEGIN DIALOG
#[derive(Debug)]
pub struct Dialog {
    /// Gets the handle.
    pub handle: Slot,
    /// FROM SERVICE
    pub from: SmolStr,
    /// TO SERVICE
    pub to: Unit,
    /// The broker behind it.
    pub broker_instance: Option<Unit>,
    /// ON CONTRACT
    pub contract: Option<SmolStr>,
    /// RELATED_CONVERSATION; true for RELATED_CONVERSATION_GROUP
    pub related: Option<(bool, Unit)>,
    /// LIFETIME
    pub lifetime: Option<Unit>,
    /// ENCRYPTION
    pub encrypted: bool,
}

/// RECEIVE
#[derive(Debug)]
pub struct Receive {
    /// From.
    pub queue: ast::ObjectName,
    /// TOP
    pub top: Option<Unit>,
    /// What is done with the messages: a SELECT from them, or an INSERT.
    pub rows: Unit,
    /// It assigns variables.
    pub assigns: bool,
    /// It fills a table variable.
    pub into: bool,
    /// Assignments stand beside columns.
    pub mixed: bool,
    /// WHERE; true for the group.
    pub filter: Option<(bool, Unit)>,
    /// WAITFOR, with TIMEOUT
    pub wait: Option<Option<Unit>>,
}

impl Plan {
    /// From the tree; `slot` looks variables up.
    ///
    /// # Errors
    /// Those of `slot`.
    pub fn of(
        s: &Conversation,
        span: ast::Span,
        slot: &dyn Fn(&ast::Variable) -> Result<Slot>,
    ) -> Result<Plan> {
        let guid = |e: &ast::Expr| Unit::expr(e.clone(), Some(GUID));
        let patience = |wait: &Option<ast::Patience>| {
            wait.as_ref().map(|w| w.timeout.as_ref().map(|e| Unit::expr(e.clone(), Some(SqlType::BigInt))))
        };
        Ok(match s {
            Conversation::Begin(d) => Plan::Begin(Dialog {
                handle: slot(&d.handle)?,
                from: d.from.text.clone(),
                to: Unit::expr(d.to.clone(), Some(NAME)),
                broker_instance: d.broker_instance.as_ref().map(|e| Unit::expr(e.clone(), Some(NAME))),
                contract: d.contract.as_ref().map(|c| c.text.clone()),
                related: d.related.as_ref().map(|r| match r {
                    Related::Conversation(e) => (false, guid(e)),
                    Related::Group(e) => (true, guid(e)),
                }),
                lifetime: d.lifetime.as_ref().map(|e| Unit::expr(e.clone(), Some(SqlType::BigInt))),
                encrypted: d.encryption,
            }),
            Conversation::Send(send) => Plan::Send {
                handles: send.handles.iter().map(guid).collect(),
                message_type: send.message_type.as_ref().map(|t| t.text.clone()),
                body: send.body.as_ref().map(|e| Unit::expr(e.clone(), None)),
            },
            Conversation::Receive(r) => Plan::Receive(receive(r, span, patience(&r.wait))),
            Conversation::GetGroup { group, queue, wait } => {
                Plan::GetGroup { group: slot(group)?, queue: queue.clone(), wait: patience(wait) }
            }
            Conversation::End { handle, how } => Plan::End {
                handle: guid(handle),
                error: match how {
                    EndConversation::Error { code, description } => Some((
                        Unit::expr(code.clone(), Some(SqlType::Int)),
                        Unit::expr(description.clone(), Some(NAME)),
                    )),
                    _ => None,
                },
                cleanup: *how == EndConversation::Cleanup,
            },
            Conversation::Move { handle, group } => Plan::Move { handle: guid(handle), group: guid(group) },
            Conversation::Timer { handle, seconds } => Plan::Timer {
                handle: guid(handle),
                seconds: Unit::expr(seconds.clone(), Some(SqlType::BigInt)),
            },
        })
    }
}

fn receive(r: &ast::Receive, span: ast::Span, wait: Option<Option<Unit>>) -> Receive {
    let is_assigned = |i: &ast::SelectItem| matches!(i, ast::SelectItem::Assign { .. });
    let assigns = r.items.iter().any(is_assigned);
    Receive {
        queue: r.queue.clone(),
        top: r.top.as_ref().map(|top| Unit::expr(top.count.clone(), Some(SqlType::BigInt))),
        rows: Unit::new(UnitSource::Statement(statement(r, span))),
        assigns,
        into: r.into.is_some(),
        mixed: assigns && !r.items.iter().all(is_assigned),
        filter: r.filter.as_ref().map(|f| match f {
            ReceiveFilter::Handle(e) => (false, Unit::expr(e.clone(), Some(GUID))),
            ReceiveFilter::Group(e) => (true, Unit::expr(e.clone(), Some(GUID))),
        }),
        wait,
    }
}

/// `SELECT items FROM` the messages that were taken, or `INSERT @table SELECT …`.
fn statement(r: &ast::Receive, span: ast::Span) -> ast::Statement {
    let query = select_captured(span, r.items.clone());
    let kind = match &r.into {
        None => {
            StatementKind::Select(Box::new(ast::SelectStatement { with: None, query, options: Vec::new() }))
        }
        Some(table) => StatementKind::Insert(Box::new(ast::Insert {
            with: None,
            top: None,
            target: ast::DmlTarget { table: ast::TableRef::Variable(table.clone()), hints: Vec::new() },
            columns: Vec::new(),
            output: Vec::new(),
            source: ast::InsertSource::Query(Box::new(query)),
            options: Vec::new(),
        })),
    };
    ast::Statement { kind, span }
}
