//! Full-text search: its statements, predicates and rowset functions.

use super::Parser;
use crate::ast::{
    CatalogChange, ChangeTracking, CreateFullTextIndex, Expr, ExprKind, FullTextColumn, FullTextIndexChange,
    FullTextRows, FullTextStatement, Ident, Population, StatementKind, StoplistChange, StoplistChoice,
    StoplistSource, TableSourceKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;

/// The options of an index's WITH.
#[derive(Default)]
struct IndexOptions {
    tracking: Option<ChangeTracking>,
    no_population: bool,
    stoplist: Option<StoplistChoice>,
    property_list: Option<Ident>,
}

impl Parser<'_> {
    /// Behind its verb, a statement of full-text search; `None` at any other.
    pub(super) fn full_text_statement(&mut self, verb: &str) -> Result<Option<StatementKind>> {
        let classes = ["CATALOG", "INDEX", "STOPLIST"];
        let Some(class) = classes.into_iter().find(|class| self.at_words(&["FULLTEXT", class])) else {
            return Ok(None);
        };
        self.at += 2;
        let statement = match (verb, class) {
            ("CREATE", "CATALOG") => self.create_catalog()?,
            ("ALTER", "CATALOG") => {
                FullTextStatement::AlterCatalog { name: self.ident()?, change: self.catalog_change()? }
            }
            (_, "CATALOG") => FullTextStatement::DropCatalog(self.ident()?),
            ("CREATE", "INDEX") => FullTextStatement::CreateIndex(Box::new(self.create_full_text_index()?)),
            ("ALTER", "INDEX") => {
                self.expect_kw(Kw::ON)?;
                FullTextStatement::AlterIndex { table: self.object_name()?, change: self.index_change()? }
            }
            (_, "INDEX") => {
                self.expect_kw(Kw::ON)?;
                FullTextStatement::DropIndex(self.object_name()?)
            }
            ("CREATE", _) => self.create_stoplist()?,
            ("ALTER", _) => {
                FullTextStatement::AlterStoplist { name: self.ident()?, change: self.stoplist_change()? }
            }
            _ => FullTextStatement::DropStoplist(self.ident()?),
        };
        Ok(Some(StatementKind::FullText(Box::new(statement))))
    }

    // ---- catalogs ----

    fn create_catalog(&mut self) -> Result<FullTextStatement> {
        let name = self.ident()?;
        let (mut accents, mut default) = (None, false);
        if self.eat_words(&["ON", "FILEGROUP"]) {
            self.filegroup_name()?;
        }
        if self.eat_words(&["IN", "PATH"]) {
            self.string()?;
        }
        if self.eat_kw(Kw::WITH) {
            accents = Some(self.accent_sensitivity()?);
        }
        if self.eat_words(&["AS", "DEFAULT"]) {
            default = true;
        }
        Ok(FullTextStatement::CreateCatalog { name, accents, default, owner: self.full_text_owner()? })
    }

    fn full_text_owner(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::AUTHORIZATION) { self.ident().map(Some) } else { Ok(None) }
    }

    fn accent_sensitivity(&mut self) -> Result<bool> {
        self.expect_word("ACCENT_SENSITIVITY")?;
        self.expect(Tok::Eq)?;
        self.on_off()
    }

    fn catalog_change(&mut self) -> Result<CatalogChange> {
        if self.eat_words(&["AS", "DEFAULT"]) {
            return Ok(CatalogChange::AsDefault);
        }
        match self.one_of(&["REBUILD", "REORGANIZE"]) {
            Some("REORGANIZE") => Ok(CatalogChange::Reorganize),
            Some(_) if self.eat_kw(Kw::WITH) => Ok(CatalogChange::Rebuild(Some(self.accent_sensitivity()?))),
            Some(_) => Ok(CatalogChange::Rebuild(None)),
            None => Err(self.unexpected()),
        }
    }

    // ---- indexes ----

    fn create_full_text_index(&mut self) -> Result<CreateFullTextIndex> {
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let columns = match self.tok() {
            Tok::LParen => self.parenthesized_list(Self::full_text_column)?,
            _ => Vec::new(),
        };
        self.expect_words(&["KEY", "INDEX"])?;
        let key_index = self.ident()?;
        let catalog = if self.eat_kw(Kw::ON) { self.catalog_and_filegroup()? } else { None };
        let options = if self.eat_kw(Kw::WITH) { self.index_options()? } else { IndexOptions::default() };
        let IndexOptions { tracking, no_population, stoplist, property_list } = options;
        Ok(CreateFullTextIndex {
            table,
            columns,
            key_index,
            catalog,
            tracking,
            no_population,
            stoplist,
            property_list,
        })
    }

    /// `column [TYPE COLUMN c] [LANGUAGE l] [STATISTICAL_SEMANTICS]`
    fn full_text_column(&mut self) -> Result<FullTextColumn> {
        let name = self.ident()?;
        let type_column = if self.eat_words(&["TYPE", "COLUMN"]) { Some(self.ident()?) } else { None };
        let language = if self.eat_word("LANGUAGE") { Some(self.language_term()?) } else { None };
        let semantics = self.eat_word("STATISTICAL_SEMANTICS");
        Ok(FullTextColumn { name, type_column, language, semantics })
    }

    /// A number, a string or a name; in queries a variable too.
    fn language_term(&mut self) -> Result<Expr> {
        if self.at_ident() {
            return Ok(Self::word_as_string(self.take_ident()));
        }
        self.simple_value()
    }

    /// `catalog`, `(catalog, FILEGROUP f)`, `(FILEGROUP f [, catalog])`
    fn catalog_and_filegroup(&mut self) -> Result<Option<Ident>> {
        if self.tok() != Tok::LParen {
            return self.ident().map(Some);
        }
        let parts = self.parenthesized_list(|p| {
            if p.eat_word("FILEGROUP") { p.filegroup_name().map(|_| None) } else { p.ident().map(Some) }
        })?;
        Ok(parts.into_iter().flatten().next())
    }

    fn index_options(&mut self) -> Result<IndexOptions> {
        let closed = self.eat(Tok::LParen);
        let mut options = IndexOptions::default();
        loop {
            if self.eat_word("CHANGE_TRACKING") {
                self.eat(Tok::Eq);
                options.tracking = Some(self.tracking()?);
            } else if self.eat_words(&["NO", "POPULATION"]) {
                options.no_population = true;
            } else if self.eat_word("STOPLIST") {
                self.eat(Tok::Eq);
                options.stoplist = Some(self.stoplist_choice()?);
            } else if self.eat_words(&["SEARCH", "PROPERTY", "LIST"]) {
                self.eat(Tok::Eq);
                options.property_list = if self.eat_word("OFF") { None } else { Some(self.ident()?) };
            } else {
                return Err(self.unexpected());
            }
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        if closed {
            self.expect(Tok::RParen)?;
        }
        Ok(options)
    }

    fn tracking(&mut self) -> Result<ChangeTracking> {
        match self.one_of(&["AUTO", "MANUAL", "OFF"]) {
            Some("AUTO") => Ok(ChangeTracking::Auto),
            Some("MANUAL") => Ok(ChangeTracking::Manual),
            Some(_) => Ok(ChangeTracking::Off),
            None => Err(self.unexpected()),
        }
    }

    fn stoplist_choice(&mut self) -> Result<StoplistChoice> {
        if self.eat_word("OFF") {
            return Ok(StoplistChoice::Off);
        }
        if self.eat_word("SYSTEM") {
            return Ok(StoplistChoice::System);
        }
        self.ident().map(StoplistChoice::Named)
    }

    fn no_population(&mut self) -> Result<bool> {
        if !self.eat_kw(Kw::WITH) {
            return Ok(false);
        }
        self.expect_words(&["NO", "POPULATION"])?;
        Ok(true)
    }

    /// Behind `ALTER FULLTEXT INDEX ON table`.
    fn index_change(&mut self) -> Result<FullTextIndexChange> {
        use FullTextIndexChange as Change;
        let verbs = ["ENABLE", "DISABLE", "ADD", "DROP", "ALTER", "START", "STOP", "PAUSE", "RESUME", "SET"];
        let change = match self.one_of(&verbs) {
            Some("ENABLE") => Change::Enable,
            Some("DISABLE") => Change::Disable,
            Some("ADD") => {
                let columns = self.parenthesized_list(Self::full_text_column)?;
                Change::Add { columns, no_population: self.no_population()? }
            }
            Some("DROP") => {
                let columns = self.parenthesized_list(Self::ident)?;
                Change::Drop { columns, no_population: self.no_population()? }
            }
            Some("ALTER") => {
                self.expect_words(&["COLUMN"])?;
                let column = self.ident()?;
                let add = self.eat_word("ADD");
                if !add {
                    self.expect_words(&["DROP"])?;
                }
                self.expect_word("STATISTICAL_SEMANTICS")?;
                self.no_population()?;
                Change::Semantics { column, add }
            }
            Some("SET") => return self.index_setting(),
            Some("START") => {
                let kind = match self.one_of(&["FULL", "INCREMENTAL", "UPDATE"]) {
                    Some("FULL") => Population::Full,
                    Some("INCREMENTAL") => Population::Incremental,
                    Some(_) => Population::Update,
                    None => return Err(self.unexpected()),
                };
                self.expect_word("POPULATION")?;
                Change::Start(kind)
            }
            Some(verb) => {
                self.expect_word("POPULATION")?;
                match verb {
                    "STOP" => Change::Stop,
                    "PAUSE" => Change::Pause,
                    _ => Change::Resume,
                }
            }
            None => return Err(self.unexpected()),
        };
        Ok(change)
    }

    fn index_setting(&mut self) -> Result<FullTextIndexChange> {
        if self.eat_word("CHANGE_TRACKING") {
            self.eat(Tok::Eq);
            return self.tracking().map(FullTextIndexChange::Tracking);
        }
        if self.eat_word("STOPLIST") {
            self.eat(Tok::Eq);
            let choice = self.stoplist_choice()?;
            return Ok(FullTextIndexChange::Stoplist { choice, no_population: self.no_population()? });
        }
        self.expect_words(&["SEARCH", "PROPERTY", "LIST"])?;
        self.eat(Tok::Eq);
        let list = if self.eat_word("OFF") { None } else { Some(self.ident()?) };
        self.no_population()?;
        Ok(FullTextIndexChange::PropertyList(list))
    }

    // ---- stop lists ----

    fn create_stoplist(&mut self) -> Result<FullTextStatement> {
        let name = self.ident()?;
        let mut from = None;
        if self.eat_kw(Kw::FROM) {
            from = Some(if self.eat_words(&["SYSTEM", "STOPLIST"]) {
                StoplistSource::System
            } else {
                let first = self.ident()?;
                match self.eat(Tok::Dot) {
                    true => StoplistSource::Named { database: Some(first), name: self.ident()? },
                    false => StoplistSource::Named { database: None, name: first },
                }
            });
        }
        Ok(FullTextStatement::CreateStoplist { name, from, owner: self.full_text_owner()? })
    }

    fn stoplist_change(&mut self) -> Result<StoplistChange> {
        if self.eat_word("ADD") {
            let word = self.string()?;
            self.expect_word("LANGUAGE")?;
            return Ok(StoplistChange::Add { word, language: self.language_term()? });
        }
        self.expect_words(&["DROP"])?;
        if self.eat_kw(Kw::ALL) {
            let language = if self.eat_word("LANGUAGE") { Some(self.language_term()?) } else { None };
            return Ok(StoplistChange::DropAll(language));
        }
        let word = self.string()?;
        self.expect_word("LANGUAGE")?;
        Ok(StoplistChange::Drop { word, language: self.language_term()? })
    }

    // ---- queries ----

    /// `CONTAINS(column | (columns) | [t.]* | ([t.]*), search [, LANGUAGE l])`
    #[inline(never)]
    pub(super) fn full_text(&mut self) -> Result<Expr> {
        let start = self.span();
        let contains = self.bump().tok == Tok::Kw(Kw::CONTAINS);
        self.expect(Tok::LParen)?;
        let parenthesis = self.eat(Tok::LParen);
        let (mut columns, mut table) = (Vec::new(), None);
        if !self.eat(Tok::Star) {
            table = self.qualified_star()?;
            if table.is_none() {
                columns.push(self.column_ref()?);
                while parenthesis && self.eat(Tok::Comma) {
                    columns.push(self.column_ref()?);
                }
            }
        }
        if parenthesis {
            self.expect(Tok::RParen)?;
        }
        self.expect(Tok::Comma)?;
        let search = Box::new(self.search_value()?);
        let mut language = None;
        if self.eat(Tok::Comma) {
            self.expect_word("LANGUAGE")?;
            language = Some(Box::new(self.language_term()?));
        }
        self.expect(Tok::RParen)?;
        let kind = ExprKind::FullText { contains, columns, table, search, language };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `t.*`, of which the table; nothing is taken where it is something else.
    fn qualified_star(&mut self) -> Result<Option<Box<crate::ast::ObjectName>>> {
        let mut ahead = 0;
        while self.tok_ahead(ahead + 1) == Tok::Dot && self.tok_ahead(ahead + 2) != Tok::Star {
            ahead += 2;
        }
        if self.tok_ahead(ahead + 1) != Tok::Dot {
            return Ok(None);
        }
        let start = self.span();
        let mut parts = vec![Some(self.ident()?)];
        while self.eat(Tok::Dot) && !self.eat(Tok::Star) {
            parts.push(Some(self.ident()?));
        }
        Ok(Some(Box::new(self.name_of(parts, start)?)))
    }

    /// What is searched for: a string or a variable.
    fn search_value(&mut self) -> Result<Expr> {
        match self.tok() {
            Tok::Str | Tok::NStr | Tok::Variable | Tok::Kw(Kw::NULL) => self.simple_value(),
            _ => Err(self.unexpected()),
        }
    }

    /// `CONTAINSTABLE (…)` and `FREETEXTTABLE (…)` with their alias.
    #[inline(never)]
    pub(super) fn full_text_rows(&mut self) -> Result<TableSourceKind> {
        let contains = self.bump().tok == Tok::Kw(Kw::CONTAINSTABLE);
        self.expect(Tok::LParen)?;
        let table = self.object_name()?;
        self.expect(Tok::Comma)?;
        let columns = if self.eat(Tok::Star) {
            Vec::new()
        } else if self.tok() == Tok::LParen {
            self.parenthesized_list(Self::ident)?
        } else {
            vec![self.ident()?]
        };
        self.expect(Tok::Comma)?;
        let search = self.search_value()?;
        let (mut language, mut top) = (None, None);
        while self.eat(Tok::Comma) {
            if language.is_none() && top.is_none() && self.eat_word("LANGUAGE") {
                language = Some(self.language_term()?);
            } else if top.is_none() {
                top = Some(self.simple_value()?);
            } else {
                return Err(self.unexpected());
            }
        }
        self.expect(Tok::RParen)?;
        let rows = FullTextRows { contains, table, columns, search, language, top };
        let (alias, columns) = self.alias_and_columns()?;
        Ok(TableSourceKind::FullText { rows: Box::new(rows), alias, columns })
    }
}
