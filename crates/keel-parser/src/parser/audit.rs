//! CREATE, ALTER and DROP of server audits and audit specifications.

use super::Parser;
use crate::ast::{
    AuditAction, AuditPart, AuditPredicate, AuditSpecificationAction, AuditStatement, AuditTarget,
    AuditedActions, Opt, OptValue, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    /// Behind its verb, a statement about audits; `None` when it is about something else.
    pub(super) fn audit_statement(&mut self, verb: &'static str) -> Result<Option<StatementKind>> {
        let statement = if self.eat_words(&["SERVER", "AUDIT", "SPECIFICATION"]) {
            self.audit_specification(false, verb)?
        } else if self.eat_words(&["DATABASE", "AUDIT", "SPECIFICATION"]) {
            self.audit_specification(true, verb)?
        } else if self.eat_words(&["SERVER", "AUDIT"]) {
            let name = self.ident()?;
            let action = match verb {
                "CREATE" => self.create_audit()?,
                "ALTER" => self.alter_audit()?,
                _ => AuditAction::Drop,
            };
            AuditStatement::Audit { name, action }
        } else {
            return Ok(None);
        };
        Ok(Some(StatementKind::Audit(Box::new(statement))))
    }

    fn create_audit(&mut self) -> Result<AuditAction> {
        let Some(to) = self.audit_target()? else { return Err(self.unexpected()) };
        let options = self.audit_options()?;
        Ok(AuditAction::Create { to, options, predicate: self.audit_predicate()? })
    }

    fn alter_audit(&mut self) -> Result<AuditAction> {
        if self.eat_word("REMOVE") {
            self.expect_kw(Kw::WHERE)?;
            return Ok(AuditAction::RemoveWhere);
        }
        if self.eat_words(&["MODIFY", "NAME"]) {
            self.expect(Tok::Eq)?;
            return Ok(AuditAction::Rename(self.ident()?));
        }
        let to = self.audit_target()?;
        let options = self.audit_options()?;
        let predicate = self.audit_predicate()?;
        if to.is_none() && options.is_empty() && predicate.is_none() {
            return Err(self.unexpected());
        }
        Ok(AuditAction::Alter { to, options, predicate })
    }

    fn audit_target(&mut self) -> Result<Option<AuditTarget>> {
        if !self.eat_kw(Kw::TO) {
            return Ok(None);
        }
        let kind = self.upper_word()?;
        let options = if self.tok() == Tok::LParen { self.audit_option_list()? } else { Vec::new() };
        Ok(Some(AuditTarget { kind, options }))
    }

    fn audit_options(&mut self) -> Result<Vec<Opt>> {
        if self.eat_kw(Kw::WITH) { self.audit_option_list() } else { Ok(Vec::new()) }
    }

    /// `( name = value, … )`: sizes have units.
    fn audit_option_list(&mut self) -> Result<Vec<Opt>> {
        let options = self.options_in_parentheses()?;
        let is_value =
            |o: &Opt| !matches!(o.value, OptValue::None | OptValue::List(_) | OptValue::WordList(..));
        if options.is_empty() || !options.iter().all(is_value) {
            return Err(self.unexpected());
        }
        Ok(options)
    }

    fn audit_predicate(&mut self) -> Result<Option<Box<AuditPredicate>>> {
        if !self.eat_kw(Kw::WHERE) {
            return Ok(None);
        }
        let start = self.span();
        let condition = self.event_predicate()?;
        let text = SmolStr::new(self.since(start).text(self.text));
        Ok(Some(Box::new(AuditPredicate { condition, text })))
    }

    // ---- specifications ----

    fn audit_specification(&mut self, database: bool, verb: &'static str) -> Result<AuditStatement> {
        let name = self.ident()?;
        if verb == "DROP" {
            return Ok(AuditStatement::Specification {
                database,
                name,
                action: AuditSpecificationAction::Drop,
            });
        }
        let audit = if self.eat_kw(Kw::FOR) {
            self.expect_word("SERVER")?;
            self.expect_word("AUDIT")?;
            Some(self.ident()?)
        } else {
            None
        };
        let parts = self.audit_parts(verb == "ALTER")?;
        let state = self.audit_state()?;
        let action = match (verb, audit) {
            ("CREATE", Some(audit)) => AuditSpecificationAction::Create { audit, parts, state },
            ("ALTER", audit) if audit.is_some() || !parts.is_empty() || state.is_some() => {
                AuditSpecificationAction::Alter { audit, parts, state }
            }
            _ => return Err(self.unexpected()),
        };
        Ok(AuditStatement::Specification { database, name, action })
    }

    fn audit_state(&mut self) -> Result<Option<bool>> {
        if !self.eat_kw(Kw::WITH) {
            return Ok(None);
        }
        match self.options_in_parentheses()?.as_slice() {
            [Opt { name, value: OptValue::On, .. }] if name == "STATE" => Ok(Some(true)),
            [Opt { name, value: OptValue::Off, .. }] if name == "STATE" => Ok(Some(false)),
            _ => Err(self.unexpected()),
        }
    }

    /// `ADD ( … ), DROP ( … )`; commas between them may be left out.
    fn audit_parts(&mut self, drops: bool) -> Result<Vec<AuditPart>> {
        let mut parts = Vec::new();
        loop {
            let drop = drops && self.at_kw(Kw::DROP) && self.tok_ahead(1) == Tok::LParen;
            if !drop && !self.at_kw(Kw::ADD) {
                return Ok(parts);
            }
            self.bump();
            self.expect(Tok::LParen)?;
            let what = self.audited_actions()?;
            self.expect(Tok::RParen)?;
            parts.push(AuditPart { add: !drop, what });
            self.eat(Tok::Comma);
        }
    }

    fn audited_actions(&mut self) -> Result<AuditedActions> {
        let first = self.any_word()?;
        if self.tok() == Tok::RParen {
            return Ok(AuditedActions::Group(first));
        }
        let mut actions = vec![SmolStr::from(first.text.to_uppercase())];
        while self.eat(Tok::Comma) {
            actions.push(self.upper_word()?);
        }
        self.expect_kw(Kw::ON)?;
        let class = if self.tok_ahead(1) == Tok::DoubleColon {
            let class = self.upper_word()?;
            self.bump();
            Some(class)
        } else {
            None
        };
        let name = Box::new(self.object_name()?);
        self.expect_kw(Kw::BY)?;
        Ok(AuditedActions::On { actions, class, name, by: self.list(Self::any_word)? })
    }
}
