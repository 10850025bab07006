//! CREATE TABLE and ALTER TABLE: columns and constraints.

use super::Parser;
use crate::ast::{
    AlterColumn, AlterTable, AlterTableAction, AlterTableDrop, ColumnDefinition, ColumnKind, ConstraintKind,
    CreateTable, Dropped, Filegroup, Ident, Identity, InlineIndex, Literal, Opt, OptValue, ReferentialAction,
    TableConstraint, TableElement,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    /// Behind CREATE TABLE.
    pub(super) fn create_table(&mut self) -> Result<CreateTable> {
        let name = self.object_name()?;
        let mut table = CreateTable {
            name,
            elements: Vec::new(),
            filegroup: None,
            textimage_on: None,
            options: Vec::new(),
            as_kind: None,
        };
        self.as_kind(&mut table)?;
        if self.tok() == Tok::LParen {
            table.elements = self.table_elements()?;
        } else if table.as_kind.is_none() {
            return Err(self.unexpected());
        }
        self.as_kind(&mut table)?;
        loop {
            if self.at_kw(Kw::ON) {
                table.filegroup = self.filegroup()?;
            } else if self.eat_word("TEXTIMAGE_ON") || self.eat_word("FILESTREAM_ON") {
                table.textimage_on = Some(self.ident_or_string()?);
            } else if self.at_kw(Kw::WITH) && self.tok_ahead(1) == Tok::LParen {
                self.bump();
                table.options = self.options_in_parentheses()?;
            } else {
                return Ok(table);
            }
        }
    }

    fn as_kind(&mut self, table: &mut CreateTable) -> Result<()> {
        if table.as_kind.is_none() && self.at_kw(Kw::AS) {
            self.bump();
            table.as_kind = Some(self.upper_word()?);
        }
        Ok(())
    }

    /// `( element, … )`; a trailing comma is accepted, as in the product.
    pub(super) fn table_elements(&mut self) -> Result<Vec<TableElement>> {
        self.parenthesized(|p| {
            let mut elements = vec![p.table_element()?];
            loop {
                // A constraint may follow a column without a comma.
                if !p.eat(Tok::Comma) && !p.at_table_constraint() {
                    return Ok(elements);
                }
                if p.tok() == Tok::RParen {
                    return Ok(elements);
                }
                elements.push(p.table_element()?);
            }
        })
    }

    fn at_table_constraint(&self) -> bool {
        matches!(
            self.tok(),
            Tok::Kw(Kw::CONSTRAINT | Kw::PRIMARY | Kw::UNIQUE | Kw::FOREIGN | Kw::CHECK | Kw::INDEX)
        ) || (self.at_word("CONNECTION") && self.tok_ahead(1) == Tok::LParen)
    }

    fn table_element(&mut self) -> Result<TableElement> {
        if self.at_kw(Kw::INDEX) {
            return Ok(TableElement::Index(self.inline_index()?));
        }
        if self.at_table_constraint() || self.at_kw(Kw::DEFAULT) {
            return Ok(TableElement::Constraint(self.table_constraint()?));
        }
        if self.at_words(&["PERIOD", "FOR", "SYSTEM_TIME"]) {
            self.at += 3;
            let mut columns = self.ident_list()?;
            let (Some(end), Some(start), true) = (columns.pop(), columns.pop(), columns.is_empty()) else {
                return Err(self.unexpected());
            };
            return Ok(TableElement::Period { start, end });
        }
        Ok(TableElement::Column(Box::new(self.column_definition()?)))
    }

    // ---- columns ----

    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        let start = self.span();
        let name = self.ident()?;
        let kind = if self.eat_kw(Kw::AS) {
            let expr = self.expr()?;
            let persisted = self.eat_word("PERSISTED");
            ColumnKind::Computed { expr, persisted }
        } else if name.is("timestamp")
            && matches!(self.tok(), Tok::Comma | Tok::RParen | Tok::Kw(Kw::NOT | Kw::NULL))
        {
            ColumnKind::Timestamp
        } else {
            ColumnKind::Typed(self.type_name()?)
        };
        let mut column = ColumnDefinition {
            name,
            kind,
            collation: None,
            nullable: None,
            identity: None,
            rowguidcol: false,
            sparse: false,
            options: Vec::new(),
            constraints: Vec::new(),
            index: None,
            span: start,
        };
        while self.column_property(&mut column)? {}
        column.span = self.since(start);
        Ok(column)
    }

    /// One property of a column; false when none follows.
    fn column_property(&mut self, column: &mut ColumnDefinition) -> Result<bool> {
        match self.tok() {
            Tok::Kw(Kw::COLLATE) => {
                self.bump();
                column.collation = Some(self.collation_name()?);
            }
            Tok::Kw(Kw::NULL) => {
                self.bump();
                column.nullable = Some(true);
            }
            Tok::Kw(Kw::NOT) if self.tok_ahead(1) == Tok::Kw(Kw::FOR) => {
                self.at += 2;
                self.expect_kw(Kw::REPLICATION)?;
            }
            Tok::Kw(Kw::NOT) => {
                self.bump();
                self.expect_kw(Kw::NULL)?;
                column.nullable = Some(false);
            }
            Tok::Kw(Kw::IDENTITY) => column.identity = Some(self.identity()?),
            Tok::Kw(Kw::ROWGUIDCOL) => {
                self.bump();
                column.rowguidcol = true;
            }
            Tok::Kw(Kw::INDEX) => column.index = Some(self.inline_index()?),
            // `CONSTRAINT c NOT NULL`: the name means nothing.
            Tok::Kw(Kw::CONSTRAINT)
                if matches!(self.tok_ahead(2), Tok::Kw(Kw::NULL | Kw::NOT))
                    && self.tok_ahead(1) != Tok::Eof =>
            {
                self.bump();
                self.ident()?;
            }
            Tok::Kw(
                Kw::CONSTRAINT
                | Kw::PRIMARY
                | Kw::UNIQUE
                | Kw::REFERENCES
                | Kw::FOREIGN
                | Kw::CHECK
                | Kw::DEFAULT,
            ) => {
                // `a int CONSTRAINT c CHECK (…)` belongs to the column, `CONSTRAINT c PRIMARY KEY (a)` with a column
                // list to the table.
                if self.table_constraint_follows() {
                    return Ok(false);
                }
                column.constraints.push(self.column_constraint()?);
            }
            Tok::Word => return self.column_word(column),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn column_word(&mut self, column: &mut ColumnDefinition) -> Result<bool> {
        let span = self.span();
        if self.eat_word("SPARSE") {
            column.sparse = true;
            return Ok(true);
        }
        let value = if self.eat_words(&["GENERATED", "ALWAYS", "AS"]) {
            let mut text = self.upper_word()?.to_string();
            while matches!(self.tok(), Tok::Word) && (self.at_word("START") || self.at_word("END")) {
                text.push(' ');
                text.push_str(&self.upper_word()?);
            }
            if self.eat_kw(Kw::END) {
                text.push_str(" END");
            }
            let word = Ident { text: SmolStr::from(text), quoted: false, span };
            Some(("GENERATED ALWAYS", OptValue::Word(word)))
        } else if let Some(name) = self.one_of(&["MASKED", "ENCRYPTED"]) {
            // What is said of the type comes before what is said of the values.
            let late =
                column.nullable.is_some() || column.identity.is_some() || !column.constraints.is_empty();
            if name == "MASKED" && late {
                return Err(self.unexpected_at(self.at - 1));
            }
            self.expect_kw(Kw::WITH)?;
            Some((name, OptValue::List(self.options_in_parentheses()?)))
        } else {
            self.one_of(&["HIDDEN", "FILESTREAM", "PERSISTED", "COLUMN_SET"])
                .map(|name| (name, OptValue::None))
        };
        let Some((name, value)) = value else { return Ok(false) };
        if name == "COLUMN_SET" {
            self.expect_words(&["FOR", "ALL_SPARSE_COLUMNS"])?;
        }
        column.options.push(Opt { name: SmolStr::new_static(name), value, span: self.since(span) });
        Ok(true)
    }

    /// `ENCRYPTED WITH (…)`, if it follows.
    fn encrypted(&mut self) -> Result<Option<OptValue>> {
        if !self.eat_word("ENCRYPTED") {
            return Ok(None);
        }
        self.expect_kw(Kw::WITH)?;
        Ok(Some(OptValue::List(self.options_in_parentheses()?)))
    }

    /// `MASKED WITH (FUNCTION = '…')`: the text of the function.
    fn mask(&mut self) -> Result<SmolStr> {
        self.expect_kw(Kw::WITH)?;
        let at = self.at;
        let options = self.options_in_parentheses()?;
        let function = options.iter().find(|o| o.name == "FUNCTION").and_then(|o| o.value.text());
        function.map(SmolStr::new).ok_or_else(|| self.unexpected_at(at + 1))
    }

    fn identity(&mut self) -> Result<Identity> {
        self.bump();
        let (mut seed, mut increment) = (Literal::Int(1), Literal::Int(1));
        if self.eat(Tok::LParen) {
            seed = self.signed_literal()?;
            self.expect(Tok::Comma)?;
            increment = self.signed_literal()?;
            self.expect(Tok::RParen)?;
        }
        let not_for_replication = self.not_for_replication()?;
        Ok(Identity { seed, increment, not_for_replication })
    }

    pub(super) fn not_for_replication(&mut self) -> Result<bool> {
        let found = self.at_kw(Kw::NOT) && self.tok_ahead(1) == Tok::Kw(Kw::FOR);
        if found {
            self.at += 2;
            self.expect_kw(Kw::REPLICATION)?;
        }
        Ok(found)
    }

    /// Whether the constraint here, written behind a column without a comma, is a table's: it has a column list.
    fn table_constraint_follows(&self) -> bool {
        let mut at = 0;
        if self.tok() == Tok::Kw(Kw::CONSTRAINT) {
            at = 2;
        }
        match self.tok_ahead(at) {
            Tok::Kw(Kw::PRIMARY) => at += 2,
            Tok::Kw(Kw::UNIQUE) => at += 1,
            _ => return false,
        }
        if matches!(self.tok_ahead(at), Tok::Kw(Kw::CLUSTERED | Kw::NONCLUSTERED)) {
            at += 1;
        }
        self.tok_ahead(at) == Tok::LParen
    }

    // ---- constraints ----

    fn constraint_name(&mut self) -> Result<Option<Ident>> {
        if !self.eat_kw(Kw::CONSTRAINT) {
            return Ok(None);
        }
        Ok(Some(self.ident()?))
    }

    fn column_constraint(&mut self) -> Result<TableConstraint> {
        let start = self.span();
        let name = self.constraint_name()?;
        let kind = match self.tok() {
            Tok::Kw(Kw::PRIMARY | Kw::UNIQUE) => self.key_constraint()?,
            Tok::Kw(Kw::FOREIGN) => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                let columns = self.optional_ident_list()?;
                self.references(columns)?
            }
            Tok::Kw(Kw::REFERENCES) => self.references(Vec::new())?,
            Tok::Kw(Kw::CHECK) => self.check_constraint()?,
            Tok::Kw(Kw::DEFAULT) => self.default_constraint(false)?,
            _ => return Err(self.unexpected()),
        };
        Ok(TableConstraint { name, kind, span: self.since(start) })
    }

    pub(super) fn table_constraint(&mut self) -> Result<TableConstraint> {
        let start = self.span();
        let name = self.constraint_name()?;
        let kind = match self.tok() {
            Tok::Kw(Kw::PRIMARY | Kw::UNIQUE) => self.key_constraint()?,
            Tok::Kw(Kw::FOREIGN) => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                let columns = self.ident_list()?;
                self.references(columns)?
            }
            Tok::Kw(Kw::CHECK) => self.check_constraint()?,
            Tok::Kw(Kw::DEFAULT) => self.default_constraint(true)?,
            _ if self.eat_words(&["CONNECTION"]) => self.connection()?,
            _ => return Err(self.unexpected()),
        };
        Ok(TableConstraint { name, kind, span: self.since(start) })
    }

    /// `CONNECTION (from TO to, …) [ON DELETE …]` of an edge table, behind its word.
    fn connection(&mut self) -> Result<ConstraintKind> {
        let pairs = self.parenthesized_list(|p| {
            let from = p.object_name()?;
            p.expect_kw(Kw::TO)?;
            Ok((from, p.object_name()?))
        })?;
        if self.at_kw(Kw::ON) && self.tok_ahead(1) == Tok::Kw(Kw::DELETE) {
            self.at += 2;
            self.referential_action()?;
        }
        Ok(ConstraintKind::Connection(pairs))
    }

    /// `PRIMARY KEY | UNIQUE [CLUSTERED|NONCLUSTERED] [(columns)] [WITH …] [ON …]`
    fn key_constraint(&mut self) -> Result<ConstraintKind> {
        let primary = self.bump().tok == Tok::Kw(Kw::PRIMARY);
        if primary {
            self.expect_kw(Kw::KEY)?;
        }
        let clustered = self.clustered();
        self.eat_word("HASH");
        let columns = if self.tok() == Tok::LParen { self.index_columns()? } else { Vec::new() };
        let options = self.with_options()?;
        let filegroup = self.filegroup()?;
        Ok(ConstraintKind::Key { primary, clustered, columns, options, filegroup })
    }

    pub(super) fn clustered(&mut self) -> Option<bool> {
        if self.eat_kw(Kw::CLUSTERED) {
            return Some(true);
        }
        if self.eat_kw(Kw::NONCLUSTERED) { Some(false) } else { None }
    }

    /// `ON filegroup` or `ON scheme(column)`. ON DELETE and ON UPDATE belong to a foreign key before it.
    pub(super) fn filegroup(&mut self) -> Result<Option<Filegroup>> {
        if !self.at_kw(Kw::ON) || matches!(self.tok_ahead(1), Tok::Kw(Kw::DELETE | Kw::UPDATE)) {
            return Ok(None);
        }
        self.bump();
        let name = self.filegroup_name()?;
        Ok(Some(Filegroup { name, columns: self.optional_ident_list()? }))
    }

    /// The name of a filegroup; PRIMARY and DEFAULT need no quotes.
    pub(super) fn filegroup_name(&mut self) -> Result<Ident> {
        match self.tok() {
            Tok::Kw(Kw::PRIMARY | Kw::DEFAULT) => self.any_word(),
            _ => self.ident_or_string(),
        }
    }

    fn references(&mut self, columns: Vec<Ident>) -> Result<ConstraintKind> {
        self.expect_kw(Kw::REFERENCES)?;
        let table = self.object_name()?;
        let referenced = self.optional_ident_list()?;
        let (mut on_delete, mut on_update) = (None, None);
        while self.at_kw(Kw::ON) {
            self.bump();
            if self.eat_kw(Kw::DELETE) {
                on_delete = Some(self.referential_action()?);
            } else {
                self.expect_kw(Kw::UPDATE)?;
                on_update = Some(self.referential_action()?);
            }
        }
        let not_for_replication = self.not_for_replication()?;
        Ok(ConstraintKind::ForeignKey {
            columns,
            table,
            referenced,
            on_delete,
            on_update,
            not_for_replication,
        })
    }

    fn referential_action(&mut self) -> Result<ReferentialAction> {
        if self.eat_kw(Kw::CASCADE) {
            return Ok(ReferentialAction::Cascade);
        }
        if self.eat_words(&["NO", "ACTION"]) {
            return Ok(ReferentialAction::NoAction);
        }
        self.expect_kw(Kw::SET)?;
        if self.eat_kw(Kw::NULL) {
            return Ok(ReferentialAction::SetNull);
        }
        self.expect_kw(Kw::DEFAULT)?;
        Ok(ReferentialAction::SetDefault)
    }

    fn check_constraint(&mut self) -> Result<ConstraintKind> {
        self.bump();
        let not_for_replication = self.not_for_replication()?;
        let condition = self.parenthesized(Self::condition)?;
        Ok(ConstraintKind::Check { condition, not_for_replication })
    }

    /// `DEFAULT value [FOR column] [WITH VALUES]`; a column's own names no column.
    fn default_constraint(&mut self, of_table: bool) -> Result<ConstraintKind> {
        self.bump();
        let value = self.expr()?;
        let column = if of_table && self.eat_kw(Kw::FOR) { Some(self.ident()?) } else { None };
        let with_values = self.at_words(&["WITH", "VALUES"]);
        if with_values {
            self.at += 2;
        }
        Ok(ConstraintKind::Default { value, column, with_values })
    }

    /// `INDEX ix …` inside a table.
    fn inline_index(&mut self) -> Result<InlineIndex> {
        self.bump();
        let name = self.ident()?;
        let unique = self.eat_kw(Kw::UNIQUE);
        let clustered = self.clustered();
        let columnstore = self.eat_word("COLUMNSTORE");
        self.eat_word("HASH");
        let columns = if self.tok() == Tok::LParen { self.index_columns()? } else { Vec::new() };
        let include = if self.eat_word("INCLUDE") { self.ident_list()? } else { Vec::new() };
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.condition()?) } else { None };
        let options = self.with_options()?;
        let filegroup = self.filegroup()?;
        Ok(InlineIndex { name, unique, clustered, columnstore, columns, include, filter, options, filegroup })
    }

    // ---- ALTER TABLE ----

    /// Behind ALTER TABLE.
    pub(super) fn alter_table(&mut self) -> Result<AlterTable> {
        let table = self.object_name()?;
        let check = self.with_check();
        let action = match self.tok() {
            Tok::Kw(Kw::ADD) => {
                self.bump();
                AlterTableAction::Add { check, elements: self.added_elements()? }
            }
            Tok::Kw(Kw::CHECK | Kw::NOCHECK) => {
                let enable = self.bump().tok == Tok::Kw(Kw::CHECK);
                self.expect_kw(Kw::CONSTRAINT)?;
                AlterTableAction::CheckConstraint { validate: check, enable, names: self.all_or_names()? }
            }
            Tok::Kw(Kw::ALTER) => {
                self.bump();
                self.expect_kw(Kw::COLUMN)?;
                self.alter_column()?
            }
            Tok::Kw(Kw::DROP) => {
                self.bump();
                AlterTableAction::Drop(self.alter_table_drops()?)
            }
            Tok::Kw(Kw::SET) => {
                self.bump();
                AlterTableAction::Set { options: self.options_in_parentheses()? }
            }
            _ => self.alter_table_word()?,
        };
        Ok(AlterTable { table, action })
    }

    fn with_check(&mut self) -> Option<bool> {
        if !self.at_kw(Kw::WITH) {
            return None;
        }
        let check = match self.tok_ahead(1) {
            Tok::Kw(Kw::CHECK) => true,
            Tok::Kw(Kw::NOCHECK) => false,
            _ => return None,
        };
        self.at += 2;
        Some(check)
    }

    fn alter_table_word(&mut self) -> Result<AlterTableAction> {
        if let Some(word) = self.one_of(&["ENABLE", "DISABLE"]) {
            if self.eat_kw(Kw::TRIGGER) {
                return Ok(AlterTableAction::Trigger {
                    enable: word == "ENABLE",
                    names: self.all_or_names()?,
                });
            }
            let name = SmolStr::from(format!("{word} {}", self.upper_word()?));
            let value = if self.eat_kw(Kw::WITH) {
                OptValue::List(self.options_in_parentheses()?)
            } else {
                OptValue::None
            };
            return Ok(AlterTableAction::Set { options: vec![Opt { name, value, span: self.span() }] });
        }
        if self.eat_word("REBUILD") {
            let partition = self.partition_clause()?;
            return Ok(AlterTableAction::Rebuild { partition, options: self.with_options()? });
        }
        if self.eat_word("SWITCH") {
            let partition = self.switched_partition()?;
            self.expect_kw(Kw::TO)?;
            let target = self.object_name()?;
            let target_partition = self.switched_partition()?;
            self.with_options()?;
            return Ok(AlterTableAction::Switch { partition, target, target_partition });
        }
        Err(self.unexpected())
    }

    /// `PARTITION = ALL | n`
    pub(super) fn partition_clause(&mut self) -> Result<Option<SmolStr>> {
        if !self.eat_word("PARTITION") {
            return Ok(None);
        }
        self.expect(Tok::Eq)?;
        if self.eat_kw(Kw::ALL) {
            return Ok(Some(SmolStr::new_static("ALL")));
        }
        let start = self.span();
        self.expr()?;
        Ok(Some(SmolStr::new(self.since(start).text(self.text))))
    }

    /// Columns and constraints behind ADD; parentheses are not part of the grammar, COLUMN neither.
    fn added_elements(&mut self) -> Result<Vec<TableElement>> {
        let mut elements = vec![self.added_element()?];
        // As in CREATE TABLE, a constraint may follow a column without a comma.
        while self.eat(Tok::Comma) || self.at_table_constraint() {
            elements.push(self.added_element()?);
        }
        Ok(elements)
    }

    fn added_element(&mut self) -> Result<TableElement> {
        if let Tok::Kw(Kw::DEFAULT) = self.tok() {
            return Ok(TableElement::Constraint(self.table_constraint()?));
        }
        self.table_element()
    }

    fn alter_column(&mut self) -> Result<AlterTableAction> {
        let column = self.ident()?;
        if matches!(self.tok(), Tok::Kw(Kw::ADD | Kw::DROP)) {
            let add = self.bump().tok == Tok::Kw(Kw::ADD);
            let name = if self.at_kw(Kw::NOT) {
                self.not_for_replication()?;
                SmolStr::new_static("NOT FOR REPLICATION")
            } else {
                self.upper_word()?
            };
            if name == "MASKED" {
                let action = AlterColumn::Mask(if add { Some(self.mask()?) } else { None });
                return Ok(AlterTableAction::AlterColumn { column, action });
            }
            if self.at_kw(Kw::WITH) && self.tok_ahead(1) == Tok::LParen {
                self.with_options()?;
            }
            return Ok(AlterTableAction::AlterColumn { column, action: AlterColumn::Property { add, name } });
        }
        let ty = self.type_name()?;
        let collation = if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        self.eat_word("SPARSE");
        let mut encrypted = self.encrypted()?;
        let mask = if self.eat_word("MASKED") { Some(self.mask()?) } else { None };
        let nullable = self.nullability()?;
        if encrypted.is_none() {
            encrypted = self.encrypted()?;
        }
        self.eat_word("SPARSE");
        let options = if self.at_kw(Kw::WITH) && self.tok_ahead(1) == Tok::LParen {
            self.bump();
            self.options_in_parentheses()?
        } else {
            Vec::new()
        };
        let action = AlterColumn::Type { ty, collation, encrypted, mask, nullable, options };
        Ok(AlterTableAction::AlterColumn { column, action })
    }

    /// `[CONSTRAINT] [IF EXISTS] a, b, COLUMN c, INDEX d, …`: the word carries over to the names behind it.
    fn alter_table_drops(&mut self) -> Result<Vec<AlterTableDrop>> {
        let (mut what, mut if_exists) = (Dropped::Constraint, false);
        let mut drops = Vec::new();
        loop {
            if self.at_words(&["PERIOD", "FOR", "SYSTEM_TIME"]) {
                let name = self.take_ident();
                self.at += 2;
                drops.push(AlterTableDrop { what: Dropped::Period, if_exists, name, options: Vec::new() });
            } else {
                let word = [
                    (Kw::COLUMN, Dropped::Column),
                    (Kw::CONSTRAINT, Dropped::Constraint),
                    (Kw::INDEX, Dropped::Index),
                ];
                let word = word.into_iter().find(|(word, _)| self.eat_kw(*word));
                if let Some((_, named)) = word {
                    what = named;
                }
                if word.is_some() || drops.is_empty() {
                    if_exists = self.if_exists();
                }
                let name = self.ident()?;
                let options = if self.at_kw(Kw::WITH) && self.tok_ahead(1) == Tok::LParen {
                    self.with_options()?
                } else {
                    Vec::new()
                };
                drops.push(AlterTableDrop { what, if_exists, name, options });
            }
            if !self.eat(Tok::Comma) {
                return Ok(drops);
            }
        }
    }

    pub(super) fn if_exists(&mut self) -> bool {
        self.eat_words(&["IF", "EXISTS"])
    }

    fn all_or_names(&mut self) -> Result<Vec<Ident>> {
        if self.eat_kw(Kw::ALL) { Ok(Vec::new()) } else { self.list(Self::ident) }
    }
}
