//! Partition functions and schemes, and the partitions that other statements name.

use super::Parser;
use crate::ast::{Expr, PartitionAction, PartitionRange, PartitionStatement, StatementKind};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// Behind its verb, a statement about a partition function or scheme; `None` at any other.
    pub(super) fn partition_statement(&mut self, verb: &str) -> Result<Option<StatementKind>> {
        let function = self.at_words(&["PARTITION", "FUNCTION"]);
        if !function && !self.at_words(&["PARTITION", "SCHEME"]) {
            return Ok(None);
        }
        self.at += 2;
        let name = self.ident()?;
        let action = match (verb, function) {
            ("CREATE", true) => self.create_partition_function()?,
            ("CREATE", false) => self.create_partition_scheme()?,
            ("ALTER", true) => self.alter_partition_function()?,
            ("ALTER", false) => {
                self.expect_words(&["NEXT", "USED"])?;
                let named = self.at_ident() || self.at_kw(Kw::PRIMARY) || self.at_string();
                PartitionAction::NextUsed(if named { Some(self.filegroup_name()?) } else { None })
            }
            (_, true) => PartitionAction::DropFunction,
            (_, false) => PartitionAction::DropScheme,
        };
        Ok(Some(StatementKind::Partition(Box::new(PartitionStatement { name, action }))))
    }

    /// `(type [COLLATE c]) AS RANGE [LEFT|RIGHT] FOR VALUES (value, …)`
    fn create_partition_function(&mut self) -> Result<PartitionAction> {
        let mut collation = None;
        let types = self.parenthesized_list(|p| {
            let ty = p.type_name()?;
            if p.eat_kw(Kw::COLLATE) {
                collation = Some(p.collation_name()?);
            }
            Ok(ty)
        })?;
        self.expect_words(&["AS", "RANGE"])?;
        let right = matches!(self.one_of(&["LEFT", "RIGHT"]), Some("RIGHT"));
        self.expect_words(&["FOR", "VALUES"])?;
        let values = self.partition_values()?;
        Ok(PartitionAction::CreateFunction { types, collation, right, values })
    }

    fn partition_values(&mut self) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        let values = if self.tok() == Tok::RParen { Vec::new() } else { self.list(Self::expr)? };
        self.expect(Tok::RParen)?;
        Ok(values)
    }

    /// `AS PARTITION function [ALL] TO (filegroup, …)`
    fn create_partition_scheme(&mut self) -> Result<PartitionAction> {
        self.expect_words(&["AS", "PARTITION"])?;
        let function = self.ident()?;
        let all = self.eat_kw(Kw::ALL);
        self.expect_kw(Kw::TO)?;
        let filegroups = self.parenthesized_list(Self::filegroup_name)?;
        Ok(PartitionAction::CreateScheme { function, all, filegroups })
    }

    /// `() SPLIT RANGE (value)` and `() MERGE RANGE (value)`
    fn alter_partition_function(&mut self) -> Result<PartitionAction> {
        self.expect(Tok::LParen)?;
        self.expect(Tok::RParen)?;
        let split = self.eat_word("SPLIT");
        if !split {
            self.expect_words(&["MERGE"])?;
        }
        self.expect_words(&["RANGE"])?;
        let value = self.partition_values()?.into_iter().next();
        Ok(if split { PartitionAction::Split(value) } else { PartitionAction::Merge(value) })
    }

    /// `WITH (PARTITIONS (1, 3 TO 5))` of TRUNCATE TABLE.
    pub(super) fn truncated_partitions(&mut self) -> Result<Vec<PartitionRange>> {
        if !self.at_kw(Kw::WITH) || self.tok_ahead(1) != Tok::LParen {
            return Ok(Vec::new());
        }
        self.at += 2;
        self.expect_words(&["PARTITIONS"])?;
        let ranges = self.parenthesized_list(|p| {
            let first = p.expr()?;
            let last = if p.eat_kw(Kw::TO) { Some(p.expr()?) } else { None };
            Ok(PartitionRange { first, last })
        })?;
        self.expect(Tok::RParen)?;
        Ok(ranges)
    }

    /// `PARTITION n` of ALTER TABLE SWITCH.
    pub(super) fn switched_partition(&mut self) -> Result<Option<Expr>> {
        if self.eat_word("PARTITION") { self.expr().map(Some) } else { Ok(None) }
    }
}
