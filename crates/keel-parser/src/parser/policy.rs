//! CREATE and ALTER SECURITY POLICY.

use super::Parser;
use crate::ast::{
    BlockOperation, Expr, ExprKind, PredicateChange, PredicateVerb, SecurityPolicy, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// Behind `CREATE SECURITY POLICY` or `ALTER SECURITY POLICY`.
    pub(super) fn security_policy(&mut self, alter: bool) -> Result<StatementKind> {
        let mut policy = SecurityPolicy {
            alter,
            name: self.object_name()?,
            changes: Vec::new(),
            state: None,
            schema_binding: None,
            not_for_replication: None,
        };
        loop {
            let start = self.span();
            let Some(verb) = self.predicate_verb(alter) else { break };
            if verb != PredicateVerb::Alter && self.not_for_replication()? {
                policy.not_for_replication = Some(verb == PredicateVerb::Add);
            } else {
                policy.changes.push(self.predicate_change(verb, start)?);
            }
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        if self.at_kw(Kw::WITH) {
            self.policy_options(&mut policy)?;
        }
        if self.not_for_replication()? {
            policy.not_for_replication = Some(true);
        }
        Ok(StatementKind::SecurityPolicy(Box::new(policy)))
    }

    fn predicate_verb(&mut self, alter: bool) -> Option<PredicateVerb> {
        let verb = match self.tok() {
            Tok::Kw(Kw::ADD) => PredicateVerb::Add,
            Tok::Kw(Kw::ALTER) if alter && self.predicate_ahead() => PredicateVerb::Alter,
            Tok::Kw(Kw::DROP) if alter && self.predicate_ahead() => PredicateVerb::Drop,
            _ => return None,
        };
        self.bump();
        Some(verb)
    }

    /// Whether what is behind the verb is a predicate, and not another statement's object.
    fn predicate_ahead(&self) -> bool {
        ["FILTER", "BLOCK"].iter().any(|w| self.word_ahead(1, w)) || self.tok_ahead(1) == Tok::Kw(Kw::NOT)
    }

    fn predicate_change(&mut self, verb: PredicateVerb, start: crate::ast::Span) -> Result<PredicateChange> {
        let block = self.one_of(&["FILTER", "BLOCK"]) == Some("BLOCK");
        self.expect_word("PREDICATE")?;
        let call = if verb == PredicateVerb::Drop { None } else { Some(self.predicate_call()?) };
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let operation = self.block_operation()?;
        if !block && operation.is_some() {
            return Err(self.error(102, "Incorrect syntax near 'BEFORE/AFTER'."));
        }
        Ok(PredicateChange { verb, block, call, table, operation, span: self.since(start) })
    }

    fn predicate_call(&mut self) -> Result<Expr> {
        let at = self.at;
        let call = self.expr()?;
        if matches!(call.kind, ExprKind::Function(_)) { Ok(call) } else { Err(self.unexpected_at(at)) }
    }

    fn block_operation(&mut self) -> Result<Option<BlockOperation>> {
        let after = match self.one_of(&["AFTER", "BEFORE"]) {
            None => return Ok(None),
            Some(word) => word == "AFTER",
        };
        let operation = match (after, self.tok()) {
            (true, Tok::Kw(Kw::INSERT)) => BlockOperation::AfterInsert,
            (true, Tok::Kw(Kw::UPDATE)) => BlockOperation::AfterUpdate,
            (false, Tok::Kw(Kw::UPDATE)) => BlockOperation::BeforeUpdate,
            (false, Tok::Kw(Kw::DELETE)) => BlockOperation::BeforeDelete,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(Some(operation))
    }

    fn policy_options(&mut self, policy: &mut SecurityPolicy) -> Result<()> {
        let at = self.at;
        for option in self.with_options()? {
            let value = match option.value.text() {
                Some("ON") => true,
                Some("OFF") => false,
                _ => return Err(self.unexpected_at(at + 2)),
            };
            let place = match option.name.as_str() {
                "STATE" => &mut policy.state,
                "SCHEMABINDING" if !policy.alter => &mut policy.schema_binding,
                _ => return Err(self.unexpected_at(at + 2)),
            };
            if place.replace(value).is_some() {
                let text =
                    format!("Option '{}' is specified more than once.", option.name.to_ascii_uppercase());
                return Err(self.error(1039, text));
            }
        }
        Ok(())
    }
}
