//! RESOURCE POOL, WORKLOAD GROUP and ALTER RESOURCE GOVERNOR.

use super::Parser;
use crate::ast::{
    GovernorAction, GovernorSetting, GovernorStatement, Ident, Opt, OptValue, PoolAffinity, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

const POOL_OPTIONS: [&str; 7] = [
    "MIN_CPU_PERCENT",
    "MAX_CPU_PERCENT",
    "CAP_CPU_PERCENT",
    "MIN_MEMORY_PERCENT",
    "MAX_MEMORY_PERCENT",
    "MIN_IOPS_PER_VOLUME",
    "MAX_IOPS_PER_VOLUME",
];

const GROUP_OPTIONS: [&str; 6] = [
    "IMPORTANCE",
    "REQUEST_MAX_MEMORY_GRANT_PERCENT",
    "REQUEST_MAX_CPU_TIME_SEC",
    "REQUEST_MEMORY_GRANT_TIMEOUT_SEC",
    "MAX_DOP",
    "GROUP_MAX_REQUESTS",
];

impl Parser<'_> {
    /// Behind CREATE, ALTER or DROP: a statement of the resource governor, if it is one.
    pub(super) fn governor_statement(&mut self, verb: &str) -> Result<Option<StatementKind>> {
        let statement = if self.eat_words(&["RESOURCE", "POOL"]) {
            match verb {
                "DROP" => GovernorStatement::DropPool(self.ident()?),
                _ => self.resource_pool(verb == "ALTER")?,
            }
        } else if self.eat_words(&["WORKLOAD", "GROUP"]) {
            match verb {
                "DROP" => GovernorStatement::DropGroup(self.ident()?),
                _ => self.workload_group(verb == "ALTER")?,
            }
        } else if verb == "ALTER" && self.eat_words(&["RESOURCE", "GOVERNOR"]) {
            GovernorStatement::Governor(self.governor_action()?)
        } else {
            return Ok(None);
        };
        Ok(Some(StatementKind::Governor(Box::new(statement))))
    }

    fn resource_pool(&mut self, alter: bool) -> Result<GovernorStatement> {
        let name = self.ident()?;
        let (mut options, mut affinity) = (Vec::new(), None);
        if self.eat_kw(Kw::WITH) {
            self.expect(Tok::LParen)?;
            loop {
                if self.eat_word("AFFINITY") {
                    affinity = Some(self.pool_affinity()?);
                } else {
                    options.push(self.governor_option(&POOL_OPTIONS)?);
                }
                // The comma may be left out.
                if !self.eat(Tok::Comma) && self.tok() == Tok::RParen {
                    break;
                }
            }
            self.expect(Tok::RParen)?;
        } else if alter {
            return Err(self.unexpected());
        }
        Ok(GovernorStatement::Pool { alter, name, options, affinity })
    }

    fn workload_group(&mut self, alter: bool) -> Result<GovernorStatement> {
        let name = self.ident()?;
        let mut options = None;
        if self.eat_kw(Kw::WITH) {
            self.expect(Tok::LParen)?;
            let mut list = Vec::new();
            loop {
                list.push(self.governor_option(&GROUP_OPTIONS)?);
                if !self.eat(Tok::Comma) && self.tok() == Tok::RParen {
                    break;
                }
            }
            self.expect(Tok::RParen)?;
            options = Some(list);
        }
        let (mut pool, mut external_pool) = (None, None);
        if self.eat_word("USING") {
            if !self.at_word("EXTERNAL") {
                pool = Some(self.ident()?);
            }
            let more = self.eat(Tok::Comma);
            if self.eat_word("EXTERNAL") {
                external_pool = Some(self.ident()?);
            } else if more || pool.is_none() {
                return Err(self.unexpected());
            }
        }
        Ok(GovernorStatement::Group { alter, name, options, pool, external_pool })
    }

    /// `NAME = value`, of one of these names. A value is a number or a word.
    fn governor_option(&mut self, names: &[&'static str]) -> Result<Opt> {
        let start = self.span();
        let Some(name) = self.one_of(names) else { return Err(self.unexpected()) };
        self.expect(Tok::Eq)?;
        let value = if name == "IMPORTANCE" {
            let at = self.span();
            let Some(word) = self.one_of(&["LOW", "MEDIUM", "HIGH"]) else { return Err(self.unexpected()) };
            OptValue::Word(Ident { text: SmolStr::new_static(word), quoted: false, span: self.since(at) })
        } else {
            OptValue::Number(self.signed_literal()?)
        };
        Ok(Opt { name: SmolStr::new_static(name), value, span: self.since(start) })
    }

    /// Behind AFFINITY.
    fn pool_affinity(&mut self) -> Result<PoolAffinity> {
        let Some(kind) = self.one_of(&["SCHEDULER", "NUMANODE"]) else { return Err(self.unexpected()) };
        self.expect(Tok::Eq)?;
        if kind == "SCHEDULER" && self.eat_word("AUTO") {
            return Ok(PoolAffinity::Auto);
        }
        self.expect(Tok::LParen)?;
        let ranges = self.list(Self::affinity_range)?;
        self.expect(Tok::RParen)?;
        let all = if kind == "SCHEDULER" { PoolAffinity::Schedulers } else { PoolAffinity::Nodes };
        Ok(all(ranges))
    }

    fn affinity_range(&mut self) -> Result<(i64, i64)> {
        let from = self.whole_number()?;
        let to = if self.eat_kw(Kw::TO) { self.whole_number()? } else { from };
        Ok((from, to))
    }

    fn whole_number(&mut self) -> Result<i64> {
        let at = self.at;
        let number = self.signed_literal()?;
        number.as_i64().ok_or_else(|| self.unexpected_at(at))
    }

    /// Behind ALTER RESOURCE GOVERNOR.
    fn governor_action(&mut self) -> Result<GovernorAction> {
        if self.eat_kw(Kw::RECONFIGURE) {
            return Ok(GovernorAction::Reconfigure);
        }
        if self.eat_word("DISABLE") {
            return Ok(GovernorAction::Disable);
        }
        if self.eat_words(&["RESET", "STATISTICS"]) {
            return Ok(GovernorAction::ResetStatistics);
        }
        if !self.eat_kw(Kw::WITH) {
            return Err(self.unexpected());
        }
        self.expect(Tok::LParen)?;
        let settings = self.list(Self::governor_setting)?;
        self.expect(Tok::RParen)?;
        Ok(GovernorAction::Set(settings))
    }

    fn governor_setting(&mut self) -> Result<GovernorSetting> {
        let name = self.one_of(&["CLASSIFIER_FUNCTION", "MAX_OUTSTANDING_IO_PER_VOLUME"]);
        let Some(name) = name else { return Err(self.unexpected()) };
        self.expect(Tok::Eq)?;
        Ok(match name {
            "CLASSIFIER_FUNCTION" if self.eat_kw(Kw::NULL) => GovernorSetting::Classifier(None),
            "CLASSIFIER_FUNCTION" => GovernorSetting::Classifier(Some(self.object_name()?)),
            _ if self.eat_kw(Kw::DEFAULT) => GovernorSetting::OutstandingIo(None),
            _ => GovernorSetting::OutstandingIo(Some(self.whole_number()?)),
        })
    }
}
