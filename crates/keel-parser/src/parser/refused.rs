//! Statements that are read over and refused by name when their turn comes: of text pointers.
//!
//! What follows their first words is not looked at, but where they end is: at a semicolon or where another statement
//! begins, so that the modules and scripts that they stand in can be made.

use super::Parser;
use crate::ast::{GenericStatement, StatementKind};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

/// Their first words: the verb, and what it is about.
const FIRST_WORDS: &[(&str, &[&str])] = &[("READTEXT", &[]), ("UPDATETEXT", &[]), ("WRITETEXT", &[])];

impl Parser<'_> {
    /// A statement of those here, from its first word; `None` at any other.
    #[inline(never)]
    pub(super) fn refused(&mut self) -> Result<Option<StatementKind>> {
        let found = FIRST_WORDS.iter().find(|(verb, words)| {
            self.at_word(verb) && words.iter().enumerate().all(|(i, word)| self.word_ahead(i + 1, word))
        });
        let Some((verb, words)) = found else { return Ok(None) };
        self.at += 1 + words.len();
        self.over_the_rest()?;
        Ok(Some(refusal(verb, &words.join(" "))))
    }

    /// To the end of the statement: CASE has an END of its own.
    fn over_the_rest(&mut self) -> Result<()> {
        let mut cases = 0u32;
        loop {
            match self.tok() {
                Tok::LParen => {
                    self.skip_parentheses()?;
                    continue;
                }
                Tok::Kw(Kw::CASE) => cases += 1,
                Tok::Kw(Kw::END) if cases > 0 => cases -= 1,
                Tok::Eof | Tok::Semi | Tok::RParen => return Ok(()),
                Tok::Kw(Kw::ELSE) if cases == 0 => return Ok(()),
                Tok::Kw(kw) if begins_or_ends_a_statement(kw) => return Ok(()),
                Tok::Word if self.at_word("SEND") && self.word_ahead(1, "ON") => return Ok(()),
                Tok::Word if self.at_word("RECEIVE") && self.tok_ahead(1) != Tok::Comma => return Ok(()),
                _ => {}
            }
            self.bump();
        }
    }
}

fn refusal(verb: &str, class: &str) -> StatementKind {
    let (verb, class) = (SmolStr::new(verb), SmolStr::new(class));
    StatementKind::Generic(Box::new(GenericStatement { verb, class, name: None, options: Vec::new() }))
}

fn begins_or_ends_a_statement(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::ALTER
            | Kw::BACKUP
            | Kw::BEGIN
            | Kw::BREAK
            | Kw::BULK
            | Kw::CHECKPOINT
            | Kw::LINENO
            | Kw::RECONFIGURE
            | Kw::SHUTDOWN
            | Kw::CLOSE
            | Kw::COMMIT
            | Kw::CONTINUE
            | Kw::CREATE
            | Kw::DBCC
            | Kw::DEALLOCATE
            | Kw::DECLARE
            | Kw::DELETE
            | Kw::DENY
            | Kw::DROP
            | Kw::END
            | Kw::EXEC
            | Kw::EXECUTE
            | Kw::FETCH
            | Kw::GOTO
            | Kw::GRANT
            | Kw::IF
            | Kw::INSERT
            | Kw::KILL
            | Kw::MERGE
            | Kw::OPEN
            | Kw::PRINT
            | Kw::RAISERROR
            | Kw::READTEXT
            | Kw::RESTORE
            | Kw::RETURN
            | Kw::REVERT
            | Kw::REVOKE
            | Kw::ROLLBACK
            | Kw::SAVE
            | Kw::SELECT
            | Kw::SET
            | Kw::SETUSER
            | Kw::TRUNCATE
            | Kw::UPDATE
            | Kw::UPDATETEXT
            | Kw::USE
            | Kw::WAITFOR
            | Kw::WHILE
            | Kw::WRITETEXT
    )
}
