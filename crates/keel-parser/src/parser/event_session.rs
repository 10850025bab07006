//! CREATE, ALTER and DROP EVENT SESSION.

use super::Parser;
use crate::ast::{
    EventPredicate, EventSessionAction, EventSessionChange, EventSessionStatement, Opt, OptValue,
    SessionEvent, SessionTarget, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// Behind `verb EVENT SESSION`.
    pub(super) fn event_session(&mut self, verb: &'static str) -> Result<StatementKind> {
        let name = self.ident()?;
        self.expect_kw(Kw::ON)?;
        let on_database = self.eat_kw(Kw::DATABASE);
        if !on_database {
            self.expect_word("SERVER")?;
        }
        let action = match verb {
            "CREATE" => self.create_event_session()?,
            "ALTER" => self.alter_event_session()?,
            _ => EventSessionAction::Drop,
        };
        Ok(StatementKind::EventSession(Box::new(EventSessionStatement { name, on_database, action })))
    }

    fn create_event_session(&mut self) -> Result<EventSessionAction> {
        let changes = self.event_session_changes(false)?;
        if changes.is_empty() {
            return Err(self.unexpected());
        }
        let options = self.with_event_session_options()?;
        Ok(EventSessionAction::Create { changes, options })
    }

    fn alter_event_session(&mut self) -> Result<EventSessionAction> {
        let changes = self.event_session_changes(true)?;
        let options = self.with_event_session_options()?;
        let mut state = None;
        if self.eat_word("STATE") {
            self.expect(Tok::Eq)?;
            let Some(word) = self.one_of(&["START", "STOP"]) else { return Err(self.unexpected()) };
            state = Some(word == "START");
        }
        if changes.is_empty() && options.is_empty() && state.is_none() {
            return Err(self.unexpected());
        }
        Ok(EventSessionAction::Alter { changes, options, state })
    }

    /// `ADD EVENT …, DROP TARGET …`; commas between them may be left out.
    fn event_session_changes(&mut self, drops: bool) -> Result<Vec<EventSessionChange>> {
        let mut changes = Vec::new();
        loop {
            let of_session = self.word_ahead(1, "EVENT") || self.word_ahead(1, "TARGET");
            let drop = drops && self.at_kw(Kw::DROP) && of_session && !self.word_ahead(2, "SESSION");
            if !drop && !self.at_kw(Kw::ADD) {
                return Ok(changes);
            }
            self.bump();
            let Some(what) = self.one_of(&["EVENT", "TARGET"]) else { return Err(self.unexpected()) };
            changes.push(match (drop, what) {
                (false, "EVENT") => EventSessionChange::AddEvent(self.session_event()?),
                (false, _) => EventSessionChange::AddTarget(self.session_target()?),
                (true, "EVENT") => EventSessionChange::DropEvent(self.object_name()?),
                (true, _) => EventSessionChange::DropTarget(self.object_name()?),
            });
            self.eat(Tok::Comma);
        }
    }

    fn session_event(&mut self) -> Result<SessionEvent> {
        let start = self.span();
        let name = self.object_name()?;
        let mut event = SessionEvent {
            name,
            settings: Vec::new(),
            actions: Vec::new(),
            predicate: None,
            span: self.since(start),
        };
        if self.eat(Tok::LParen) {
            if self.eat_kw(Kw::SET) {
                event.settings = self.list(Self::event_setting)?;
            }
            if self.eat_word("ACTION") {
                event.actions = self.parenthesized_list(Self::object_name)?;
            }
            if self.eat_kw(Kw::WHERE) {
                event.predicate = Some(self.event_predicate()?);
            }
            self.expect(Tok::RParen)?;
        }
        event.span = self.since(start);
        Ok(event)
    }

    fn session_target(&mut self) -> Result<SessionTarget> {
        let name = self.object_name()?;
        let mut settings = Vec::new();
        if self.eat(Tok::LParen) {
            self.expect_kw(Kw::SET)?;
            settings = self.list(Self::event_setting)?;
            self.expect(Tok::RParen)?;
        }
        Ok(SessionTarget { name, settings })
    }

    /// `name = value`, where the value may stand in parentheses. Names keep how they are written.
    fn event_setting(&mut self) -> Result<Opt> {
        let start = self.span();
        let name = self.any_word()?.text;
        self.expect(Tok::Eq)?;
        let mut open = 0;
        while self.eat(Tok::LParen) {
            open += 1;
        }
        let value = self.option_value_alone()?;
        for _ in 0..open {
            self.expect(Tok::RParen)?;
        }
        Ok(Opt { name, value, span: self.since(start) })
    }

    fn option_value_alone(&mut self) -> Result<OptValue> {
        if self.at_string() {
            return Ok(OptValue::String(self.string()?));
        }
        if self.at_ident() {
            return Ok(OptValue::Word(self.ident()?));
        }
        match self.expr()?.kind {
            crate::ast::ExprKind::Literal(number) => Ok(OptValue::Number(number)),
            _ => Err(self.unexpected()),
        }
    }

    fn with_event_session_options(&mut self) -> Result<Vec<Opt>> {
        if self.eat_kw(Kw::WITH) { self.options_in_parentheses() } else { Ok(Vec::new()) }
    }

    // ---- predicates ----

    pub(super) fn event_predicate(&mut self) -> Result<EventPredicate> {
        self.nested(|p| {
            let mut terms = vec![p.event_terms()?];
            while p.eat_kw(Kw::OR) {
                terms.push(p.event_terms()?);
            }
            Ok(if terms.len() == 1 { terms.remove(0) } else { EventPredicate::Or(terms) })
        })
    }

    fn event_terms(&mut self) -> Result<EventPredicate> {
        let mut terms = vec![self.event_factor()?];
        while self.eat_kw(Kw::AND) {
            terms.push(self.event_factor()?);
        }
        Ok(if terms.len() == 1 { terms.remove(0) } else { EventPredicate::And(terms) })
    }

    fn event_factor(&mut self) -> Result<EventPredicate> {
        if self.eat_kw(Kw::NOT) {
            return Ok(EventPredicate::Not(Box::new(self.nested(Self::event_factor)?)));
        }
        if self.eat(Tok::LParen) {
            let inner = self.event_predicate()?;
            self.expect(Tok::RParen)?;
            return Ok(inner);
        }
        let source = self.object_name()?;
        if self.eat(Tok::LParen) {
            let comparator = source;
            let source = self.object_name()?;
            self.expect(Tok::Comma)?;
            let value = self.expr()?;
            self.expect(Tok::RParen)?;
            return Ok(EventPredicate::Call { comparator, source, value });
        }
        if self.eat_kw(Kw::LIKE) {
            return Ok(EventPredicate::Like { source, pattern: self.expr()? });
        }
        let Some(op) = self.compare_op() else { return Err(self.unexpected()) };
        Ok(EventPredicate::Compare { source, op, value: self.expr()? })
    }
}
