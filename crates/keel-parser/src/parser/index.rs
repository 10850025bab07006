//! CREATE, ALTER and DROP INDEX, CREATE STATISTICS.

use super::Parser;
use crate::ast::{
    AlterIndex, AlterIndexAction, ContentIndex, CreateIndex, CreateStatistics, DropIndex, DropIndexItem,
    IndexColumnRef, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    /// Behind CREATE: `[UNIQUE] [CLUSTERED|NONCLUSTERED] [COLUMNSTORE] INDEX …`
    pub(super) fn create_index(&mut self) -> Result<CreateIndex> {
        let unique = self.eat_kw(Kw::UNIQUE);
        let clustered = self.clustered();
        let columnstore = self.eat_word("COLUMNSTORE");
        let mut content = if self.eat_words(&["PRIMARY", "XML"]) {
            Some(ContentIndex::PrimaryXml)
        } else if self.eat_word("XML") {
            Some(ContentIndex::Xml { using: None })
        } else if self.eat_word("SPATIAL") {
            Some(ContentIndex::Spatial { scheme: None })
        } else {
            None
        };
        self.expect_kw(Kw::INDEX)?;
        let name = self.ident()?;
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let columns = if self.tok() == Tok::LParen { self.index_columns()? } else { Vec::new() };
        if let Some(content) = &mut content {
            self.content_index(content)?;
        }
        let mut index = CreateIndex {
            name,
            table,
            unique,
            clustered,
            columnstore,
            content,
            columns,
            include: Vec::new(),
            filter: None,
            options: Vec::new(),
            filegroup: None,
        };
        if index.columns.is_empty() && !columnstore {
            return Err(self.unexpected());
        }
        if self.eat_word("INCLUDE") {
            index.include = self.ident_list()?;
        }
        if self.eat_kw(Kw::ORDER) {
            self.index_columns()?;
        }
        if self.eat_kw(Kw::WHERE) {
            index.filter = Some(self.condition()?);
        }
        index.options = self.with_options()?;
        index.filegroup = self.filegroup()?;
        if self.eat_word("FILESTREAM_ON") {
            self.ident_or_string()?;
        }
        Ok(index)
    }

    /// Behind the column of an index of its content.
    fn content_index(&mut self, content: &mut ContentIndex) -> Result<()> {
        match content {
            ContentIndex::PrimaryXml => {}
            ContentIndex::Xml { using } => {
                if self.eat_words(&["USING", "XML", "INDEX"]) {
                    let primary = self.ident()?;
                    self.expect_kw(Kw::FOR)?;
                    let usage =
                        self.one_of(&["VALUE", "PATH", "PROPERTY"]).ok_or_else(|| self.unexpected())?;
                    *using = Some((primary, SmolStr::new_static(usage)));
                }
            }
            ContentIndex::Spatial { scheme } => {
                if self.eat_word("USING") {
                    *scheme = Some(self.upper_word()?);
                }
            }
        }
        Ok(())
    }

    /// `(a [ASC|DESC], …)`
    pub(super) fn index_columns(&mut self) -> Result<Vec<IndexColumnRef>> {
        self.parenthesized_list(|p| {
            let name = p.ident()?;
            let descending = p.eat_kw(Kw::DESC);
            if !descending {
                p.eat_kw(Kw::ASC);
            }
            Ok(IndexColumnRef { name, descending })
        })
    }

    /// Behind ALTER INDEX.
    pub(super) fn alter_index(&mut self) -> Result<AlterIndex> {
        let name = if self.eat_kw(Kw::ALL) { None } else { Some(self.ident()?) };
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let actions = ["REBUILD", "REORGANIZE", "DISABLE", "SET", "RESUME", "PAUSE", "ABORT"];
        let action = match self.one_of(&actions) {
            Some("REBUILD") => AlterIndexAction::Rebuild,
            Some("REORGANIZE") => AlterIndexAction::Reorganize,
            Some("DISABLE") => AlterIndexAction::Disable,
            Some("SET") => AlterIndexAction::Set,
            Some("RESUME") => AlterIndexAction::Resume,
            Some("PAUSE") => AlterIndexAction::Pause,
            Some(_) => AlterIndexAction::Abort,
            None => return Err(self.unexpected()),
        };
        let partition = self.partition_clause()?;
        let options = if action == AlterIndexAction::Set {
            self.options_in_parentheses()?
        } else {
            self.with_options()?
        };
        Ok(AlterIndex { name, table, action, partition, options })
    }

    /// Behind DROP INDEX: `[IF EXISTS] ix ON t [WITH (…)], …` or `t.ix, …`
    pub(super) fn drop_index(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let items = self.list(Self::drop_index_item)?;
        Ok(StatementKind::DropIndex(Box::new(DropIndex { if_exists, items })))
    }

    fn drop_index_item(&mut self) -> Result<DropIndexItem> {
        let mut name = self.object_name()?;
        if self.eat_kw(Kw::ON) {
            if !name.is_simple() {
                return Err(self.unexpected_at(self.at - 1));
            }
            let table = self.object_name()?;
            return Ok(DropIndexItem { index: name.name, table, options: self.with_options()? });
        }
        // The old form: the table is the qualifier.
        let Some(table) = name.schema.take() else {
            let wanted = "Must specify the table name and index name for the DROP INDEX statement.";
            return Err(crate::ParseError::new(159, self.span().line, wanted));
        };
        let index = std::mem::replace(&mut name.name, table);
        name.schema = name.database.take();
        name.database = name.server.take();
        Ok(DropIndexItem { index, table: name, options: Vec::new() })
    }

    /// Behind CREATE STATISTICS.
    pub(super) fn create_statistics(&mut self) -> Result<CreateStatistics> {
        let name = self.ident()?;
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let columns = self.ident_list()?;
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.condition()?) } else { None };
        let options = if self.eat_kw(Kw::WITH) { self.option_list()? } else { Vec::new() };
        Ok(CreateStatistics { name, table, columns, filter, options })
    }
}
