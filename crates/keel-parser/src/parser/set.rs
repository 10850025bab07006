//! SET: variables and the options of a session.

use super::Parser;
use super::query::assign_op;
use crate::ast::{AssignOp, Expr, ExprKind, Isolation, SetOption, SetValue, SetVariable, StatementKind};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

/// Options that take a value rather than ON or OFF.
const VALUE_OPTIONS: [&str; 11] = [
    "ROWCOUNT",
    "LOCK_TIMEOUT",
    "DATEFORMAT",
    "DATEFIRST",
    "LANGUAGE",
    "DEADLOCK_PRIORITY",
    "TEXTSIZE",
    "QUERY_GOVERNOR_COST_LIMIT",
    "CONTEXT_INFO",
    "FIPS_FLAGGER",
    "ERRLVL",
];

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn set_statement(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::SET)?;
        if self.tok() == Tok::Variable {
            return Ok(StatementKind::SetVariable(Box::new(self.set_variable()?)));
        }
        Ok(StatementKind::SetOption(Box::new(self.set_option()?)))
    }

    fn set_variable(&mut self) -> Result<SetVariable> {
        let variable = self.variable()?;
        if self.eat(Tok::Dot) || self.eat(Tok::DoubleColon) {
            let method = self.any_word()?;
            if self.tok() == Tok::LParen {
                let span = variable.span;
                let target = Box::new(Expr { kind: ExprKind::Variable(variable.name.clone()), span });
                let kind = ExprKind::Mutated { target, method, args: self.call_args()? };
                let value = Expr { kind, span: self.since(span) };
                return Ok(SetVariable { variable, value: SetValue::Expr { op: AssignOp::Set, value } });
            }
            self.expect(Tok::Eq)?;
            self.expr()?;
            return Ok(SetVariable { variable, value: SetValue::Property { name: method } });
        }
        let Some(op) = assign_op(self.tok()) else { return Err(self.unexpected()) };
        self.bump();
        let value = if self.at_kw(Kw::CURSOR) {
            SetValue::Cursor(Box::new(self.cursor_definition()?))
        } else {
            SetValue::Expr { op, value: self.expr()? }
        };
        Ok(SetVariable { variable, value })
    }

    fn set_option(&mut self) -> Result<SetOption> {
        if self.at_kw(Kw::TRANSACTION) || self.at_kw(Kw::TRAN) {
            self.bump();
            self.expect_words(&["ISOLATION", "LEVEL"])?;
            return Ok(SetOption::TransactionIsolation(self.isolation()?));
        }
        if self.eat_kw(Kw::IDENTITY_INSERT) {
            let table = self.object_name()?;
            return Ok(SetOption::IdentityInsert { table, on: self.on_off()? });
        }
        if self.eat_kw(Kw::STATISTICS) {
            let names = self.list(Self::statistics_name)?;
            return Ok(SetOption::Statistics { names, on: self.on_off()? });
        }
        if self.eat_kw(Kw::OFFSETS) {
            self.list(Self::upper_word)?;
            return Ok(SetOption::Offsets { on: self.on_off()? });
        }
        let value_option = VALUE_OPTIONS.iter().copied().find(|name| self.at_word(name));
        if let Some(name) = value_option {
            self.bump();
            return Ok(SetOption::Value {
                name: SmolStr::new_static(name),
                value: self.option_word_or_value()?,
            });
        }
        let names = self.list(Self::switch_name)?;
        Ok(SetOption::Switches { names, on: self.on_off()? })
    }

    /// What SET STATISTICS shows.
    fn statistics_name(&mut self) -> Result<SmolStr> {
        let found = self.one_of(&["IO", "PROFILE", "TIME", "XML"]);
        found.map(SmolStr::new_static).ok_or_else(|| self.unexpected())
    }

    /// The name of an ON/OFF option; what is none is error 195.
    fn switch_name(&mut self) -> Result<SmolStr> {
        let token = self.token();
        let name = self.upper_word()?;
        if SWITCHES.contains(&name.as_str()) {
            return Ok(name);
        }
        let raw = self.raw(token);
        Err(crate::ParseError::new(195, token.line, format!("'{raw}' is not a recognized SET option.")))
    }

    /// A word (as a string literal), a literal or a variable.
    fn option_word_or_value(&mut self) -> Result<Expr> {
        match self.tok() {
            Tok::Word | Tok::Quoted | Tok::Kw(Kw::OFF) => Ok(Self::word_as_string(self.take_ident())),
            _ => self.simple_value(),
        }
    }

    fn isolation(&mut self) -> Result<Isolation> {
        if self.eat_words(&["READ", "UNCOMMITTED"]) {
            return Ok(Isolation::ReadUncommitted);
        }
        if self.eat_words(&["READ", "COMMITTED"]) {
            return Ok(Isolation::ReadCommitted);
        }
        if self.eat_words(&["REPEATABLE", "READ"]) {
            return Ok(Isolation::RepeatableRead);
        }
        match self.one_of(&["SNAPSHOT", "SERIALIZABLE"]) {
            Some("SNAPSHOT") => Ok(Isolation::Snapshot),
            Some(_) => Ok(Isolation::Serializable),
            None => Err(self.unexpected()),
        }
    }
}

/// Options that are on or off.
const SWITCHES: [&str; 27] = [
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "DISABLE_DEF_CNST_CHK",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NO_BROWSETABLE",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "RESULT_SET_CACHING",
    "SHOWPLAN_ALL",
    "SHOWPLAN_TEXT",
    "SHOWPLAN_XML",
    "XACT_ABORT",
    "SUPPRESS_TRIGGERS",
];
