//! FROM: tables, joins, derived tables, table-valued functions, PIVOT, hints.

use super::Parser;
use crate::ast::{
    ChangesOf, Expr, ExprKind, Ident, IndexRef, JoinHint, JoinKind, ObjectName, RowsetSchema, SchemaColumn,
    Span, StatementKind, SystemTime, TableHint, TableSample, TableSource, TableSourceKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::StrExt as _;

impl Parser<'_> {
    /// A table source with everything joined to it.
    pub(super) fn table_source(&mut self) -> Result<TableSource> {
        self.nested(Self::joined)
    }

    fn joined(&mut self) -> Result<TableSource> {
        let left = self.table_primary()?;
        self.joined_after(left)
    }

    /// What follows a table source: joins, and PIVOTs of all that stands before them.
    fn joined_after(&mut self, mut left: TableSource) -> Result<TableSource> {
        let mut height = std::mem::take(&mut self.height);
        loop {
            if matches!(self.tok(), Tok::Kw(Kw::PIVOT | Kw::UNPIVOT)) {
                left = self.pivoted(left)?;
            } else if let Some((kind, hint)) = self.join_operator()? {
                left = self.join_with(left, kind, hint)?;
            } else {
                self.height = height;
                return Ok(left);
            }
            height = self.chain(height)?;
        }
    }

    #[inline(never)]
    fn join_with(
        &mut self,
        left: TableSource,
        kind: JoinKind,
        hint: Option<JoinHint>,
    ) -> Result<TableSource> {
        let start = left.span;
        let conditional = !matches!(kind, JoinKind::Cross | JoinKind::CrossApply | JoinKind::OuterApply);
        // `a JOIN b JOIN c ON x ON y` joins b and c first.
        let right = if conditional { self.nested(Self::joined)? } else { self.nested(Self::table_primary)? };
        let on = if conditional {
            self.expect_kw(Kw::ON)?;
            Some(self.condition()?)
        } else {
            None
        };
        let kind = TableSourceKind::Join { left: Box::new(left), right: Box::new(right), kind, hint, on };
        Ok(TableSource { kind, span: self.since(start) })
    }

    fn join_operator(&mut self) -> Result<Option<(JoinKind, Option<JoinHint>)>> {
        let kind = match (self.tok(), self.tok_ahead(1)) {
            (Tok::Kw(Kw::JOIN | Kw::INNER), _) => JoinKind::Inner,
            (Tok::Kw(Kw::LEFT), _) => JoinKind::Left,
            (Tok::Kw(Kw::RIGHT), _) => JoinKind::Right,
            (Tok::Kw(Kw::FULL), _) => JoinKind::Full,
            (Tok::Kw(Kw::CROSS), Tok::Kw(Kw::JOIN)) => {
                self.at += 2;
                return Ok(Some((JoinKind::Cross, None)));
            }
            (Tok::Kw(Kw::CROSS), _) => {
                self.bump();
                self.expect_word("APPLY")?;
                return Ok(Some((JoinKind::CrossApply, None)));
            }
            (Tok::Kw(Kw::OUTER), _) => {
                self.bump();
                self.expect_word("APPLY")?;
                return Ok(Some((JoinKind::OuterApply, None)));
            }
            _ => return Ok(None),
        };
        if !self.at_kw(Kw::JOIN) {
            self.bump();
        }
        if kind != JoinKind::Inner {
            self.eat_kw(Kw::OUTER);
        }
        let hint = match self.one_of(&["LOOP", "HASH", "MERGE", "REMOTE"]) {
            Some("LOOP") => Some(JoinHint::Loop),
            Some("HASH") => Some(JoinHint::Hash),
            Some("MERGE") => Some(JoinHint::Merge),
            Some(_) => Some(JoinHint::Remote),
            None => None,
        };
        self.expect_kw(Kw::JOIN)?;
        Ok(Some((kind, hint)))
    }

    /// PIVOT or UNPIVOT of a table source, joined ones too.
    #[inline(never)]
    fn pivoted(&mut self, source: TableSource) -> Result<TableSource> {
        let start = source.span;
        let kind =
            if self.bump().tok == Tok::Kw(Kw::PIVOT) { self.pivot(source)? } else { self.unpivot(source)? };
        Ok(TableSource { kind, span: self.since(start) })
    }

    /// One table source.
    fn table_primary(&mut self) -> Result<TableSource> {
        let start = self.span();
        let kind = match self.tok() {
            Tok::LParen => {
                let source = self.parenthesized_source()?;
                return self.with_alias(source);
            }
            Tok::LBrace if self.word_ahead(1, "oj") => {
                self.at += 2;
                let inner = self.nested(Self::joined)?;
                self.expect(Tok::RBrace)?;
                return Ok(inner);
            }
            Tok::Variable => self.variable_source()?,
            Tok::DoubleColon => {
                self.bump();
                self.named_source(start)?
            }
            Tok::Kw(Kw::OPENQUERY | Kw::OPENROWSET | Kw::OPENXML | Kw::OPENDATASOURCE) => {
                self.rowset_function()?
            }
            Tok::Kw(Kw::CONTAINSTABLE | Kw::FREETEXTTABLE) => self.full_text_rows()?,
            Tok::Word if self.at_word("CHANGETABLE") && self.tok_ahead(1) == Tok::LParen => {
                self.change_table()?
            }
            _ => self.named_source(start)?,
        };
        Ok(TableSource { kind, span: self.since(start) })
    }

    // ---- parentheses ----

    /// `( query )`, `( VALUES … )`, `( dml )` or `( joined tables )`. Behind two parentheses only what follows the
    /// inner pair tells a query from a join.
    fn parenthesized_source(&mut self) -> Result<TableSource> {
        let start = self.span();
        self.expect(Tok::LParen)?;
        let source = self.nested(|p| p.inside_parentheses(start))?;
        self.expect(Tok::RParen)?;
        Ok(TableSource { kind: source.kind, span: self.since(start) })
    }

    fn inside_parentheses(&mut self, start: Span) -> Result<TableSource> {
        let (alias, columns) = (None, Vec::new());
        let kind = match self.tok() {
            Tok::Kw(Kw::SELECT) => {
                TableSourceKind::Derived { query: Box::new(self.subquery()?), alias, columns }
            }
            Tok::Kw(Kw::VALUES) => {
                self.bump();
                TableSourceKind::Values { rows: self.list(Self::value_row)?, alias, columns }
            }
            Tok::Kw(Kw::INSERT | Kw::UPDATE | Kw::DELETE | Kw::MERGE) => {
                TableSourceKind::Dml { statement: Box::new(self.dml_source()?), alias, columns }
            }
            Tok::LParen => return self.inside_two_parentheses(start),
            _ => return self.joined(),
        };
        Ok(TableSource { kind, span: self.since(start) })
    }

    #[inline(never)]
    fn inside_two_parentheses(&mut self, start: Span) -> Result<TableSource> {
        let inner = self.parenthesized_source()?;
        if !self.at_set_operator() {
            let inner = if self.tok() == Tok::RParen { inner } else { self.with_alias(inner)? };
            return self.joined_after(inner);
        }
        match inner.kind {
            TableSourceKind::Derived { query, alias: None, columns } => {
                let query = Box::new(self.inside_query(|p| p.query_continued(*query))?);
                let kind = TableSourceKind::Derived { query, alias: None, columns };
                Ok(TableSource { kind, span: self.since(start) })
            }
            _ => Err(self.unexpected()),
        }
    }

    #[inline(never)]
    fn dml_source(&mut self) -> Result<crate::ast::Statement> {
        let start = self.span();
        let kind = match self.tok() {
            Tok::Kw(Kw::INSERT) => StatementKind::Insert(Box::new(self.insert(None)?)),
            Tok::Kw(Kw::UPDATE) => StatementKind::Update(Box::new(self.update(None)?)),
            Tok::Kw(Kw::DELETE) => StatementKind::Delete(Box::new(self.delete(None)?)),
            _ => StatementKind::Merge(Box::new(self.merge(None)?)),
        };
        Ok(crate::ast::Statement { kind, span: self.since(start) })
    }

    /// Gives the alias and columns that follow to a derived source; it must have one, a parenthesised join must not.
    #[inline(never)]
    fn with_alias(&mut self, mut source: TableSource) -> Result<TableSource> {
        let start = source.span;
        if let TableSourceKind::Derived { alias, columns, .. }
        | TableSourceKind::Values { alias, columns, .. }
        | TableSourceKind::Dml { alias, columns, .. } = &mut source.kind
            && alias.is_none()
        {
            self.eat_kw(Kw::AS);
            if !self.at_alias() {
                return Err(self.unexpected());
            }
            *alias = Some(self.take_ident());
            *columns = self.optional_ident_list()?;
            source.span = self.since(start);
        }
        Ok(source)
    }

    /// `(a, b, …)` of VALUES; a value may be DEFAULT.
    pub(super) fn value_row(&mut self) -> Result<Vec<crate::ast::Expr>> {
        self.parenthesized_list(Self::argument)
    }

    // ---- names, functions, variables ----

    fn at_alias(&self) -> bool {
        match self.tok() {
            Tok::Quoted => true,
            // A label, and the words that begin a clause right behind a table.
            Tok::Word => {
                self.tok_ahead(1) != Tok::Colon
                    && !(self.at_word("USING")
                        || (self.at_word("WINDOW") && self.tok_ahead(2) == Tok::Kw(Kw::AS)))
            }
            _ => false,
        }
    }

    pub(super) fn table_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::AS) {
            return Ok(Some(self.ident()?));
        }
        Ok(if self.at_alias() { Some(self.take_ident()) } else { None })
    }

    pub(super) fn alias_and_columns(&mut self) -> Result<(Option<Ident>, Vec<Ident>)> {
        let alias = self.table_alias()?;
        let columns = if alias.is_some() { self.optional_ident_list()? } else { Vec::new() };
        Ok((alias, columns))
    }

    #[inline(never)]
    fn named_source(&mut self, start: Span) -> Result<TableSourceKind> {
        let name = self.object_name()?;
        if self.tok() == Tok::LParen && !self.at_old_hints() {
            return self.function_source(name);
        }
        let system_time = self.system_time()?.map(Box::new);
        let mut sample = self.table_sample()?.map(Box::new);
        // The oldest form has the hints before the alias: `t (NOLOCK) a`.
        let mut hints = if self.at_old_hints() { self.table_hints()? } else { Vec::new() };
        let alias = self.table_alias()?;
        if sample.is_none() {
            sample = self.table_sample()?.map(Box::new);
        }
        hints.extend(self.table_hints()?);
        // As old is HOLDLOCK without parentheses.
        if self.eat_kw(Kw::HOLDLOCK) {
            hints.push(TableHint::HoldLock);
        }
        let _ = start;
        Ok(TableSourceKind::Named { name, alias, hints, sample, system_time })
    }

    fn function_source(&mut self, name: ObjectName) -> Result<TableSourceKind> {
        let args = self.call_args()?;
        let schema = self.rowset_schema()?;
        let (alias, columns) = self.alias_and_columns()?;
        self.table_hints()?;
        Ok(TableSourceKind::Function { name, args, schema, alias, columns })
    }

    /// `WITH (column type 'path', …)`
    fn rowset_schema(&mut self) -> Result<Option<RowsetSchema>> {
        if !self.at_kw(Kw::WITH) || self.tok_ahead(1) != Tok::LParen || self.at_hint(2) {
            return Ok(None);
        }
        self.bump();
        Ok(Some(RowsetSchema::Columns(self.parenthesized_list(Self::schema_column)?)))
    }

    fn schema_column(&mut self) -> Result<SchemaColumn> {
        let name = self.ident()?;
        let ty = self.type_name()?;
        let collation = if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        let path = if self.at_string() { Some(self.string()?) } else { None };
        let as_json = self.eat_words(&["AS", "JSON"]);
        Ok(SchemaColumn { name, ty, collation, path, as_json })
    }

    /// OPENQUERY and its kin. What OPENROWSET and OPENDATASOURCE name instead of a text is their last argument, as a column's name is written.
    #[inline(never)]
    fn rowset_function(&mut self) -> Result<TableSourceKind> {
        let name = ObjectName::simple(self.take_ident());
        let mut args;
        if name.name.is("OPENXML") || name.name.is("OPENQUERY") {
            args = self.call_args()?;
        } else {
            self.expect(Tok::LParen)?;
            if name.name.is("OPENROWSET") && self.eat_kw(Kw::BULK) {
                return self.bulk_rowset();
            }
            args = self.provider_arguments(name.name.is("OPENROWSET"))?;
            self.expect(Tok::RParen)?;
            if name.name.is("OPENDATASOURCE") {
                self.expect(Tok::Dot)?;
                args.push(self.named_value()?);
            }
        }
        let schema = if name.name.is("OPENXML") && self.at_kw(Kw::WITH) && self.tok_ahead(1) != Tok::LParen {
            self.bump();
            Some(RowsetSchema::Table(self.object_name()?))
        } else {
            self.rowset_schema()?
        };
        let (alias, columns) = self.alias_and_columns()?;
        Ok(TableSourceKind::Function { name, args, schema, alias, columns })
    }

    /// `'provider', 'connection'`, and with `what` a text or name behind it; the connection may be `'address'; 'login'; 'password'`.
    fn provider_arguments(&mut self, what: bool) -> Result<Vec<Expr>> {
        let mut args = vec![self.text_argument()?];
        self.expect(Tok::Comma)?;
        args.push(self.text_argument()?);
        while self.eat(Tok::Semi) {
            args.push(self.text_argument()?);
        }
        if what {
            self.expect(Tok::Comma)?;
            args.push(if self.at_string() { self.simple_value()? } else { self.named_value()? });
        }
        Ok(args)
    }

    fn text_argument(&mut self) -> Result<Expr> {
        if self.at_string() { self.simple_value() } else { Err(self.unexpected()) }
    }

    /// A table's name as a column's.
    fn named_value(&mut self) -> Result<Expr> {
        let start = self.span();
        let object = self.object_name()?;
        let qualifier = object.schema.map(|schema| {
            Box::new(ObjectName {
                server: None,
                database: None,
                schema: object.database,
                name: schema,
                span: object.span,
            })
        });
        let column = crate::ast::ColumnRef { qualifier, name: object.name };
        Ok(Expr { kind: ExprKind::Column(column), span: self.since(start) })
    }

    /// Behind `OPENROWSET (BULK`: `'file', option, …) AS alias (columns)`
    fn bulk_rowset(&mut self) -> Result<TableSourceKind> {
        if !self.at_string() {
            return Err(self.unexpected());
        }
        let file = self.string()?;
        let mut options = Vec::new();
        while self.eat(Tok::Comma) {
            options.push(self.option()?);
            // ORDER (column, …) UNIQUE
            self.eat_kw(Kw::UNIQUE);
        }
        if options.is_empty() {
            return Err(self.unexpected());
        }
        self.expect(Tok::RParen)?;
        let (alias, columns) = self.alias_and_columns()?;
        Ok(TableSourceKind::Bulk { file, options, alias, columns })
    }

    /// `CHANGETABLE (CHANGES t, @version [, FORCESEEK])`, `CHANGETABLE (VERSION t, (columns), (values) [, FORCESEEK])`
    #[inline(never)]
    fn change_table(&mut self) -> Result<TableSourceKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let version = match self.one_of(&["CHANGES", "VERSION"]) {
            Some(word) => word == "VERSION",
            None => return Err(self.unexpected()),
        };
        let table = self.object_name()?;
        self.expect(Tok::Comma)?;
        let of = if version {
            let columns = self.parenthesized(|p| p.list(Self::ident))?;
            self.expect(Tok::Comma)?;
            ChangesOf::Row { columns, values: self.parenthesized(|p| p.list(Self::expr))? }
        } else {
            ChangesOf::Since(Box::new(self.last_version()?))
        };
        if self.eat(Tok::Comma) {
            self.expect_word("FORCESEEK")?;
        }
        self.expect(Tok::RParen)?;
        let (alias, columns) = self.alias_and_columns()?;
        Ok(TableSourceKind::Changes { table, of, alias, columns })
    }

    fn last_version(&mut self) -> Result<Expr> {
        match (self.tok(), self.tok_ahead(1)) {
            (Tok::Variable | Tok::Int | Tok::Kw(Kw::NULL), Tok::Comma | Tok::RParen)
            | (Tok::Minus, Tok::Int) => self.expr(),
            (Tok::Variable | Tok::Int | Tok::Kw(Kw::NULL), _) => Err(self.unexpected_at(self.at + 1)),
            _ => Err(self.unexpected()),
        }
    }

    #[inline(never)]
    fn variable_source(&mut self) -> Result<TableSourceKind> {
        let variable = self.variable()?;
        if self.eat(Tok::Dot) {
            let method = self.any_word()?;
            let args = self.call_args()?;
            let (alias, columns) = self.alias_and_columns()?;
            return Ok(TableSourceKind::VariableMethod { variable, method, args, alias, columns });
        }
        let alias = self.table_alias()?;
        Ok(TableSourceKind::Variable { variable, alias, hints: self.table_hints()? })
    }

    fn system_time(&mut self) -> Result<Option<SystemTime>> {
        if !self.at_words(&["FOR", "SYSTEM_TIME"]) {
            return Ok(None);
        }
        self.at += 2;
        if self.eat_kw(Kw::ALL) {
            return Ok(Some(SystemTime::All));
        }
        if self.eat_kw(Kw::AS) {
            self.expect_kw(Kw::OF)?;
            return Ok(Some(SystemTime::AsOf(self.moment()?)));
        }
        if self.eat_kw(Kw::FROM) {
            let from = self.moment()?;
            self.expect_kw(Kw::TO)?;
            return Ok(Some(SystemTime::FromTo(from, self.moment()?)));
        }
        if self.eat_kw(Kw::BETWEEN) {
            let from = self.moment()?;
            self.expect_kw(Kw::AND)?;
            return Ok(Some(SystemTime::Between(from, self.moment()?)));
        }
        self.expect_word("CONTAINED")?;
        self.expect_kw(Kw::IN)?;
        self.parenthesized(|p| {
            let from = p.moment()?;
            p.expect(Tok::Comma)?;
            Ok(Some(SystemTime::ContainedIn(from, p.moment()?)))
        })
    }

    /// A time of FOR SYSTEM_TIME: a string or a variable, no expression.
    fn moment(&mut self) -> Result<Expr> {
        match self.tok() {
            Tok::Str | Tok::NStr | Tok::Variable | Tok::Global => self.simple_value(),
            _ => Err(self.unexpected()),
        }
    }

    fn table_sample(&mut self) -> Result<Option<TableSample>> {
        if !self.eat_kw(Kw::TABLESAMPLE) {
            return Ok(None);
        }
        self.eat_word("SYSTEM");
        let (amount, rows) = self.parenthesized(|p| {
            let amount = p.expr()?;
            let rows = p.eat_word("ROWS");
            if !rows {
                p.eat_kw(Kw::PERCENT);
            }
            Ok((amount, rows))
        })?;
        let repeatable =
            if self.eat_word("REPEATABLE") { Some(self.parenthesized(Self::expr)?) } else { None };
        Ok(Some(TableSample { amount, rows, repeatable }))
    }

    // ---- PIVOT ----

    /// `(aggregate FOR column IN ([a], [b])) AS alias`
    #[inline(never)]
    fn pivot(&mut self, source: TableSource) -> Result<TableSourceKind> {
        self.expect(Tok::LParen)?;
        let name = self.object_name()?;
        let argument = self.at + 1;
        let aggregate = Box::new(self.function_call(name)?);
        if !matches!(&aggregate.args[..], [Expr { kind: ExprKind::Column(_), .. }]) {
            return Err(self.unexpected_at(argument));
        }
        self.expect_kw(Kw::FOR)?;
        let column = self.column_ref()?;
        self.expect_kw(Kw::IN)?;
        let values = self.ident_list()?;
        self.expect(Tok::RParen)?;
        self.eat_kw(Kw::AS);
        let alias = self.ident()?;
        Ok(TableSourceKind::Pivot { source: Box::new(source), aggregate, column, values, alias })
    }

    /// `(value FOR name IN (a, b)) AS alias`
    #[inline(never)]
    fn unpivot(&mut self, source: TableSource) -> Result<TableSourceKind> {
        self.expect(Tok::LParen)?;
        let value_column = self.ident()?;
        self.expect_kw(Kw::FOR)?;
        let name_column = self.ident()?;
        self.expect_kw(Kw::IN)?;
        let columns = self.parenthesized_list(Self::column_ref)?;
        self.expect(Tok::RParen)?;
        self.eat_kw(Kw::AS);
        let alias = self.ident()?;
        Ok(TableSourceKind::Unpivot { source: Box::new(source), value_column, name_column, columns, alias })
    }

    // ---- hints ----

    /// `WITH ( hints )` or the old `( hints )`.
    #[inline(never)]
    pub(super) fn table_hints(&mut self) -> Result<Vec<TableHint>> {
        let mut hints = Vec::new();
        loop {
            let with = self.at_kw(Kw::WITH) && self.tok_ahead(1) == Tok::LParen;
            if with {
                self.bump();
            } else if !self.at_old_hints() {
                return Ok(hints);
            }
            self.bump();
            let line = self.token().line;
            loop {
                if !with && self.at_kw(Kw::INDEX) {
                    return Err(self.hint_needs_with());
                }
                hints.push(self.table_hint()?);
                if !self.eat(Tok::Comma) && self.eat(Tok::RParen) {
                    break;
                }
            }
            if contradictory(&hints) {
                return Err(crate::ParseError::new(1047, line, "Conflicting locking hints specified."));
            }
        }
    }

    fn hint_needs_with(&self) -> Box<crate::ParseError> {
        let raw = self.raw(self.token());
        let text = format!(
            "Incorrect syntax near '{raw}'. If this is intended as a part of a table hint, A WITH keyword and parenthesis are now required. See SQL Server Books Online for proper syntax."
        );
        self.error(1018, text)
    }

    /// The hints of what a statement changes: 1065 and 1069 for those that only reading has.
    pub(super) fn target_hints(&mut self) -> Result<Vec<TableHint>> {
        let line = self.token().line;
        let hints = self.table_hints()?;
        if hints
            .iter()
            .any(|h| matches!(h, TableHint::Index(_) | TableHint::ForceSeek(_) | TableHint::ForceScan))
        {
            let text = "Index hints are only allowed in a FROM or OPTION clause.";
            return Err(crate::ParseError::new(1069, line, text).with_severity(16));
        }
        if hints.iter().any(reads_dirty) {
            let text = "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or MERGE statements.";
            return Err(crate::ParseError::new(1065, line, text));
        }
        Ok(hints)
    }

    /// `(NOLOCK)`, `(INDEX = ix)`: without WITH, right behind a table.
    fn at_old_hints(&self) -> bool {
        if self.tok() != Tok::LParen || !self.at_hint(1) {
            return false;
        }
        matches!(self.tok_ahead(2), Tok::RParen | Tok::Comma)
            || (self.tok_ahead(1) == Tok::Kw(Kw::INDEX) && matches!(self.tok_ahead(2), Tok::Eq | Tok::LParen))
    }

    /// Whether the token `ahead` is the word of a table hint.
    fn at_hint(&self, ahead: usize) -> bool {
        let token = self.ahead(ahead);
        matches!(token.tok, Tok::Word | Tok::Kw(Kw::HOLDLOCK | Kw::INDEX))
            && hint_named(&self.raw(token).to_uppercase_smolstr()).is_some()
    }

    pub(super) fn table_hint(&mut self) -> Result<TableHint> {
        let at = self.at;
        let word = self.upper_word()?;
        match hint_named(&word) {
            Some(TableHint::Index(_)) => self.index_hint(),
            Some(TableHint::ForceSeek(_)) if self.tok() == Tok::LParen => {
                let seek = |p: &mut Self| Ok((p.index_ref()?, p.parenthesized_list(Self::ident)?));
                Ok(TableHint::ForceSeek(Some(self.parenthesized(seek)?)))
            }
            Some(hint) => {
                if self.eat(Tok::Eq) {
                    self.simple_value()?;
                }
                Ok(hint)
            }
            None => {
                let token = self.tokens[at];
                let text = format!(
                    "\"{}\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.",
                    self.raw(token)
                );
                Err(crate::ParseError::new(321, token.line, text))
            }
        }
    }

    /// `INDEX (a, 1)` or `INDEX = a`
    fn index_hint(&mut self) -> Result<TableHint> {
        if self.eat(Tok::Eq) && self.tok() != Tok::LParen {
            return Ok(TableHint::Index(vec![self.index_ref()?]));
        }
        Ok(TableHint::Index(self.parenthesized_list(Self::index_ref)?))
    }

    fn index_ref(&mut self) -> Result<IndexRef> {
        if self.tok() == Tok::Int {
            Ok(IndexRef::Number(self.int()?))
        } else {
            Ok(IndexRef::Name(self.ident()?))
        }
    }
}

fn hint_named(word: &str) -> Option<TableHint> {
    Some(match word {
        "NOLOCK" => TableHint::NoLock,
        "READUNCOMMITTED" => TableHint::ReadUncommitted,
        "READCOMMITTED" => TableHint::ReadCommitted,
        "READCOMMITTEDLOCK" => TableHint::ReadCommittedLock,
        "REPEATABLEREAD" => TableHint::RepeatableRead,
        "SERIALIZABLE" => TableHint::Serializable,
        "HOLDLOCK" => TableHint::HoldLock,
        "SNAPSHOT" => TableHint::Snapshot,
        "READPAST" => TableHint::ReadPast,
        "ROWLOCK" => TableHint::RowLock,
        "PAGLOCK" => TableHint::PagLock,
        "TABLOCK" => TableHint::TabLock,
        "TABLOCKX" => TableHint::TabLockX,
        "UPDLOCK" => TableHint::UpdLock,
        "XLOCK" => TableHint::XLock,
        "NOWAIT" => TableHint::NoWait,
        "NOEXPAND" => TableHint::NoExpand,
        "FORCESCAN" => TableHint::ForceScan,
        "FORCESEEK" => TableHint::ForceSeek(None),
        "INDEX" => TableHint::Index(Vec::new()),
        "KEEPIDENTITY" => TableHint::KeepIdentity,
        "KEEPDEFAULTS" => TableHint::KeepDefaults,
        "IGNORE_CONSTRAINTS" => TableHint::IgnoreConstraints,
        "IGNORE_TRIGGERS" => TableHint::IgnoreTriggers,
        "FASTFIRSTROW" => TableHint::FastFirstRow,
        "SPATIAL_WINDOW_MAX_CELLS" => TableHint::Other(word.into()),
        _ => return None,
    })
}

fn reads_dirty(hint: &TableHint) -> bool {
    matches!(hint, TableHint::NoLock | TableHint::ReadUncommitted)
}

/// Whether hints want no locks and locks.
fn contradictory(hints: &[TableHint]) -> bool {
    use TableHint as H;
    let locks = |h: &H| {
        matches!(h, H::XLock | H::UpdLock | H::HoldLock | H::Serializable | H::RepeatableRead | H::TabLockX)
    };
    hints.iter().any(reads_dirty) && hints.iter().any(locks)
}
