//! SELECT and set operations, CTEs, FOR and OPTION.

use super::Parser;
use crate::ast::{
    AssignOp, BinaryOp, Cte, ForClause, ForJson, ForXml, GroupBy, GroupItem, GroupWith, Ident, NamedWindow,
    Namespace, ObjectName, Offset, Query, QueryBody, QueryHint, Select, SelectItem, SelectStatement, SetOp,
    TableSource, TableSourceKind, Top, With, XmlMode,
};
use crate::error::{ParseError, Result};
use crate::keyword::Kw;
use crate::lexer::{self, Tok};
use smol_str::{SmolStr, StrExt as _};

/// First words of query hints that are read over.
const OTHER_HINTS: [&str; 23] = [
    "CONCAT",
    "DISABLE",
    "DISABLE_OPTIMIZED_PLAN_FORCING",
    "EXPAND",
    "FOR",
    "FORCE",
    "HASH",
    "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
    "KEEP",
    "KEEPFIXED",
    "LOOP",
    "MAX_GRANT_PERCENT",
    "MERGE",
    "MIN_GRANT_PERCENT",
    "NO_PERFORMANCE_SPOOL",
    "OPTIMIZE",
    "ORDER",
    "PARAMETERIZATION",
    "QUERYRULEOFF",
    "QUERYRULEON",
    "QUERYTRACEON",
    "ROBUST",
    "USE",
];

/// Those of one word; nothing else stands alone.
const HINTS_IN_FULL: [&str; 3] =
    ["DISABLE_OPTIMIZED_PLAN_FORCING", "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX", "NO_PERFORMANCE_SPOOL"];

impl Parser<'_> {
    /// `[WITH …] SELECT … [OPTION (…)]`
    pub(super) fn select_statement(&mut self) -> Result<SelectStatement> {
        let with = if self.at_kw(Kw::WITH) { Some(self.with_clause()?) } else { None };
        self.select_after(with)
    }

    pub(super) fn select_after(&mut self, with: Option<With>) -> Result<SelectStatement> {
        if !matches!(self.tok(), Tok::Kw(Kw::SELECT) | Tok::LParen) {
            return Err(self.unexpected());
        }
        let mut query = self.query()?;
        let options = self.option_clause()?;
        // The product takes FOR behind OPTION too.
        if query.for_clause.is_none() {
            query.for_clause = self.for_clause()?;
        }
        Ok(SelectStatement { with, query, options })
    }

    /// `WITH [CHANGE_TRACKING_CONTEXT (…) ,] [XMLNAMESPACES (…) ,] name [(columns)] AS (query), …`
    #[inline(never)]
    pub(super) fn with_clause(&mut self) -> Result<With> {
        self.expect_kw(Kw::WITH)?;
        let mut with = With { change_context: None, namespaces: Vec::new(), ctes: Vec::new() };
        if self.at_word("CHANGE_TRACKING_CONTEXT") {
            self.bump();
            with.change_context = Some(Box::new(self.parenthesized(Self::variable_or_binary)?));
            if !self.eat(Tok::Comma) {
                return Ok(with);
            }
        }
        if self.at_word("XMLNAMESPACES") {
            self.bump();
            with.namespaces = self.parenthesized(|p| p.list(Self::namespace))?;
            if !self.eat(Tok::Comma) {
                return Ok(with);
            }
        }
        with.ctes = self.list(Self::cte)?;
        Ok(with)
    }

    fn variable_or_binary(&mut self) -> Result<crate::ast::Expr> {
        match self.tok() {
            Tok::Variable | Tok::Binary => self.simple_value(),
            _ => Err(self.unexpected()),
        }
    }

    fn namespace(&mut self) -> Result<Namespace> {
        if self.eat_kw(Kw::DEFAULT) {
            return Ok(Namespace { prefix: None, uri: self.string()? });
        }
        let uri = self.string()?;
        self.expect_kw(Kw::AS)?;
        Ok(Namespace { prefix: Some(self.ident()?.text), uri })
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.ident()?;
        let columns = self.optional_ident_list()?;
        self.expect_kw(Kw::AS)?;
        let query = self.parenthesized(|p| {
            if p.at_kw(Kw::WITH) {
                return Err(p.unexpected());
            }
            p.subquery()
        })?;
        Ok(Cte { name, columns, query })
    }

    /// A query expression with its ORDER BY and FOR.
    pub(super) fn query(&mut self) -> Result<Query> {
        let start = self.span();
        let body = self.nested(Self::union)?;
        let query = self.query_tail(body, start)?;
        self.query_more(query)
    }

    /// A query inside of a statement, where the terms of set operations may have an ORDER BY each.
    pub(super) fn subquery(&mut self) -> Result<Query> {
        self.inside_query(Self::query)
    }

    /// Runs `f` where the terms of set operations may have an ORDER BY.
    pub(super) fn inside_query<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.ordered_terms, true);
        let result = f(self);
        self.ordered_terms = outer;
        result
    }

    /// The set operators behind what turns out to be an ordered term.
    fn query_more(&mut self, query: Query) -> Result<Query> {
        let ordered = !query.order_by.is_empty() || matches!(query.body, QueryBody::Set { .. });
        if self.ordered_terms && ordered && self.at_set_operator() {
            return self.nested(|p| p.query_continued(query));
        }
        Ok(query)
    }

    pub(super) fn at_set_operator(&self) -> bool {
        matches!(self.tok(), Tok::Kw(Kw::UNION | Kw::EXCEPT | Kw::INTERSECT))
    }

    /// A query whose first, parenthesised, term is parsed already.
    pub(super) fn query_continued(&mut self, first: Query) -> Result<Query> {
        let start = first.span;
        let first = ordered_term(first);
        let body = self.nested(|p| {
            let first = p.intersect_after(first)?;
            p.union_after(first)
        })?;
        let query = self.query_tail(body, start)?;
        self.query_more(query)
    }

    #[inline(never)]
    fn query_tail(&mut self, mut body: QueryBody, start: crate::ast::Span) -> Result<Query> {
        let mut order_by = if self.at_kw(Kw::ORDER) { self.order_by()? } else { Vec::new() };
        if !order_by.is_empty() && self.at_fetch_alone() {
            let text = "Invalid usage of the option next in the FETCH statement.";
            return Err(ParseError::new(153, self.token().line, text).with_state(2));
        }
        let offset = if !order_by.is_empty() && self.at_word("OFFSET") { Some(self.offset()?) } else { None };
        if self.ordered_terms && !order_by.is_empty() && offset.is_none() {
            order_last_term(&mut body, &mut order_by);
        }
        let for_clause = self.for_clause()?;
        Ok(Query { body, order_by, offset, for_clause, span: self.since(start) })
    }

    /// `FETCH NEXT 5 …` where an OFFSET is missing in front; `FETCH NEXT FROM` is a statement about a cursor.
    fn at_fetch_alone(&self) -> bool {
        self.at_kw(Kw::FETCH)
            && matches!(self.tok_ahead(1), Tok::Word)
            && matches!(self.tok_ahead(2), Tok::Int | Tok::LParen | Tok::Variable)
    }

    fn union(&mut self) -> Result<QueryBody> {
        let first = self.intersect()?;
        self.union_after(first)
    }

    fn union_after(&mut self, mut left: QueryBody) -> Result<QueryBody> {
        let mut height = std::mem::take(&mut self.height);
        while let Tok::Kw(kw @ (Kw::UNION | Kw::EXCEPT)) = self.tok() {
            self.bump();
            let op = if kw == Kw::UNION { SetOp::Union } else { SetOp::Except };
            let all = self.eat_kw(Kw::ALL);
            let right = self.intersect()?;
            height = if extends(&left, op, all) {
                height.max(std::mem::take(&mut self.height))
            } else {
                self.chain(height)?
            };
            left = combine(op, all, left, right);
        }
        self.height = height;
        Ok(left)
    }

    fn intersect(&mut self) -> Result<QueryBody> {
        let first = self.query_term()?;
        self.intersect_after(first)
    }

    fn intersect_after(&mut self, mut left: QueryBody) -> Result<QueryBody> {
        while self.eat_kw(Kw::INTERSECT) {
            let all = self.eat_kw(Kw::ALL);
            let right = self.query_term()?;
            left = combine(SetOp::Intersect, all, left, right);
        }
        Ok(left)
    }

    fn query_term(&mut self) -> Result<QueryBody> {
        if self.tok() == Tok::LParen {
            if self.ordered_terms {
                return Ok(ordered_term(self.parenthesized(Self::query)?));
            }
            return self.parenthesized(Self::union);
        }
        Ok(QueryBody::Select(Box::new(self.select_block()?)))
    }

    #[inline(never)]
    fn select_block(&mut self) -> Result<Select> {
        let start = self.span();
        self.expect_kw(Kw::SELECT)?;
        let distinct = self.eat_kw(Kw::DISTINCT);
        if !distinct {
            self.eat_kw(Kw::ALL);
        }
        let top = self.top()?;
        let items = self.list(Self::select_item)?;
        let into = if self.eat_kw(Kw::INTO) { Some(self.select_into()?) } else { None };
        let from = self.optional_from()?;
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.condition()?) } else { None };
        let group_by = if self.at_kw(Kw::GROUP) { Some(self.group_by()?) } else { None };
        let having = if self.eat_kw(Kw::HAVING) { Some(self.condition()?) } else { None };
        let windows = self.windows()?;
        let span = self.since(start);
        Ok(Select { distinct, top, items, into, from, filter, group_by, having, windows, span })
    }

    /// `INTO t [ON filegroup]`
    #[inline(never)]
    fn select_into(&mut self) -> Result<ObjectName> {
        let name = self.object_name()?;
        if self.eat_kw(Kw::ON) {
            self.any_word()?;
        }
        Ok(name)
    }

    pub(super) fn optional_from(&mut self) -> Result<Vec<crate::ast::TableSource>> {
        let mut sources = Vec::new();
        if !self.eat_kw(Kw::FROM) {
            return Ok(sources);
        }
        // A comma is a join: the list becomes a tree as tall as it is long.
        sources.push(self.table_source()?);
        let mut height = std::mem::take(&mut self.height);
        while self.eat(Tok::Comma) {
            sources.push(self.table_source()?);
            height = self.chain(height)?;
        }
        self.height = height;
        Ok(sources)
    }

    #[inline(never)]
    pub(super) fn top(&mut self) -> Result<Option<Top>> {
        if !self.eat_kw(Kw::TOP) {
            return Ok(None);
        }
        let count = match (self.tok(), self.tok_ahead(1)) {
            (Tok::LParen, Tok::Kw(Kw::SELECT)) => self.parenthesis(false)?,
            (Tok::LParen, _) => self.parenthesized(Self::expr)?,
            _ => self.simple_value()?,
        };
        let percent = self.eat_kw(Kw::PERCENT);
        let with_ties = self.at_words(&["WITH", "TIES"]);
        if with_ties {
            self.at += 2;
        }
        Ok(Some(Top { count, percent, with_ties }))
    }

    #[inline(never)]
    pub(super) fn select_item(&mut self) -> Result<SelectItem> {
        let start = self.span();
        if let Some(qualifier) = self.star()? {
            return Ok(SelectItem::Star { qualifier, span: self.since(start) });
        }
        if self.tok() == Tok::Variable
            && let Some(op) = assign_op(self.tok_ahead(1))
        {
            let variable = self.variable()?;
            self.bump();
            return Ok(SelectItem::Assign { variable, op, value: self.expr()? });
        }
        if matches!(self.tok(), Tok::Word | Tok::Quoted | Tok::Str | Tok::NStr)
            && self.tok_ahead(1) == Tok::Eq
        {
            let line = self.token().line;
            let alias = self.take_ident();
            if alias.text.is_empty() {
                return Err(empty_name(line));
            }
            let alias = Some(alias);
            self.bump();
            return Ok(SelectItem::Expr { expr: self.expr()?, alias });
        }
        let expr = self.expr()?;
        let alias = self.column_alias()?;
        Ok(SelectItem::Expr { expr, alias })
    }

    /// `*`, `t.*`, `a.b.*`: `None` if something else follows.
    #[allow(clippy::option_option, reason = "outer: is it a star; inner: its qualifier")]
    #[inline(never)]
    fn star(&mut self) -> Result<Option<Option<ObjectName>>> {
        if self.eat(Tok::Star) {
            return Ok(Some(None));
        }
        let mut dots = 0;
        while matches!(self.tok_ahead(dots), Tok::Word | Tok::Quoted | Tok::Kw(_)) && dots < 8 {
            if self.tok_ahead(dots + 1) != Tok::Dot {
                return Ok(None);
            }
            dots += 2;
            while self.tok_ahead(dots) == Tok::Dot && dots < 8 {
                dots += 1;
            }
        }
        if dots == 0 || self.tok_ahead(dots) != Tok::Star {
            return Ok(None);
        }
        let start = self.span();
        let mut parts = vec![Some(self.ident()?)];
        loop {
            self.expect(Tok::Dot)?;
            match self.tok() {
                Tok::Star => break,
                Tok::Dot => parts.push(None),
                _ => parts.push(Some(self.ident()?)),
            }
        }
        let qualifier = self.name_of(parts, start)?;
        self.bump();
        Ok(Some(Some(qualifier)))
    }

    /// `AS name`, `AS 'name'`, `name`, `'name'`
    fn column_alias(&mut self) -> Result<Option<Ident>> {
        let line = self.token().line;
        let alias = self.written_alias()?;
        match &alias {
            Some(alias) if alias.text.is_empty() => Err(empty_name(line)),
            _ => Ok(alias),
        }
    }

    fn written_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::AS) {
            return Ok(Some(self.ident_or_string()?));
        }
        let follows = match self.tok() {
            Tok::Word => self.tok_ahead(1) != Tok::Colon,
            Tok::Quoted | Tok::Str | Tok::NStr => true,
            _ => false,
        };
        Ok(if follows { Some(self.take_ident()) } else { None })
    }

    #[inline(never)]
    fn group_by(&mut self) -> Result<GroupBy> {
        self.bump();
        self.expect_kw(Kw::BY)?;
        let all = self.eat_kw(Kw::ALL);
        let items = self.list(Self::group_item)?;
        let with = if self.at_words(&["WITH", "ROLLUP"]) {
            Some(GroupWith::Rollup)
        } else if self.at_words(&["WITH", "CUBE"]) {
            Some(GroupWith::Cube)
        } else {
            None
        };
        if with.is_some() {
            self.at += 2;
        }
        Ok(GroupBy { items, with, all })
    }

    fn group_item(&mut self) -> Result<GroupItem> {
        if self.at_word("ROLLUP") && self.tok_ahead(1) == Tok::LParen {
            self.bump();
            return Ok(GroupItem::Rollup(self.parenthesized_list(Self::composite)?));
        }
        if self.at_word("CUBE") && self.tok_ahead(1) == Tok::LParen {
            self.bump();
            return Ok(GroupItem::Cube(self.parenthesized_list(Self::composite)?));
        }
        if self.eat_words(&["GROUPING", "SETS"]) {
            return Ok(GroupItem::GroupingSets(self.parenthesized_list(Self::grouping_set)?));
        }
        if self.tok() == Tok::LParen && self.tok_ahead(1) == Tok::RParen {
            self.at += 2;
            return Ok(GroupItem::Composite(Vec::new()));
        }
        Ok(GroupItem::Expr(self.expr()?))
    }

    fn grouping_set(&mut self) -> Result<GroupItem> {
        if self.tok() == Tok::LParen {
            return Ok(GroupItem::Composite(self.composite()?));
        }
        self.nested(Self::group_item)
    }

    /// `a`, `()` or `(a, b)`. A parenthesis that begins a longer expression (`(a + b) * 2`) is not a composite.
    fn composite(&mut self) -> Result<Vec<crate::ast::Expr>> {
        if self.tok() != Tok::LParen {
            return Ok(vec![self.expr()?]);
        }
        self.bump();
        let items = if self.tok() == Tok::RParen { Vec::new() } else { self.nested(|p| p.list(Self::expr))? };
        self.expect(Tok::RParen)?;
        Ok(items)
    }

    #[inline(never)]
    fn windows(&mut self) -> Result<Vec<NamedWindow>> {
        let follows = self.at_word("WINDOW")
            && matches!(self.tok_ahead(1), Tok::Word | Tok::Quoted)
            && self.tok_ahead(2) == Tok::Kw(Kw::AS);
        if !follows {
            return Ok(Vec::new());
        }
        self.bump();
        self.list(|p| {
            let name = p.ident()?;
            p.expect_kw(Kw::AS)?;
            Ok(NamedWindow { name, over: p.parenthesized(Self::window)? })
        })
    }

    #[inline(never)]
    fn offset(&mut self) -> Result<Offset> {
        self.bump();
        let skip = self.expr()?;
        self.rows_word()?;
        let mut fetch = None;
        if self.eat_kw(Kw::FETCH) {
            if self.one_of(&["NEXT", "FIRST"]).is_none() {
                return Err(self.unexpected());
            }
            fetch = Some(self.expr()?);
            self.rows_word()?;
            self.expect_word("ONLY")?;
        }
        Ok(Offset { skip, fetch })
    }

    fn rows_word(&mut self) -> Result<()> {
        if self.one_of(&["ROWS", "ROW"]).is_some() { Ok(()) } else { Err(self.unexpected()) }
    }

    // ---- FOR ----

    #[inline(never)]
    fn for_clause(&mut self) -> Result<Option<ForClause>> {
        if !self.at_kw(Kw::FOR) {
            return Ok(None);
        }
        if self.word_ahead(1, "XML") {
            self.at += 2;
            return Ok(Some(self.for_xml()?));
        }
        if self.word_ahead(1, "JSON") {
            self.at += 2;
            return Ok(Some(self.for_json()?));
        }
        if self.tok_ahead(1) == Tok::Kw(Kw::BROWSE) {
            self.at += 2;
            return Ok(Some(ForClause::Browse));
        }
        Ok(None)
    }

    fn for_xml(&mut self) -> Result<ForClause> {
        let mode = match self.one_of(&["RAW", "AUTO", "EXPLICIT", "PATH"]) {
            Some("RAW") => XmlMode::Raw,
            Some("AUTO") => XmlMode::Auto,
            Some("EXPLICIT") => XmlMode::Explicit,
            Some(_) => XmlMode::Path,
            None => return Err(self.unexpected()),
        };
        let mut clause = ForXml { element: self.optional_name_in_parentheses()?, ..ForXml::new(mode) };
        while self.eat(Tok::Comma) {
            match self.upper_word()?.as_str() {
                "TYPE" => clause.type_directive = true,
                "ROOT" => clause.root = Some(self.optional_name_in_parentheses()?),
                "ELEMENTS" => {
                    clause.elements = true;
                    clause.xsinil = self.one_of(&["XSINIL", "ABSENT"]) == Some("XSINIL");
                }
                "BINARY" => {
                    self.expect_word("BASE64")?;
                    clause.binary_base64 = true;
                }
                "XMLSCHEMA" => {
                    self.optional_name_in_parentheses()?;
                    clause.schema = Some("XMLSCHEMA");
                }
                "XMLDATA" => clause.schema = Some("XMLDATA"),
                _ => return Err(self.unexpected_at(self.at - 1)),
            }
        }
        Ok(ForClause::Xml(clause))
    }

    fn for_json(&mut self) -> Result<ForClause> {
        let path = match self.one_of(&["AUTO", "PATH"]) {
            Some(mode) => mode == "PATH",
            None => return Err(self.unexpected()),
        };
        let (mut root, mut include_null_values, mut without_array_wrapper) = (None, false, false);
        while self.eat(Tok::Comma) {
            match self.upper_word()?.as_str() {
                "ROOT" => root = Some(self.optional_name_in_parentheses()?),
                "INCLUDE_NULL_VALUES" => include_null_values = true,
                "WITHOUT_ARRAY_WRAPPER" => without_array_wrapper = true,
                _ => return Err(self.unexpected_at(self.at - 1)),
            }
        }
        Ok(ForClause::Json(ForJson { path, root, include_null_values, without_array_wrapper }))
    }

    fn optional_name_in_parentheses(&mut self) -> Result<Option<SmolStr>> {
        if self.tok() == Tok::LParen { Ok(Some(self.parenthesized(Self::string)?)) } else { Ok(None) }
    }

    // ---- OPTION ----

    #[inline(never)]
    pub(super) fn option_clause(&mut self) -> Result<Vec<QueryHint>> {
        if !self.eat_kw(Kw::OPTION) {
            return Ok(Vec::new());
        }
        self.parenthesized_list(Self::query_hint)
    }

    fn query_hint(&mut self) -> Result<QueryHint> {
        let at = self.at;
        let hint = match self.upper_word()?.as_str() {
            "RECOMPILE" => QueryHint::Recompile,
            "MAXRECURSION" => QueryHint::MaxRecursion(self.int()?),
            "MAXDOP" => QueryHint::MaxDop(self.int()?),
            "FAST" => QueryHint::Fast(self.bigint()?),
            "FORCE" if self.eat_kw(Kw::ORDER) => QueryHint::ForceOrder,
            "LOOP" if self.eat_kw(Kw::JOIN) => QueryHint::LoopJoin,
            "HASH" if self.eat_kw(Kw::JOIN) => QueryHint::HashJoin,
            "MERGE" if self.eat_kw(Kw::JOIN) => QueryHint::MergeJoin,
            "HASH" if self.eat_kw(Kw::GROUP) => QueryHint::HashGroup,
            "ORDER" if self.eat_kw(Kw::GROUP) => QueryHint::OrderGroup,
            "KEEP" if self.eat_kw(Kw::PLAN) => QueryHint::KeepPlan,
            "KEEPFIXED" if self.eat_kw(Kw::PLAN) => QueryHint::KeepFixedPlan,
            "OPTIMIZE" if self.eat_kw(Kw::FOR) => self.optimize_for()?,
            "USE" if self.eat_word("HINT") => QueryHint::UseHint(self.parenthesized_list(Self::string)?),
            "TABLE" if self.eat_word("HINT") => self.table_hint_option()?,
            "LABEL" => {
                self.expect(Tok::Eq)?;
                QueryHint::Label(self.string()?)
            }
            first if OTHER_HINTS.contains(&first) => self.other_hint(first)?,
            _ => return Err(self.unexpected_at(at)),
        };
        Ok(hint)
    }

    fn optimize_for(&mut self) -> Result<QueryHint> {
        if self.eat_word("UNKNOWN") {
            return Ok(QueryHint::OptimizeForUnknown);
        }
        let items = self.parenthesized_list(|p| {
            let variable = p.variable()?;
            if p.eat_word("UNKNOWN") {
                return Ok((variable, None));
            }
            p.expect(Tok::Eq)?;
            Ok((variable, Some(p.simple_value()?)))
        })?;
        Ok(QueryHint::OptimizeFor(items))
    }

    fn table_hint_option(&mut self) -> Result<QueryHint> {
        self.parenthesized(|p| {
            let name = p.object_name()?;
            let mut hints = Vec::new();
            while p.eat(Tok::Comma) {
                hints.push(p.table_hint()?);
            }
            Ok(QueryHint::TableHint(name, hints))
        })
    }

    /// Words, a number, `= n` or a string up to the next comma: `CONCAT UNION`, `QUERYTRACEON 4199`, `MAX_GRANT_PERCENT = 10`.
    fn other_hint(&mut self, first: &str) -> Result<QueryHint> {
        let mut text = String::from(first);
        loop {
            match self.tok() {
                Tok::Comma | Tok::RParen if HINTS_IN_FULL.contains(&text.as_str()) || text.contains(' ') => {
                    return Ok(QueryHint::Other(SmolStr::from(text)));
                }
                Tok::Comma | Tok::RParen => return Err(self.unexpected()),
                Tok::Word | Tok::Kw(_) | Tok::Int | Tok::Decimal | Tok::Eq | Tok::Str | Tok::NStr => {
                    let token = self.bump();
                    text.push(' ');
                    text.push_str(&self.raw(token).to_uppercase_smolstr());
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// Skips a balanced `( … )` whose inside we do not read.
    pub(super) fn skip_parentheses(&mut self) -> Result<()> {
        self.expect(Tok::LParen)?;
        self.skip_to_closing()
    }

    /// Behind a parenthesis: over what is in it, and what closes it.
    pub(super) fn skip_to_closing(&mut self) -> Result<()> {
        let mut open = 1;
        while open > 0 {
            match self.tok() {
                Tok::LParen => open += 1,
                Tok::RParen => open -= 1,
                Tok::Eof => return Err(self.unexpected()),
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }
}

/// A query in parentheses as a term of a set operation: one with an ORDER BY becomes a derived table.
fn ordered_term(query: Query) -> QueryBody {
    if query.order_by.is_empty() && query.for_clause.is_none() {
        return query.body;
    }
    let span = query.span;
    let alias = Some(crate::ast::Ident::new("ordered"));
    let kind = TableSourceKind::Derived { query: Box::new(query), alias, columns: Vec::new() };
    QueryBody::Select(Box::new(Select {
        distinct: false,
        top: None,
        items: vec![SelectItem::Star { qualifier: None, span }],
        into: None,
        from: vec![TableSource { kind, span }],
        filter: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
        span,
    }))
}

/// An ORDER BY behind a term with TOP says which rows the term has, where terms may have one.
fn order_last_term(body: &mut QueryBody, order_by: &mut Vec<crate::ast::OrderItem>) {
    let QueryBody::Set { terms, .. } = body else { return };
    let Some(QueryBody::Select(select)) = terms.last_mut() else { return };
    if select.top.is_none() {
        return;
    }
    let span = select.span;
    let Some(term) = terms.pop() else { return };
    let order_by = std::mem::take(order_by);
    terms.push(ordered_term(Query { body: term, order_by, offset: None, for_clause: None, span }));
}

/// `=` and the compound assignments.
pub(super) fn assign_op(tok: Tok) -> Option<AssignOp> {
    Some(match tok {
        Tok::Eq => AssignOp::Set,
        Tok::PlusEq => AssignOp::Compound(BinaryOp::Add),
        Tok::MinusEq => AssignOp::Compound(BinaryOp::Subtract),
        Tok::StarEq => AssignOp::Compound(BinaryOp::Multiply),
        Tok::SlashEq => AssignOp::Compound(BinaryOp::Divide),
        Tok::PercentEq => AssignOp::Compound(BinaryOp::Modulo),
        Tok::AmpEq => AssignOp::Compound(BinaryOp::BitAnd),
        Tok::PipeEq => AssignOp::Compound(BinaryOp::BitOr),
        Tok::CaretEq => AssignOp::Compound(BinaryOp::BitXor),
        _ => return None,
    })
}

fn extends(left: &QueryBody, op: SetOp, all: bool) -> bool {
    matches!(left, QueryBody::Set { op: o, all: a, .. } if *o == op && *a == all)
}

/// Folds from the left; a run of one operator stays one node.
fn combine(op: SetOp, all: bool, left: QueryBody, right: QueryBody) -> QueryBody {
    match left {
        QueryBody::Set { op: o, all: a, mut terms } if o == op && a == all => {
            terms.push(right);
            QueryBody::Set { op, all, terms }
        }
        left => QueryBody::Set { op, all, terms: vec![left, right] },
    }
}

/// 1038: a column is named by nothing.
fn empty_name(line: u32) -> Box<ParseError> {
    ParseError::new(1038, line, lexer::EMPTY_NAME).with_state(4)
}
