//! Control flow, DECLARE, EXECUTE, transactions, messages.

use super::Parser;
use crate::ast::{
    BeginTransaction, Declaration, EndTransaction, Execute, ExecuteArg, ExecuteAs, ExecuteTarget, Expr,
    ExprKind, Ident, If, Principal, RaisError, ResultSets, Statement, StatementKind, Throw, TransactionName,
    TryCatch, TypeName, WaitFor, While,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    // ---- DECLARE ----

    #[inline(never)]
    pub(super) fn declare(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::DECLARE)?;
        if self.at_ident() {
            return Ok(StatementKind::DeclareCursor(Box::new(self.declare_cursor()?)));
        }
        Ok(StatementKind::Declare(self.list(Self::declaration)?))
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let variable = self.variable()?;
        self.eat_kw(Kw::AS);
        if self.at_kw(Kw::TABLE) {
            self.bump();
            return Ok(Declaration::Table { variable, elements: self.table_elements()? });
        }
        if self.eat_kw(Kw::CURSOR) {
            return Ok(Declaration::Cursor { variable });
        }
        let ty = self.type_name()?;
        let value = if self.eat(Tok::Eq) { Some(self.expr()?) } else { None };
        Ok(Declaration::Variable { variable, ty, value })
    }

    // ---- blocks ----

    /// Behind BEGIN: a transaction, TRY, or a block.
    #[inline(never)]
    pub(super) fn begin(&mut self) -> Result<StatementKind> {
        if let Some(statement) = self.conversation()? {
            return Ok(statement);
        }
        self.expect_kw(Kw::BEGIN)?;
        match self.tok() {
            Tok::Kw(Kw::TRAN | Kw::TRANSACTION) => self.begin_transaction(false),
            Tok::Kw(Kw::DISTRIBUTED) => {
                self.bump();
                self.begin_transaction(true)
            }
            _ if self.at_word("TRY") => self.try_catch(),
            _ => {
                if self.at_word("ATOMIC") && self.tok_ahead(1) == Tok::Kw(Kw::WITH) {
                    self.at += 2;
                    self.skip_parentheses()?;
                }
                while self.eat(Tok::Semi) {}
                let statements = self.statements_until(Self::at_block_end)?;
                if statements.is_empty() {
                    return Err(self.unexpected());
                }
                self.expect_kw(Kw::END)?;
                Ok(StatementKind::Block(statements))
            }
        }
    }

    #[inline(never)]
    fn try_catch(&mut self) -> Result<StatementKind> {
        self.bump();
        let body = self.statements_until(Self::at_block_end)?;
        if body.is_empty() {
            return Err(self.unexpected());
        }
        self.expect_kw(Kw::END)?;
        self.expect_word("TRY")?;
        self.expect_kw(Kw::BEGIN)?;
        self.expect_word("CATCH")?;
        let handler = self.statements_until(Self::at_block_end)?;
        self.expect_kw(Kw::END)?;
        self.expect_word("CATCH")?;
        Ok(StatementKind::TryCatch(Box::new(TryCatch { body, handler })))
    }

    #[inline(never)]
    pub(super) fn if_statement(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::IF)?;
        let condition = self.condition()?;
        let then = self.branch()?;
        // A semicolon may end the first branch.
        let mut ahead = 0;
        while self.tok_ahead(ahead) == Tok::Semi {
            ahead += 1;
        }
        let otherwise = if self.tok_ahead(ahead) == Tok::Kw(Kw::ELSE) {
            self.at += ahead + 1;
            Some(self.branch()?)
        } else {
            None
        };
        Ok(StatementKind::If(Box::new(If { condition, then, otherwise })))
    }

    #[inline(never)]
    pub(super) fn while_statement(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::WHILE)?;
        let condition = self.condition()?;
        Ok(StatementKind::While(Box::new(While { condition, body: self.branch()? })))
    }

    /// The one statement that IF, ELSE or WHILE governs.
    fn branch(&mut self) -> Result<Statement> {
        while self.tok() == Tok::Semi && matches!(self.tok_ahead(1), Tok::Kw(Kw::WITH) | Tok::Semi) {
            self.bump();
        }
        self.branch_at = self.at;
        self.statement()
    }

    /// RETURN takes a value only if one can begin here.
    #[inline(never)]
    pub(super) fn return_statement(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::RETURN)?;
        let begins = match self.tok() {
            Tok::Word | Tok::Quoted => self.tok_ahead(1) != Tok::Colon && !self.at_word("THROW"),
            Tok::Kw(kw) => matches!(
                kw,
                Kw::CASE
                    | Kw::NULL
                    | Kw::CONVERT
                    | Kw::TRY_CONVERT
                    | Kw::COALESCE
                    | Kw::NULLIF
                    | Kw::LEFT
                    | Kw::RIGHT
                    | Kw::CURRENT_TIMESTAMP
                    | Kw::CURRENT_USER
                    | Kw::SESSION_USER
                    | Kw::SYSTEM_USER
                    | Kw::USER
            ),
            Tok::Semi | Tok::Eof | Tok::RParen | Tok::Other => false,
            _ => true,
        };
        Ok(StatementKind::Return(if begins { Some(self.expr()?) } else { None }))
    }

    // ---- transactions ----

    fn begin_transaction(&mut self, distributed: bool) -> Result<StatementKind> {
        if !self.eat_kw(Kw::TRAN) {
            self.expect_kw(Kw::TRANSACTION)?;
        }
        let name = self.transaction_name()?;
        let mut mark = None;
        if name.is_some() && self.at_words(&["WITH", "MARK"]) {
            self.at += 2;
            mark = Some(if self.at_string() { Some(self.string()?) } else { None });
        }
        Ok(StatementKind::BeginTransaction(BeginTransaction { distributed, name, mark }))
    }

    fn transaction_name(&mut self) -> Result<Option<TransactionName>> {
        Ok(match self.tok() {
            Tok::Variable => Some(TransactionName::Variable(self.variable()?)),
            Tok::Quoted => Some(TransactionName::Name(self.ident()?)),
            Tok::Word if self.tok_ahead(1) != Tok::Colon && !self.at_word("THROW") => {
                Some(TransactionName::Name(self.ident()?))
            }
            _ => None,
        })
    }

    /// Behind COMMIT or ROLLBACK.
    pub(super) fn end_transaction(&mut self) -> Result<EndTransaction> {
        let mut end = EndTransaction { name: None, delayed_durability: None };
        if self.eat_kw(Kw::TRAN) || self.eat_kw(Kw::TRANSACTION) {
            end.name = self.transaction_name()?;
        } else {
            self.eat_word("WORK");
        }
        if self.at_kw(Kw::WITH)
            && self.tok_ahead(1) == Tok::LParen
            && self.word_ahead(2, "DELAYED_DURABILITY")
        {
            self.at += 3;
            self.expect(Tok::Eq)?;
            end.delayed_durability = Some(self.on_off()?);
            self.expect(Tok::RParen)?;
        }
        Ok(end)
    }

    #[inline(never)]
    pub(super) fn save_transaction(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::SAVE)?;
        if !self.eat_kw(Kw::TRAN) {
            self.expect_kw(Kw::TRANSACTION)?;
        }
        match self.transaction_name()? {
            Some(name) => Ok(StatementKind::Save(name)),
            None => Err(self.unexpected()),
        }
    }

    pub(super) fn on_off(&mut self) -> Result<bool> {
        if self.eat_kw(Kw::ON) {
            return Ok(true);
        }
        self.expect_kw(Kw::OFF)?;
        Ok(false)
    }

    // ---- messages and waiting ----

    #[inline(never)]
    pub(super) fn raiserror(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::RAISERROR)?;
        self.expect(Tok::LParen)?;
        let message = self.simple_value()?;
        self.expect(Tok::Comma)?;
        let severity = self.simple_value()?;
        self.expect(Tok::Comma)?;
        let state = self.simple_value()?;
        let mut args = Vec::new();
        while self.eat(Tok::Comma) {
            args.push(self.simple_value()?);
        }
        self.expect(Tok::RParen)?;
        let mut raise =
            RaisError { message, severity, state, args, log: false, no_wait: false, set_error: false };
        if self.eat_kw(Kw::WITH) {
            self.list(|p| {
                match p.one_of(&["LOG", "NOWAIT", "SETERROR"]) {
                    Some("LOG") => raise.log = true,
                    Some("NOWAIT") => raise.no_wait = true,
                    Some(_) => raise.set_error = true,
                    None => return Err(p.unexpected()),
                }
                Ok(())
            })?;
        }
        Ok(StatementKind::RaisError(Box::new(raise)))
    }

    #[inline(never)]
    pub(super) fn throw(&mut self) -> Result<StatementKind> {
        self.bump();
        if !matches!(self.tok(), Tok::Int | Tok::Decimal | Tok::Variable) {
            return Ok(StatementKind::Throw(None));
        }
        let number = self.simple_value()?;
        self.expect(Tok::Comma)?;
        let message = self.simple_value()?;
        self.expect(Tok::Comma)?;
        let state = self.simple_value()?;
        Ok(StatementKind::Throw(Some(Box::new(Throw { number, message, state }))))
    }

    #[inline(never)]
    pub(super) fn waitfor(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::WAITFOR)?;
        if self.tok() == Tok::LParen {
            return self.waitfor_message();
        }
        match self.one_of(&["DELAY", "TIME"]) {
            Some("DELAY") => Ok(StatementKind::WaitFor(WaitFor::Delay(self.simple_value()?))),
            Some(_) => Ok(StatementKind::WaitFor(WaitFor::Time(self.simple_value()?))),
            None => Err(self.unexpected()),
        }
    }

    // ---- EXECUTE ----

    /// `EXEC …`, or EXECUTE AS as a statement.
    #[inline(never)]
    pub(super) fn exec_statement(&mut self) -> Result<StatementKind> {
        if self.tok_ahead(1) == Tok::Kw(Kw::AS) {
            self.at += 2;
            return Ok(StatementKind::ExecuteAs(self.execute_as()?));
        }
        Ok(StatementKind::Execute(Box::new(self.execute()?)))
    }

    pub(super) fn execute(&mut self) -> Result<Execute> {
        let start = self.span();
        self.bump();
        if self.tok() == Tok::LParen {
            return self.execute_text(start);
        }
        let mut return_variable = None;
        if self.tok() == Tok::Variable && self.tok_ahead(1) == Tok::Eq {
            return_variable = Some(self.variable()?);
            self.bump();
        }
        let mut execute = self.execute_procedure(start)?;
        execute.return_variable = return_variable;
        Ok(execute)
    }

    /// A call without EXEC, which only the first statement of a batch may be; or the rest of one with it.
    pub(super) fn execute_procedure(&mut self, start: crate::ast::Span) -> Result<Execute> {
        let target = if self.tok() == Tok::Variable {
            ExecuteTarget::Variable(self.variable()?)
        } else {
            let name = self.object_name()?;
            let numbered = self.tok() == Tok::Semi && self.tok_ahead(1) == Tok::Int;
            let number = if numbered {
                self.bump();
                Some(self.int()?)
            } else {
                None
            };
            ExecuteTarget::Procedure { name, number }
        };
        let args = if self.at_execute_arg() { self.list(Self::execute_arg)? } else { Vec::new() };
        let mut execute = Execute {
            return_variable: None,
            target,
            args,
            recompile: false,
            result_sets: None,
            execute_as: None,
            at: None,
            span: start,
        };
        self.execute_options(&mut execute)?;
        execute.span = self.since(start);
        Ok(execute)
    }

    fn execute_text(&mut self, start: crate::ast::Span) -> Result<Execute> {
        self.expect(Tok::LParen)?;
        let text = self.executed_text()?;
        let mut args = Vec::new();
        while self.eat(Tok::Comma) {
            args.push(self.execute_arg()?);
        }
        self.expect(Tok::RParen)?;
        let mut execute = Execute {
            return_variable: None,
            target: ExecuteTarget::Text(text),
            args,
            recompile: false,
            result_sets: None,
            execute_as: None,
            at: None,
            span: start,
        };
        if self.eat_kw(Kw::AS) {
            let principal = self.principal()?;
            self.expect(Tok::Eq)?;
            execute.execute_as = Some((principal, self.simple_value()?));
        }
        if self.eat_word("AT") {
            execute.at = Some(self.ident()?);
        }
        self.execute_options(&mut execute)?;
        execute.span = self.since(start);
        Ok(execute)
    }

    /// The text of `EXEC (…)`: strings and variables with `+` between them. Anything else, a function say, is a syntax
    /// error in the product.
    fn executed_text(&mut self) -> Result<Expr> {
        let mut ahead = 0;
        loop {
            let part = self.tok_ahead(ahead);
            if !matches!(part, Tok::Str | Tok::NStr | Tok::Variable | Tok::Global) {
                return Err(self.unexpected_at((self.at + ahead).min(self.tokens.len() - 1)));
            }
            ahead += 1;
            if self.tok_ahead(ahead) != Tok::Plus {
                break;
            }
            ahead += 1;
        }
        if !matches!(self.tok_ahead(ahead), Tok::RParen | Tok::Comma) {
            return Err(self.unexpected_at((self.at + ahead).min(self.tokens.len() - 1)));
        }
        self.expr()
    }

    fn at_execute_arg(&self) -> bool {
        match self.tok() {
            Tok::Word => self.tok_ahead(1) != Tok::Colon,
            Tok::Quoted
            | Tok::Variable
            | Tok::Global
            | Tok::Str
            | Tok::NStr
            | Tok::Int
            | Tok::Decimal
            | Tok::Float
            | Tok::Money
            | Tok::Binary
            | Tok::Minus
            | Tok::Plus
            | Tok::LBrace => true,
            Tok::Kw(kw) => matches!(kw, Kw::NULL | Kw::DEFAULT),
            _ => false,
        }
    }

    pub(super) fn execute_arg(&mut self) -> Result<ExecuteArg> {
        let mut name = None;
        if self.tok() == Tok::Variable && self.tok_ahead(1) == Tok::Eq {
            name = Some(self.variable()?);
            self.bump();
        }
        let value = match self.tok() {
            Tok::Word | Tok::Quoted => Self::word_as_string(self.take_ident()),
            // The product reads ON and OFF as words here.
            Tok::Kw(Kw::ON | Kw::OFF) => Self::word_as_string(self.take_ident()),
            Tok::Kw(Kw::DEFAULT) => self.argument()?,
            Tok::LBrace => self.odbc_escape()?,
            _ => self.simple_value()?,
        };
        let output = self.one_of(&["OUTPUT", "OUT"]).is_some();
        if output && !matches!(value.kind, ExprKind::Variable(_)) {
            let text = "Cannot use the OUTPUT option when passing a constant to a stored procedure.";
            return Err(crate::ParseError::new(179, value.span.line, text));
        }
        Ok(ExecuteArg { name, value, output })
    }

    /// `WITH RECOMPILE, RESULT SETS …`
    fn execute_options(&mut self, execute: &mut Execute) -> Result<()> {
        let follows =
            self.at_kw(Kw::WITH) && (self.word_ahead(1, "RECOMPILE") || self.word_ahead(1, "RESULT"));
        if !follows {
            return Ok(());
        }
        self.bump();
        self.list(|p| {
            if p.eat_word("RECOMPILE") {
                execute.recompile = true;
            } else {
                p.expect_words(&["RESULT", "SETS"])?;
                execute.result_sets = Some(p.result_sets()?);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn result_sets(&mut self) -> Result<ResultSets> {
        match self.one_of(&["UNDEFINED", "NONE"]) {
            Some("UNDEFINED") => return Ok(ResultSets::Undefined),
            Some(_) => return Ok(ResultSets::None),
            None => {}
        }
        let sets = self.parenthesized_list(|p| p.parenthesized_list(Self::result_column))?;
        Ok(ResultSets::Defined(sets))
    }

    fn result_column(&mut self) -> Result<(Ident, TypeName, Option<bool>)> {
        let name = self.ident()?;
        let ty = self.type_name()?;
        if self.eat_kw(Kw::COLLATE) {
            self.collation_name()?;
        }
        Ok((name, ty, self.nullability()?))
    }

    fn principal(&mut self) -> Result<Principal> {
        match self.one_of(&["LOGIN", "USER", "CALLER", "OWNER", "SELF"]) {
            Some("LOGIN") => Ok(Principal::Login),
            Some("USER") => Ok(Principal::User),
            Some("CALLER") => Ok(Principal::Caller),
            Some("OWNER") => Ok(Principal::Owner),
            Some(_) => Ok(Principal::SelfUser),
            None => Err(self.unexpected()),
        }
    }

    /// `SETUSER`, the older way: with a name EXECUTE AS USER, without one REVERT.
    pub(super) fn set_user(&mut self) -> Result<StatementKind> {
        self.expect_kw(Kw::SETUSER)?;
        if !matches!(self.tok(), Tok::Str | Tok::NStr) {
            return Ok(StatementKind::Revert(None));
        }
        let name = Some(self.simple_value()?);
        if self.eat_kw(Kw::WITH) {
            self.expect_word("NORESET")?;
        }
        Ok(StatementKind::ExecuteAs(ExecuteAs {
            principal: Principal::User,
            name,
            no_revert: false,
            cookie: None,
        }))
    }

    fn execute_as(&mut self) -> Result<ExecuteAs> {
        let principal = self.principal()?;
        let name = if self.eat(Tok::Eq) { Some(self.simple_value()?) } else { None };
        let (mut no_revert, mut cookie) = (false, None);
        if self.eat_kw(Kw::WITH) {
            if self.eat_words(&["NO", "REVERT"]) {
                no_revert = true;
            } else {
                self.expect_words(&["COOKIE", "INTO"])?;
                cookie = Some(self.variable()?);
            }
        }
        Ok(ExecuteAs { principal, name, no_revert, cookie })
    }

    /// `EXECUTE AS …` of a module: a keyword or the name of a user.
    pub(super) fn module_execute_as(&mut self) -> Result<(Principal, Option<SmolStr>)> {
        if self.at_string() {
            return Ok((Principal::User, Some(self.string()?)));
        }
        Ok((self.principal()?, None))
    }
}
