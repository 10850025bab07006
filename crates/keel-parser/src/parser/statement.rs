//! Batches, statement lists and the dispatch on a statement's first words.

use super::Parser;
use crate::ast::{Batch, QueryBody, Statement, StatementKind};
use crate::error::{ParseError, Result};
use crate::keyword::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(crate) fn batch(&mut self) -> Result<Batch> {
        let statements = self.statements_until(|p| p.at_end())?;
        Ok(Batch { statements })
    }

    /// Statements up to, not including, the token at which `end` says so.
    pub(super) fn statements_until(&mut self, end: impl Fn(&Self) -> bool) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            while self.eat(Tok::Semi) {}
            if end(self) {
                return Ok(statements);
            }
            if self.at_end() {
                return Err(self.unexpected());
            }
            statements.push(self.statement()?);
        }
    }

    /// One statement without its semicolon.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let start = self.span();
        let kind = self.nested(Self::statement_kind)?;
        Ok(Statement { kind, span: self.since(start) })
    }

    fn statement_kind(&mut self) -> Result<StatementKind> {
        match self.tok() {
            Tok::Kw(kw) => self.keyword_statement(kw),
            Tok::Word if self.tok_ahead(1) == Tok::Colon => {
                let label = self.ident()?;
                self.bump();
                Ok(StatementKind::Label(label))
            }
            Tok::Word => self.word_statement(),
            Tok::LParen => self.select(),
            Tok::LBrace => self.odbc_call(),
            Tok::Quoted if self.is_first() => self.bare_call(),
            _ => Err(self.unexpected()),
        }
    }

    fn keyword_statement(&mut self, kw: Kw) -> Result<StatementKind> {
        match kw {
            Kw::SELECT => self.select(),
            Kw::WITH => self.with_statement(),
            Kw::INSERT | Kw::UPDATE | Kw::DELETE | Kw::TRUNCATE | Kw::BULK => self.dml_statement(kw),
            Kw::MERGE => self.merge_statement(None),
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop_statement(),
            Kw::DECLARE => self.declare(),
            Kw::SET => self.set_statement(),
            Kw::BEGIN => self.begin(),
            Kw::IF => self.if_statement(),
            Kw::WHILE => self.while_statement(),
            Kw::RETURN => self.return_statement(),
            Kw::EXEC | Kw::EXECUTE => self.exec_statement(),
            Kw::RAISERROR => self.raiserror(),
            Kw::WAITFOR => self.waitfor(),
            Kw::SAVE => self.save_transaction(),
            Kw::GRANT | Kw::DENY | Kw::REVOKE => self.permission(),
            Kw::BACKUP => self.backup(),
            Kw::RESTORE => self.restore(),
            Kw::END => self.conversation()?.ok_or_else(|| self.unexpected()),
            Kw::SETUSER => self.set_user(),
            Kw::ADD if self.word_ahead(1, "SENSITIVITY") => self.sensitivity_classification("ADD"),
            Kw::ADD if self.word_ahead(1, "SIGNATURE") || self.word_ahead(1, "COUNTER") => {
                self.bump();
                self.signature_statement(true)?.ok_or_else(|| self.unexpected())
            }
            Kw::ADD => Err(self.unexpected()),
            Kw::READTEXT | Kw::UPDATETEXT | Kw::WRITETEXT => self.refused()?.ok_or_else(|| self.unexpected()),
            _ => self.short_statement(kw),
        }
    }

    /// END of a block. END CONVERSATION is a statement.
    pub(super) fn at_block_end(&self) -> bool {
        self.at_kw(Kw::END) && !self.word_ahead(1, "CONVERSATION")
    }

    #[inline(never)]
    fn dml_statement(&mut self, kw: Kw) -> Result<StatementKind> {
        let next = self.tok_ahead(1);
        Ok(match kw {
            Kw::INSERT if next == Tok::Kw(Kw::BULK) => {
                StatementKind::InsertBulk(Box::new(self.insert_bulk()?))
            }
            Kw::INSERT => StatementKind::Insert(Box::new(self.insert(None)?)),
            Kw::UPDATE if next == Tok::Kw(Kw::STATISTICS) => {
                StatementKind::UpdateStatistics(Box::new(self.update_statistics()?))
            }
            Kw::UPDATE => StatementKind::Update(Box::new(self.update(None)?)),
            Kw::DELETE => StatementKind::Delete(Box::new(self.delete(None)?)),
            Kw::TRUNCATE => StatementKind::Truncate(Box::new(self.truncate()?)),
            _ => StatementKind::BulkInsert(Box::new(self.bulk_insert()?)),
        })
    }

    /// Statements of a few tokens.
    #[inline(never)]
    fn short_statement(&mut self, kw: Kw) -> Result<StatementKind> {
        let start = self.at;
        self.bump();
        let kind = match kw {
            Kw::PRINT => StatementKind::Print(self.expr()?),
            Kw::BREAK => StatementKind::Break,
            Kw::CONTINUE => StatementKind::Continue,
            Kw::GOTO => StatementKind::Goto(self.ident()?),
            Kw::COMMIT => StatementKind::Commit(self.end_transaction()?),
            Kw::ROLLBACK => StatementKind::Rollback(self.end_transaction()?),
            Kw::OPEN => return self.open(),
            Kw::CLOSE => return self.close(),
            Kw::DEALLOCATE => StatementKind::DeallocateCursor(self.cursor_ref()?),
            Kw::FETCH => StatementKind::Fetch(Box::new(self.fetch()?)),
            Kw::USE => StatementKind::Use(self.ident()?),
            Kw::REVERT => StatementKind::Revert(self.revert_cookie()?),
            Kw::CHECKPOINT => {
                let duration = matches!(self.tok(), Tok::Int | Tok::Variable);
                StatementKind::Checkpoint(if duration { Some(self.simple_value()?) } else { None })
            }
            Kw::RECONFIGURE => {
                StatementKind::Reconfigure { with_override: self.eat_words(&["WITH", "OVERRIDE"]) }
            }
            Kw::SHUTDOWN => StatementKind::Shutdown { no_wait: self.eat_words(&["WITH", "NOWAIT"]) },
            Kw::KILL => StatementKind::Kill(self.kill()?),
            Kw::DBCC => StatementKind::Dbcc(Box::new(self.dbcc()?)),
            _ => return Err(self.unexpected_at(start)),
        };
        Ok(kind)
    }

    fn revert_cookie(&mut self) -> Result<Option<crate::ast::Expr>> {
        if !self.eat_words(&["WITH", "COOKIE"]) {
            return Ok(None);
        }
        self.expect(Tok::Eq)?;
        Ok(Some(self.simple_value()?))
    }

    fn open(&mut self) -> Result<StatementKind> {
        if let Some(statement) = self.key_statement("OPEN")? {
            return Ok(statement);
        }
        Ok(StatementKind::OpenCursor(self.cursor_ref()?))
    }

    fn close(&mut self) -> Result<StatementKind> {
        if let Some(statement) = self.key_statement("CLOSE")? {
            return Ok(statement);
        }
        Ok(StatementKind::CloseCursor(self.cursor_ref()?))
    }

    /// Statements whose first word is not reserved, and the call without EXEC.
    #[inline(never)]
    fn word_statement(&mut self) -> Result<StatementKind> {
        if self.at_word("THROW") && !matches!(self.tok_ahead(1), Tok::Dot) {
            return self.throw();
        }
        if matches!(self.tok_ahead(1), Tok::Kw(Kw::TRIGGER))
            && let Some(word) = self.one_of(&["ENABLE", "DISABLE"])
        {
            return self.enable_trigger(word == "ENABLE");
        }
        if let Some(statement) = self.conversation()? {
            return Ok(statement);
        }
        if self.is_first() {
            return self.bare_call();
        }
        Err(self.unexpected())
    }

    /// Whether the batch has nothing in front of here but semicolons.
    fn is_first(&self) -> bool {
        self.tokens[..self.at].iter().all(|t| t.tok == Tok::Semi)
    }

    /// A procedure call as the first statement of a batch needs no EXEC.
    #[inline(never)]
    fn bare_call(&mut self) -> Result<StatementKind> {
        let start = self.span();
        let name_at = self.at;
        let call = self.execute_procedure(start)?;
        // A single word followed by something that is no argument is a misspelt statement, not a call.
        let ended = matches!(self.tok(), Tok::Eof | Tok::Semi | Tok::Kw(_));
        if !ended && call.args.is_empty() {
            return Err(self.unexpected_at(name_at + 1));
        }
        Ok(StatementKind::Execute(Box::new(call)))
    }

    /// `{call p(…)}`, `{? = call p(…)}`
    #[inline(never)]
    fn odbc_call(&mut self) -> Result<StatementKind> {
        let start = self.span();
        self.expect(Tok::LBrace)?;
        self.expect_word("call")?;
        let name = self.object_name()?;
        let mut args = Vec::new();
        if self.eat(Tok::LParen) {
            if self.tok() != Tok::RParen {
                args = self.list(Self::execute_arg)?;
            }
            self.expect(Tok::RParen)?;
        }
        self.expect(Tok::RBrace)?;
        let execute = crate::ast::Execute {
            return_variable: None,
            target: crate::ast::ExecuteTarget::Procedure { name, number: None },
            args,
            recompile: false,
            result_sets: None,
            execute_as: None,
            at: None,
            span: self.since(start),
        };
        Ok(StatementKind::Execute(Box::new(execute)))
    }

    #[inline(never)]
    fn select(&mut self) -> Result<StatementKind> {
        let select = self.select_statement()?;
        self.check_into(&select.query.body)?;
        Ok(StatementKind::Select(Box::new(select)))
    }

    /// INTO belongs to the first SELECT of a set operation.
    fn check_into(&self, body: &QueryBody) -> Result<()> {
        let QueryBody::Set { terms, .. } = body else { return Ok(()) };
        let has_into = |t: &QueryBody| matches!(t, QueryBody::Select(select) if select.into.is_some());
        if !terms.iter().skip(1).any(has_into) {
            return Ok(());
        }
        let text = "SELECT INTO must be the first query in a statement containing a UNION, INTERSECT or EXCEPT operator.";
        Err(self.error(196, text))
    }

    /// WITH and the statement that uses its tables. What came before must have ended with a semicolon.
    #[inline(never)]
    fn with_statement(&mut self) -> Result<StatementKind> {
        if self.at > 0 && self.at != self.branch_at && !self.may_begin_with() {
            let token = self.token();
            let raw = self.raw(token);
            let text = format!(
                "Incorrect syntax near the keyword '{raw}'. If this statement is a common table expression, an \
                 xmlnamespaces clause or a change tracking context clause, the previous statement must be terminated \
                 with a semicolon."
            );
            return Err(ParseError::new(319, token.line, text));
        }
        let with = Some(self.with_clause()?);
        match self.tok() {
            Tok::Kw(Kw::INSERT) => Ok(StatementKind::Insert(Box::new(self.insert(with)?))),
            Tok::Kw(Kw::UPDATE) => Ok(StatementKind::Update(Box::new(self.update(with)?))),
            Tok::Kw(Kw::DELETE) => Ok(StatementKind::Delete(Box::new(self.delete(with)?))),
            Tok::Kw(Kw::MERGE) => self.merge_statement(with),
            _ => Ok(StatementKind::Select(Box::new(self.select_after(with)?))),
        }
    }

    /// Whether the token before WITH ends or opens something.
    fn may_begin_with(&self) -> bool {
        let previous = self.tokens[self.at - 1];
        match previous.tok {
            Tok::Semi | Tok::Colon | Tok::Kw(Kw::BEGIN | Kw::ELSE | Kw::AS) => true,
            // BEGIN TRY, BEGIN CATCH.
            Tok::Word => {
                self.at > 1
                    && self.tokens[self.at - 2].tok == Tok::Kw(Kw::BEGIN)
                    && (self.is_word(previous, "TRY") || self.is_word(previous, "CATCH"))
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn merge_statement(&mut self, with: Option<crate::ast::With>) -> Result<StatementKind> {
        let merge = self.merge(with)?;
        if self.tok() != Tok::Semi {
            return Err(self.error(10713, "A MERGE statement must be terminated by a semi-colon (;)."));
        }
        Ok(StatementKind::Merge(Box::new(merge)))
    }
}
