//! Which views can be indexed: those whose rows, after a change of a table, can be told from the change and the other tables.
//!
//! What only the text tells is looked for there; types, columns and functions are those of the bound query.

use super::view::{ViewToIndex, shape_of};
use crate::catalog::{Named, Picture};
use crate::ddl::determinism;
use crate::ddl::table::option_on;
use crate::errors;
use crate::modules;
use crate::session::info::Info;
use keel_parser::ast::{self, ExprKind, QueryBody, StatementKind, TableSourceKind};
use keel_query::catalog::{Catalog as _, IndexColumn, ModuleDef, ModuleKind};
use keel_query::dml::indexed_view::{ExprFault, ViewColumnKind, ViewShape};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType};

/// Aggregates that a change of their rows does not tell.
pub(crate) const OTHER_AGGREGATES: [&str; 12] = [
    "AVG",
    "MIN",
    "MAX",
    "STDEV",
    "STDEVP",
    "VAR",
    "VARP",
    "STRING_AGG",
    "CHECKSUM_AGG",
    "APPROX_COUNT_DISTINCT",
    "GROUPING",
    "GROUPING_ID",
];

/// An error 101xx or the like: what the view has, and what is to be done about it.
fn refuse(number: i32, view: &str, why: &str) -> Box<SqlError> {
    let quote = if matches!(number, 10112 | 10116 | 10138 | 10139 | 10140) { '\'' } else { '"' };
    SqlError::new(number, 16, 1, format!("Cannot create index on view {quote}{view}{quote} because {why}"))
}

/// What no index of a view can be, whatever the view is.
pub(super) fn check_statement(c: &ast::CreateIndex, view: &ModuleDef) -> Result<()> {
    if c.columnstore {
        return Err(errors::columnstore_on_view());
    }
    if c.content.is_some() {
        return Err(errors::not_supported("An XML or spatial index on a view"));
    }
    if !modules::is_schema_bound(view) {
        return Err(errors::view_not_schema_bound(&view.name));
    }
    let clustered = c.clustered.unwrap_or(false);
    if clustered && !c.unique {
        return Err(errors::view_clustered_not_unique(&c.table));
    }
    if view.rows.is_none() && !clustered {
        return Err(errors::view_without_clustered(&c.table));
    }
    if c.filter.is_some() {
        return Err(errors::view_index_filtered(&c.name.text, &c.table));
    }
    if option_on(&c.options, "IGNORE_DUP_KEY") {
        return Err(errors::view_ignores_duplicates());
    }
    if clustered && view.rows.is_none() && option_on(&c.options, "ONLINE") {
        return Err(errors::view_online());
    }
    Ok(())
}

/// Looks at the whole query of a view.
pub(super) fn check_query(info: &Info, view: &ViewToIndex<'_>) -> Result<ViewShape> {
    let picture = info.picture(&view.entry);
    check_text(&picture, view)?;
    let shape = shape_of(info, &view.entry, &view.module)?;
    check_shape(&picture, view, &shape)?;
    Ok(shape)
}

/// Looks at the text of a view.
fn check_text(picture: &Picture, view: &ViewToIndex<'_>) -> Result<()> {
    let module = &view.module;
    let made_with = [("ANSI_NULLS", module.ansi_nulls), ("QUOTED_IDENTIFIER", module.quoted_identifier)];
    let off: Vec<&str> = made_with.into_iter().filter(|(_, on)| !on).map(|(name, _)| name).collect();
    if !off.is_empty() {
        let (name, off) = (&module.name, off.join(", "));
        let text = format!(
            "Cannot create index. Object '{name}' was created with the following SET options off: '{off}'."
        );
        return Err(SqlError::new(1935, 16, 1, text));
    }
    let statement = modules::parse(module)?;
    let StatementKind::CreateView(created) = &statement.kind else { return Ok(()) };
    let select = &created.query.select;
    let name = view.full_name.as_str();
    if let Some(cte) = select.with.iter().flat_map(|w| &w.ctes).next() {
        let why = format!(
            "it references common table expression \"{}\". Views referencing common table expressions cannot be indexed. Consider not indexing the view, or removing the common table expression from the view definition.",
            cte.name.text
        );
        return Err(refuse(10137, name, &why));
    }
    let text = Text { picture, view: name };
    match &select.query.body {
        QueryBody::Set { .. } => Err(refuse(
            10116,
            name,
            "it contains one or more UNION, INTERSECT, or EXCEPT operators. Consider creating a separate indexed view for each query that is an input to the UNION, INTERSECT, or EXCEPT operators of the original view.",
        )),
        QueryBody::Select(block) => text.check_select(block, &select.query),
    }
}

/// The text of a view.
struct Text<'t> {
    picture: &'t Picture,
    /// `database.schema.view`
    view: &'t str,
}

const ROWSET_PROVIDER: &str =
    "it references an internal system rowset provider. Consider not indexing this view.";

impl Text<'_> {
    fn refuse<T>(&self, number: i32, why: &str) -> Result<T> {
        Err(refuse(number, self.view, why))
    }

    fn check_select(&self, s: &ast::Select, q: &ast::Query) -> Result<()> {
        if s.distinct {
            return self.refuse(10100, "it contains the DISTINCT keyword. Consider removing DISTINCT from the view or not indexing the view. Alternatively, consider replacing DISTINCT with GROUP BY or COUNT_BIG(*) to simulate DISTINCT on grouping columns.");
        }
        if s.top.is_some() || q.offset.is_some() {
            return self.refuse(10101, "it contains the TOP or OFFSET keyword. Consider removing the TOP or OFFSET or not indexing the view.");
        }
        s.from.iter().try_for_each(|source| self.check_source(source))?;
        for item in &s.items {
            match item {
                ast::SelectItem::Star { .. } => return self.star(),
                ast::SelectItem::Expr { expr, .. } => self.check_expr(expr)?,
                ast::SelectItem::Assign { value, .. } => self.check_expr(value)?,
            }
        }
        s.filter.iter().try_for_each(|e| self.check_expr(e))?;
        if let Some(group) = &s.group_by {
            self.check_groups(group)?;
        }
        if s.having.is_some() {
            return self.refuse(10121, "it contains a HAVING clause. Consider removing the HAVING clause.");
        }
        Ok(())
    }

    fn star<T>(&self) -> Result<T> {
        self.refuse(10117, "the view uses the \"*\" operator to select columns. Consider referencing columns by name instead.")
    }

    fn check_groups(&self, group: &ast::GroupBy) -> Result<()> {
        if group.all {
            return self.refuse(10118, "it contains a GROUP BY ALL. Consider using a GROUP BY instead.");
        }
        for item in &group.items {
            match item {
                ast::GroupItem::Expr(e) if group.with.is_none() => self.check_expr(e)?,
                ast::GroupItem::Composite(list) if group.with.is_none() && !list.is_empty() => {
                    list.iter().try_for_each(|e| self.check_expr(e))?;
                }
                _ => return self.refuse(
                    10119,
                    "it contains a CUBE, ROLLUP, or GROUPING SETS operator. Consider not indexing this view.",
                ),
            }
        }
        Ok(())
    }

    fn check_source(&self, source: &ast::TableSource) -> Result<()> {
        match &source.kind {
            TableSourceKind::Named { name, hints, sample, system_time, .. } => {
                if sample.is_some() {
                    return self.refuse(10102, "it contains the TABLESAMPLE clause. Consider removing TABLESAMPLE or not indexing the view.");
                }
                if system_time.is_some() {
                    return Err(errors::not_supported("FOR SYSTEM_TIME in an indexed view"));
                }
                if !hints.is_empty() {
                    return self.refuse(10140, "the view contains a table hint. Consider removing the hint.");
                }
                self.check_named(name)
            }
            TableSourceKind::Join { left, right, kind, hint, on } => {
                self.check_join(*kind, hint.is_some())?;
                self.check_source(left)?;
                self.check_source(right)?;
                on.iter().try_for_each(|e| self.check_expr(e))
            }
            TableSourceKind::Derived { alias, .. } | TableSourceKind::Values { alias, .. } => {
                let alias = alias.as_ref().map_or("", |a| a.text.as_str());
                let why = format!(
                    "it references derived table \"{alias}\" (defined by SELECT statement in FROM clause). Consider removing the reference to the derived table or not indexing the view."
                );
                self.refuse(10109, &why)
            }
            TableSourceKind::Function { name, .. } => {
                let user = name.schema.as_ref().and_then(|s| self.picture.schema_id(&s.text));
                match user.and_then(|schema| self.picture.named(schema, &name.name.text)) {
                    Some(_) => {
                        let why = format!(
                            "it references the inline or multistatement table-valued function \"{}\". Consider expanding the function definition by hand in the view definition, or not indexing the view.",
                            name.name.text
                        );
                        self.refuse(10129, &why)
                    }
                    None => self.refuse(10106, ROWSET_PROVIDER),
                }
            }
            TableSourceKind::Pivot { .. } => {
                self.refuse(10114, "it uses the PIVOT operator. Consider not indexing this view.")
            }
            TableSourceKind::Unpivot { .. } => {
                self.refuse(10115, "it uses the UNPIVOT operator. Consider not indexing this view.")
            }
            TableSourceKind::FullText { .. } => self.refuse(10128, "it uses a CONTAINS or FREETEXT full-text predicate. Consider eliminating CONTAINS or FREETEXT, or not indexing the view."),
            TableSourceKind::Bulk { .. } => self.refuse(10106, ROWSET_PROVIDER),
            TableSourceKind::Changes { .. } => self.refuse(10144, "it uses the CHANGETABLE function."),
            TableSourceKind::Variable { variable, .. } | TableSourceKind::VariableMethod { variable, .. } => {
                let why = format!(
                    "it uses table variable \"{}\". Consider not indexing this view or removing the reference to the table variable.",
                    variable.name
                );
                self.refuse(10107, &why)
            }
            TableSourceKind::Dml { .. } => Err(errors::not_supported("nested DML")),
        }
    }

    fn check_join(&self, kind: ast::JoinKind, hinted: bool) -> Result<()> {
        use ast::JoinKind as J;
        match kind {
            J::OuterApply => self.refuse(10110, "it contains an OUTER APPLY. Consider not indexing the view, or removing OUTER APPLY."),
            J::CrossApply => self.refuse(10142, "it contains an APPLY. Consider not indexing the view, or removing APPLY."),
            J::Left | J::Right | J::Full => self.refuse(10113, "it uses a LEFT, RIGHT, or FULL OUTER join, and no OUTER joins are allowed in indexed views. Consider using an INNER join instead."),
            J::Inner | J::Cross if hinted => self.refuse(10112, "it contains an INNER join that specifies a join hint. Consider removing the join hint."),
            J::Inner | J::Cross => Ok(()),
        }
    }

    fn check_named(&self, name: &ast::ObjectName) -> Result<()> {
        let schema = name.schema.as_ref().and_then(|s| self.picture.schema_id(&s.text));
        match schema.and_then(|schema| self.picture.named(schema, &name.name.text)) {
            Some(Named::Module(m)) if m.kind == ModuleKind::View => {
                let text = format!(
                    "Cannot create index on view '{}' because it references another view '{name}'. Consider expanding referenced view's definition by hand in indexed view definition.",
                    self.view
                );
                Err(SqlError::new(1937, 16, 1, text))
            }
            Some(Named::Synonym(_)) => {
                let text = "Synonyms are invalid in a schemabound object or a constraint expression.";
                Err(SqlError::new(2788, 16, 1, text))
            }
            _ => Ok(()),
        }
    }

    fn check_expr(&self, e: &ast::Expr) -> Result<()> {
        match &e.kind {
            ExprKind::Subquery(_)
            | ExprKind::Exists(_)
            | ExprKind::InQuery { .. }
            | ExprKind::Quantified { .. } => self.refuse(10127, "it contains one or more subqueries. Consider changing the view to use only joins instead of subqueries. Alternatively, consider not indexing this view."),
            ExprKind::FullText { .. } => self.refuse(10128, "it uses a CONTAINS or FREETEXT full-text predicate. Consider eliminating CONTAINS or FREETEXT, or not indexing the view."),
            ExprKind::GlobalVariable(name) => Err(nondeterministic(self.view, name)),
            ExprKind::Method { .. } => self.xml_method(),
            ExprKind::Function(call) => {
                self.check_call(call)?;
                e.children().into_iter().try_for_each(|e| self.check_expr(e))
            }
            _ => e.children().into_iter().try_for_each(|e| self.check_expr(e)),
        }
    }

    fn xml_method(&self) -> Result<()> {
        let text = format!(
            "Cannot create index on view '{}'. It contains one or more XML data type methods.",
            self.view
        );
        Err(SqlError::new(1985, 16, 1, text))
    }

    fn check_call(&self, call: &ast::FunctionCall) -> Result<()> {
        if call.over.is_some() {
            return self.refuse(10143, "it contains a ranking or aggregate window function. Remove the function from the view definition or, alternatively, do not index the view.");
        }
        let name = call.name.name.text.to_ascii_uppercase();
        if call.name.schema.is_some() {
            // A method of a column looks like a function of a schema.
            let of_xml = matches!(name.as_str(), "VALUE" | "QUERY" | "EXIST" | "NODES" | "MODIFY");
            return if of_xml { self.xml_method() } else { Ok(()) };
        }
        let counts = matches!(name.as_str(), "COUNT" | "COUNT_BIG");
        if call.star && !counts {
            return self.star();
        }
        let other = OTHER_AGGREGATES.contains(&name.as_str());
        if call.distinct && (counts || other || name == "SUM") {
            let why = format!(
                "it uses aggregate \"{name}\" with the DISTINCT keyword. Consider not indexing this view or eliminating DISTINCT. Consider use of a GROUP BY or COUNT_BIG(*) view to simulate DISTINCT on grouping columns."
            );
            return self.refuse(10126, &why);
        }
        if name == "COUNT" {
            return self.refuse(10136, "it uses the aggregate COUNT. Use COUNT_BIG instead.");
        }
        if other {
            let why = format!(
                "it uses aggregate \"{name}\". Consider eliminating the aggregate, not indexing the view, or using alternate aggregates. For example, for AVG substitute SUM and COUNT_BIG, or for COUNT, substitute COUNT_BIG."
            );
            return self.refuse(10125, &why);
        }
        Ok(())
    }
}

fn nondeterministic(view: &str, function: &str) -> Box<SqlError> {
    let text = format!(
        "Cannot create index on view '{view}'. The function '{function}' yields nondeterministic results. Use a deterministic system function, or modify the user-defined function to return deterministic results."
    );
    SqlError::new(1949, 16, 1, text)
}

/// An error 866x: it names the index too.
fn refuse_clustered(number: i32, view: &ViewToIndex<'_>, why: &str) -> Box<SqlError> {
    let (index, name) = (view.index, &view.full_name);
    let quote = if number == 8668 { '\'' } else { '"' };
    let text = format!(
        "Cannot create the clustered index {quote}{index}{quote} on view {quote}{name}{quote} because {why}"
    );
    SqlError::new(number, 16, 0, text)
}

/// Looks at the bound query of a view.
fn check_shape(picture: &Picture, view: &ViewToIndex<'_>, shape: &ViewShape) -> Result<()> {
    check_tables(picture, view, shape)?;
    if let Some(fault) = &shape.fault {
        check_fault(picture, view, fault)?;
    }
    let name = &view.full_name;
    let large = |ty: SqlType| {
        matches!(ty, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::TypedXml(_))
    };
    if shape.columns.iter().any(|c| large(c.ty)) {
        let text = format!(
            "Cannot create index on view '{name}'. It contains text, ntext, image, FILESTREAM or xml columns."
        );
        return Err(SqlError::new(1942, 16, 1, text));
    }
    if let Some(column) = &shape.imprecise_condition {
        let text = format!(
            "Cannot create index on view '{name}' because column '{column}' that is referenced by the view in the WHERE or GROUP BY clause is imprecise. Consider eliminating the column from the view, or altering the column to be precise."
        );
        return Err(SqlError::new(1962, 16, 1, text));
    }
    if shape.is_empty {
        return Err(refuse_clustered(
            8665,
            view,
            "no row can satisfy the view definition. Consider eliminating contradictions from the view definition.",
        ));
    }
    check_groups(view, shape)
}

fn check_groups(view: &ViewToIndex<'_>, shape: &ViewShape) -> Result<()> {
    if !shape.grouped {
        return Ok(());
    }
    if shape.computes_with_groups {
        return Err(refuse_clustered(
            8668,
            view,
            "the select list of the view contains an expression on result of aggregate function or grouping column. Consider removing expression on result of aggregate function or grouping column from select list.",
        ));
    }
    let is = |kind: fn(&ViewColumnKind) -> bool| shape.columns.iter().any(|c| kind(&c.kind));
    if !is(|k| *k == ViewColumnKind::CountAll) {
        return Err(refuse(
            10138,
            &view.full_name,
            "its select list does not include a proper use of COUNT_BIG. Consider adding COUNT_BIG(*) to select list.",
        ));
    }
    if !shape.shows_groups {
        return Err(refuse_clustered(
            8660,
            view,
            "the select list of the view definition does not include all columns in the GROUP BY clause. Consider adding these columns to the select list.",
        ));
    }
    if is(|k| *k == ViewColumnKind::Sum { of_nullable: true }) {
        return Err(refuse_clustered(
            8662,
            view,
            "the view references an unknown value (SUM aggregate of nullable expression). Consider referencing only non-nullable values in SUM. ISNULL() may be useful for this.",
        ));
    }
    if shape.columns.iter().any(|c| matches!(c.kind, ViewColumnKind::Sum { .. }) && c.imprecise) {
        let text = format!(
            "Cannot create index on view '{}'. The view contains an imprecise aggregate operator.",
            view.full_name
        );
        return Err(SqlError::new(1966, 16, 1, text));
    }
    Ok(())
}

fn check_tables(picture: &Picture, view: &ViewToIndex<'_>, shape: &ViewShape) -> Result<()> {
    let name = &view.full_name;
    if shape.reads_others {
        return Err(refuse(
            10106,
            name,
            "it references an internal system rowset provider. Consider not indexing this view.",
        ));
    }
    if shape.tables.is_empty() {
        return Err(errors::not_supported("An index on a view of no table"));
    }
    let owner = |schema: i32| picture.schema(schema).map(|s| s.owner);
    for (at, table) in shape.tables.iter().enumerate() {
        let schema = picture.schema_name(table.schema_id).unwrap_or_default();
        let full = format!("{}.{schema}.{}", view.entry.name(), table.name);
        if shape.tables[..at].iter().any(|t| t.object_id == table.object_id) {
            let text = format!(
                "Cannot create index on view \"{name}\". The view contains a self join on \"{full}\"."
            );
            return Err(SqlError::new(1947, 16, 1, text));
        }
        if owner(table.schema_id) != owner(view.module.schema_id) {
            let text = format!(
                "Index cannot be created on view '{name}' because the underlying object '{full}' has a different owner."
            );
            return Err(SqlError::new(1938, 16, 1, text));
        }
        if picture.policies().any(|p| p.predicates_on(table.object_id).next().is_some()) {
            return Err(errors::indexed_view_guarded(&view.module.name, format!("{schema}.{}", table.name)));
        }
    }
    Ok(())
}

fn check_fault(picture: &Picture, view: &ViewToIndex<'_>, fault: &ExprFault) -> Result<()> {
    let name = &view.full_name;
    match fault {
        ExprFault::Nondeterministic(function) => Err(nondeterministic(name, function)),
        ExprFault::UserFunction { name: function, object_id } => {
            let module = picture.module_by_id(*object_id);
            let deterministic =
                module.is_some_and(|m| modules::is_schema_bound(m) && determinism::is_deterministic(&m.text));
            if !deterministic {
                let text = format!(
                    "Cannot create index on the '{name}' view because it uses the nondeterministic user-defined function '{function}'. Remove the reference to the function, or make it deterministic."
                );
                return Err(SqlError::new(1956, 16, 1, text));
            }
            if module.is_some_and(|m| m.text.to_ascii_uppercase().contains("SELECT")) {
                let why = format!(
                    "function \"{function}\" referenced by the view performs user or system data access."
                );
                return Err(refuse(10133, name, &why));
            }
            Ok(())
        }
        ExprFault::Date { explicit: true } => {
            let text = format!(
                "Cannot create index on view \"{name}\". The view contains a convert that is imprecise or non-deterministic."
            );
            Err(SqlError::new(1963, 16, 1, text))
        }
        ExprFault::Date { explicit: false } => Err(refuse(
            10139,
            name,
            "the view uses an implicit conversion from string to datetime or smalldatetime. Use an explicit CONVERT with a deterministic style value.",
        )),
        ExprFault::ImpreciseConstant => {
            let text =
                format!("Cannot create index on view \"{name}\". The view contains an imprecise constant.");
            Err(SqlError::new(1964, 16, 1, text))
        }
    }
}

/// Looks at the key of an index.
pub(super) fn check_key(
    view: &ViewToIndex<'_>,
    shape: &ViewShape,
    key: &[IndexColumn],
    clustered: bool,
) -> Result<()> {
    for column in key.iter().map(|k| &shape.columns[k.column_id as usize - 1]) {
        if clustered && shape.grouped && column.kind != ViewColumnKind::Value {
            return Err(refuse_clustered(
                8661,
                view,
                "the index key includes columns that are not in the GROUP BY clause. Consider eliminating columns that are not in the GROUP BY clause from the index key.",
            ));
        }
        if column.imprecise && column.origin.is_none() {
            let (index, name) = (view.index, &view.full_name);
            let text = format!(
                "Cannot create index or statistics '{index}' on view '{name}' because key column '{}' is imprecise, computed and not persisted. Consider removing reference to column in view index or statistics key or changing column to be precise. If column is computed in base table consider marking it PERSISTED there.",
                column.name
            );
            return Err(SqlError::new(1901, 16, 1, text));
        }
    }
    Ok(())
}
