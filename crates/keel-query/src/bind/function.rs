//! Binding of function calls: aggregates, windowed functions, built-ins, session and user-defined functions.

use super::Binder;
use super::expr::{Clause, ExprCx, bare_word, plain_name};
use super::from::parts;
use super::merge_types::{assign_to, cast_to, is_incomparable};
use super::rel::{AggFunc, Aggregate, SlotSet, SortKey};
use crate::errors::{self, Result};
use crate::expr::{Coercibility, Expr, ExprKind, Slot};
use keel_parser::ast;
use keel_types::functions::DatePart;
use keel_types::ty::promote;
use keel_types::{Length, SqlType, raise};
use std::sync::Arc;

/// The aggregate of this upper-case name.
#[must_use]
pub fn aggregate_function(name: &str) -> Option<AggFunc> {
    Some(match name.to_ascii_uppercase().as_str() {
        "COUNT" | "COUNT_BIG" => AggFunc::Count,
        "SUM" => AggFunc::Sum,
        "AVG" => AggFunc::Avg,
        "PRODUCT" => AggFunc::Product,
        "MIN" => AggFunc::Min,
        "MAX" => AggFunc::Max,
        "STDEV" => AggFunc::StDev,
        "STDEVP" => AggFunc::StDevP,
        "VAR" => AggFunc::Var,
        "VARP" => AggFunc::VarP,
        "STRING_AGG" => AggFunc::StringAgg,
        "CHECKSUM_AGG" => AggFunc::ChecksumAgg,
        "APPROX_COUNT_DISTINCT" => AggFunc::ApproxCountDistinct,
        "APPROX_PERCENTILE_CONT" => AggFunc::PercentileCont,
        "APPROX_PERCENTILE_DISC" => AggFunc::PercentileDisc,
        _ => return None,
    })
}

/// Result type of an aggregate over an argument.
pub fn aggregate_type(func: AggFunc, arg: Option<SqlType>) -> Result<SqlType> {
    let ty = arg.unwrap_or(SqlType::Int);
    let name = match func {
        AggFunc::Sum => "sum",
        AggFunc::Avg => "avg",
        AggFunc::Product => "product",
        AggFunc::StDev => "stdev",
        AggFunc::StDevP => "stdevp",
        AggFunc::Var => "var",
        AggFunc::VarP => "varp",
        AggFunc::Min => "min",
        AggFunc::Max => "max",
        _ => "aggregate",
    };
    Ok(match func {
        AggFunc::CountStar | AggFunc::Count => SqlType::Int,
        AggFunc::ApproxCountDistinct => SqlType::BigInt,
        AggFunc::ChecksumAgg => SqlType::Int,
        AggFunc::Any | AggFunc::PercentileDisc => ty,
        AggFunc::PercentileCont => {
            if !ty.is_numeric() {
                return Err(promote::invalid_operand(ty, "approx_percentile_cont"));
            }
            SqlType::Float
        }
        AggFunc::Min | AggFunc::Max => {
            if ty == SqlType::Bit || is_incomparable(ty) || ty.is_encrypted() {
                return Err(promote::invalid_operand(ty, name));
            }
            ty
        }
        AggFunc::Sum | AggFunc::Avg | AggFunc::Product => match ty {
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => SqlType::Int,
            SqlType::BigInt => SqlType::BigInt,
            SqlType::Money | SqlType::SmallMoney => SqlType::Money,
            SqlType::Real | SqlType::Float => SqlType::Float,
            SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
                let scale = match func {
                    AggFunc::Avg => scale.max(6),
                    AggFunc::Product if scale > 0 => 6,
                    _ => scale,
                };
                SqlType::Decimal { precision: 38, scale }
            }
            _ => return Err(promote::invalid_operand(ty, name)),
        },
        AggFunc::StDev | AggFunc::StDevP | AggFunc::Var | AggFunc::VarP => {
            if !ty.is_numeric() {
                return Err(promote::invalid_operand(ty, name));
            }
            SqlType::Float
        }
        AggFunc::StringAgg => match ty {
            SqlType::VarChar(Length::Max) | SqlType::NVarChar(Length::Max) => ty,
            SqlType::VarChar(_) | SqlType::Char(_) => SqlType::VarChar(Length::Limited(8000)),
            _ if !(ty.is_string() || ty.is_numeric() || ty.is_temporal())
                || matches!(ty, SqlType::Text | SqlType::NText) =>
            {
                return Err(raise::bad_argument_type(ty, 1, "string_agg"));
            }
            _ => SqlType::NVarChar(Length::Limited(4000)),
        },
    })
}

/// Functions whose first argument is a word (a date part).
fn takes_date_part(name: &str) -> bool {
    keel_types::functions::lookup(name).is_some_and(|f| f.keyword_first)
}

fn misplaced_aggregate(clause: Clause) -> errors::Error {
    match clause {
        Clause::GroupBy => errors::aggregate_in_group_by(),
        Clause::Set => errors::aggregate_in_set(),
        Clause::Output => errors::aggregate_in_output(),
        _ => errors::aggregate_in_where(),
    }
}

/// Adds an aggregate, unless it is there; its slot.
fn add_aggregate(aggs: &mut Vec<Aggregate>, aggregate: Aggregate) -> Slot {
    let print =
        |a: &Aggregate| format!("{:?}{:?}{:?}{:?}{:?}", a.func, a.arg, a.separator, a.order, a.distinct);
    let wanted = print(&aggregate);
    if let Some(same) = aggs.iter().find(|a| a.ty == aggregate.ty && print(a) == wanted) {
        return same.slot;
    }
    let slot = aggregate.slot;
    aggs.push(aggregate);
    slot
}

impl Binder<'_> {
    /// Binds a call.
    pub fn function(&mut self, call: &ast::FunctionCall, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let Some(plain) = plain_name(&call.name) else { return self.user_function(call, cx) };
        let name = plain.to_ascii_uppercase();
        if call.odbc
            && let Some(e) = self.odbc_function(&name, call, cx)?
        {
            return Ok(e);
        }
        if let Some(over) = &call.over {
            return self.window_call(&name, call, over, cx);
        }
        if super::window::is_window_only(&name) {
            return Err(errors::over_missing(&name));
        }
        if let Some(func) = aggregate_function(&name) {
            return self.aggregate(&name, func, call, cx);
        }
        if matches!(name.as_str(), "GROUPING" | "GROUPING_ID") {
            return self.grouping_call(call, cx);
        }
        if matches!(name.as_str(), "JSON_OBJECT" | "JSON_ARRAY") {
            return self.json_constructor(&name, call, cx);
        }
        if matches!(name.as_str(), "JSON_OBJECTAGG" | "JSON_ARRAYAGG") {
            return self.json_aggregate(&name, call, cx);
        }
        if name == "IDENTITY" {
            return Err(errors::identity_without_into());
        }
        if let Some(e) = self.change_function(&name, call, cx)? {
            return Ok(e);
        }
        if call.star {
            return self.star_call(&name, cx);
        }
        let args = self.arguments(&name, &call.args, cx)?;
        if name == "JSON_MODIFY" && args.get(2).is_some_and(|new| self.is_json(new)) {
            return self.named_function("JSON_MODIFY JSON", args);
        }
        match crate::expr::builtin::resolve(self, &name, args)? {
            Ok(e) => Ok(e),
            Err(args) => self.session_call(plain, args),
        }
    }

    /// `CHECKSUM(*)`, `BINARY_CHECKSUM(*)`: of every column in sight.
    fn star_call(&mut self, name: &str, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if !matches!(name, "CHECKSUM" | "BINARY_CHECKSUM") {
            return Err(errors::syntax_near("*"));
        }
        let slots: Vec<_> = cx.scope.sources.iter().flat_map(|s| s.columns.iter().map(|c| c.slot)).collect();
        // Types that do not compare have no part in it.
        let args = slots.into_iter().map(|slot| self.read(slot)).filter(|e| !e.ty.is_large()).collect();
        self.named_function(name, args)
    }

    /// Binds arguments; date parts become string constants.
    fn arguments(&mut self, name: &str, args: &[ast::Expr], cx: &mut ExprCx<'_, '_>) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(args.len());
        let next_values = self.next_values;
        for (i, a) in args.iter().enumerate() {
            if i == 1 && name == "ISJSON" {
                bound.push(self.json_kind(a)?);
                continue;
            }
            match bare_word(a).filter(|_| i == 0 && takes_date_part(name)) {
                Some(word) => {
                    // By one name, so that `mm` in GROUP BY is the `MONTH` of the select list.
                    let word = DatePart::by_name(word).map_or(word, |part| part.name());
                    bound.push(self.literal(&ast::Literal::String { value: word.into(), national: false }))
                }
                None if i == 0 && takes_date_part(name) => {
                    return Err(errors::no_date_part(&name.to_ascii_lowercase()));
                }
                None => bound.push(self.value(a, cx)?),
            }
        }
        if matches!(name, "ISNULL" | "CHOOSE") {
            self.no_next_value_since(next_values)?;
        }
        Ok(bound)
    }

    /// What ISJSON asks a text to be: a word.
    fn json_kind(&mut self, e: &ast::Expr) -> Result<Expr> {
        let kinds = ["VALUE", "SCALAR", "OBJECT", "ARRAY"];
        let asked = bare_word(e).and_then(|w| kinds.into_iter().find(|kind| w.eq_ignore_ascii_case(kind)));
        let kind = asked.ok_or_else(|| errors::syntax_near(bare_word(e).unwrap_or(",")))?;
        Ok(self.literal(&ast::Literal::String { value: kind.into(), national: false }))
    }

    /// A built-in of the type library, else a function of the session.
    pub fn named_function(&mut self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        match crate::expr::builtin::resolve(self, name, args)? {
            Ok(e) => Ok(e),
            Err(args) => self.session_call(name, args),
        }
    }

    /// Calls a built-in by name over syntax.
    pub fn call_builtin(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let args = args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>()?;
        self.named_function(name, args)
    }

    /// `TRIM(side chars FROM e)`.
    pub fn trim(
        &mut self,
        side: ast::TrimSide,
        chars: Option<&ast::Expr>,
        operand: &ast::Expr,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let name = match side {
            ast::TrimSide::Leading => "LTRIM",
            ast::TrimSide::Trailing => "RTRIM",
            ast::TrimSide::Both => "TRIM",
        };
        let mut args = vec![self.value(operand, cx)?];
        if let Some(c) = chars {
            args.push(self.value(c, cx)?);
        }
        self.named_function(name, args)
    }

    fn aggregate(
        &mut self,
        name: &str,
        func: AggFunc,
        call: &ast::FunctionCall,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let func = if call.star { AggFunc::CountStar } else { func };
        let (mut args, order) = self.aggregate_arguments(call, cx)?;
        check_arguments(name, func, &args)?;
        if matches!(func, AggFunc::PercentileCont | AggFunc::PercentileDisc) {
            // What is ordered is what is aggregated; the fraction goes where a separator would.
            let ordered =
                order.first().ok_or_else(|| errors::within_group_missing(&call.name.name.text))?.expr.clone();
            args.insert(0, ordered);
            if let Some(fraction) = args.get_mut(1) {
                *fraction = cast_to(fraction.clone(), SqlType::Float);
            }
        }
        let mut args = args.into_iter();
        let arg = args.next();
        if arg.as_ref().is_some_and(Expr::has_subquery) {
            return Err(errors::aggregate_over_aggregate());
        }
        refuse_null(name, func, arg.as_ref())?;
        if !matches!(func, AggFunc::Count | AggFunc::ApproxCountDistinct) {
            self.refuse_encrypted(&arg)?;
        }
        if let Some(arg) = arg.as_ref().filter(|_| call.distinct) {
            self.refuse_randomized(arg)?;
        }
        let mut ty = aggregate_type(func, arg.as_ref().map(|a| a.ty))?;
        if name == "COUNT_BIG" {
            ty = SqlType::BigInt;
        }
        let arg = arg.map(|a| prepare_argument(func, ty, a));
        let separator = args.next();
        // DISTINCT changes nothing for MIN and MAX.
        let distinct = call.distinct && !matches!(func, AggFunc::Min | AggFunc::Max);
        let slot = self.typed_slot("", ty, true);
        if let Some(a) = arg.as_ref().filter(|a| a.ty.is_string()) {
            self.collate_like(slot, a);
        }
        self.collected(Aggregate { slot, func, arg, separator, order, distinct, ty }, cx)
    }

    /// What an aggregate is made of, and the order that it has inside of it. Aggregates in aggregates are refused, and those
    /// where no groups are.
    pub(super) fn aggregate_arguments(
        &mut self,
        call: &ast::FunctionCall,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<(Vec<Expr>, Vec<SortKey>)> {
        if cx.in_aggregate {
            return Err(errors::aggregate_over_aggregate());
        }
        if cx.collect.is_none() && self.around.is_empty() {
            return Err(misplaced_aggregate(cx.clause));
        }
        cx.in_aggregate = true;
        let args = call.args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>();
        let order = call
            .within_group
            .iter()
            .flatten()
            .map(|item| Ok(SortKey { expr: self.value(&item.expr, cx)?, descending: item.descending }));
        let order = order.collect::<Result<Vec<SortKey>>>();
        cx.in_aggregate = false;
        Ok((args?, order?))
    }

    /// Gives an aggregate to the query it belongs to; what reads its result.
    pub(super) fn collected(&mut self, aggregate: Aggregate, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let aggs = match (self.owner_around(&aggregate), cx.collect.as_mut()) {
            (Some(around), _) => &mut self.around[around].aggs,
            (None, Some(collect)) => &mut collect.aggs,
            (None, None) => return Err(misplaced_aggregate(cx.clause)),
        };
        let slot = add_aggregate(aggs, aggregate);
        Ok(self.read(slot))
    }

    /// The query around this one that an aggregate belongs to: the innermost one, if all columns that it reads are of it.
    fn owner_around(&self, aggregate: &Aggregate) -> Option<usize> {
        let mut reads = SlotSet::new();
        let order = aggregate.order.iter().map(|k| &k.expr);
        for e in aggregate.arg.iter().chain(&aggregate.separator).chain(order) {
            e.add_slots(&mut reads);
        }
        if reads.is_empty() {
            return None;
        }
        self.around.iter().rposition(|query| reads.iter().all(|slot| query.columns.contains(slot)))
    }

    fn grouping_call(&mut self, call: &ast::FunctionCall, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if call.name.name.is("GROUPING") && call.args.len() != 1 {
            return Err(errors::argument_count("GROUPING", 1));
        }
        let args = call.args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>()?;
        let ty = if call.name.name.is("GROUPING") { SqlType::TinyInt } else { SqlType::Int };
        let slot = self.typed_slot("", ty, false);
        let Some(collect) = cx.collect.as_mut() else { return Err(errors::aggregate_in_where()) };
        collect.groupings.push((slot, args));
        Ok(self.read(slot))
    }

    /// Arguments of a user's function as its parameters want them. Errors 313 and 8144, with the name and state given.
    pub(super) fn routine_arguments(
        &mut self,
        (name, state): (&str, u8),
        parameters: &[crate::scope::ParameterInfo],
        given: &[ast::Expr],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Vec<Expr>> {
        let mut args = Vec::with_capacity(parameters.len());
        for (i, p) in parameters.iter().enumerate() {
            let value = match given.get(i).map(|a| &a.kind) {
                Some(_) if p.table.is_some() => self.table_argument(&given[i], p, cx)?,
                Some(ast::ExprKind::Default) => Expr::constant(p.default.clone().unwrap_or_default(), p.ty),
                Some(_) => assign_to(self.value(&given[i], cx)?, p.ty)?,
                None => return Err(errors::too_few_arguments(name, state)),
            };
            args.push(value);
        }
        if given.len() > parameters.len() {
            return Err(errors::too_many_arguments(name, state));
        }
        Ok(args)
    }

    /// A table variable for a table-valued parameter.
    fn table_argument(
        &mut self,
        given: &ast::Expr,
        parameter: &crate::scope::ParameterInfo,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let wanted = parameter.table.as_deref().unwrap_or_default();
        let lent = |value| Expr::constant(value, SqlType::BigInt);
        match &given.kind {
            ast::ExprKind::Default => Ok(lent(keel_types::Value::Int(0))),
            ast::ExprKind::Variable(name) => match self.parameter(name) {
                Some(own) => Ok(own),
                None => Ok(lent(self.scope.lend_table(name, wanted)?)),
            },
            _ => Err(errors::operand_clash(self.value(given, cx)?.ty.name(), wanted)),
        }
    }

    /// `$PARTITION.function(value)`: the number of the partition that a value falls into.
    fn partition_number(&mut self, call: &ast::FunctionCall, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let (name, database) = (&call.name.name.text, call.name.database.as_ref().map(|d| d.text.as_str()));
        let found = self.scope.partition_function(database, name);
        let function = found.ok_or_else(|| errors::invalid_object(name))?;
        let [value] = call.args.as_slice() else {
            return Err(errors::argument_count(name, 1));
        };
        let value = assign_to(self.value(value, cx)?, function.ty)?;
        let database = Expr::int(i64::from(function.database.0));
        let args = vec![database, Expr::int(i64::from(function.function_id)), value];
        Ok(Expr { nullable: false, ..self.session_call("$PARTITION", args)? })
    }

    fn user_function(&mut self, call: &ast::FunctionCall, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        if call.name.schema.as_ref().is_some_and(|s| s.is("$PARTITION") && !s.quoted) {
            return self.partition_number(call, cx);
        }
        if let Some(method) = self.column_method(call, cx)? {
            return Ok(method);
        }
        let server = call.name.server.as_ref();
        if server.is_some_and(|server| !self.scope.is_own_server(&server.text)) {
            return Err(errors::no_such_user_function(&call.name.to_string()));
        }
        let Some(info) = self.scope.scalar_function(parts(&call.name)) else {
            if let Some(name) = system_function(&call.name) {
                let args = call.args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>()?;
                return self.named_function(name, args);
            }
            // sys.fn_x() and the like are functions of the session.
            let full = call.name.to_string();
            // A system function takes DEFAULT for NULL.
            let outer = cx.default.replace(Expr::null());
            let args = call.args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>();
            cx.default = outer;
            return self.session_call(&full, args?).map_err(|_| errors::no_such_user_function(&full));
        };
        let args = self.routine_arguments((&info.name, 2), &info.parameters, &call.args, cx)?;
        let ty = info.returns;
        Ok(Expr {
            kind: ExprKind::Udf(Arc::new(info), args),
            ty,
            collation: self.collation(),
            coercibility: Coercibility::Default,
            nullable: true,
        })
    }
}

/// The routine of a system function that is called by the name of its schema: `sys.fn_…`, or `dbo.fn_…` of master.
fn system_function(name: &ast::ObjectName) -> Option<&'static str> {
    let schema = name.schema.as_ref()?;
    let in_master = || name.database.as_ref().is_some_and(|d| d.is("master")) && schema.is("dbo");
    if !schema.is("sys") && !in_master() {
        return None;
    }
    ["sys.fn_varbintohexstr", "sys.fn_varbintohexsubstring"]
        .into_iter()
        .find(|known| known.strip_prefix("sys.").is_some_and(|known| name.name.is(known)))
}

/// Whether an aggregate has the arguments it takes: 174, and of the separator of STRING_AGG 8116 and 8733.
pub(super) fn check_arguments(name: &str, func: AggFunc, args: &[Expr]) -> Result<()> {
    let wanted = match func {
        AggFunc::CountStar => return Ok(()),
        AggFunc::StringAgg => 2,
        _ => 1,
    };
    if args.len() != wanted {
        return Err(errors::argument_count(&name.to_ascii_lowercase(), wanted));
    }
    let Some(separator) = args.get(1) else { return Ok(()) };
    if separator.ty == SqlType::Null {
        return Ok(());
    }
    if !separator.ty.is_string() || matches!(separator.ty, SqlType::Text | SqlType::NText) {
        return Err(raise::bad_argument_type(separator.ty, 2, "string_agg"));
    }
    if !separator.slots().is_empty() || separator.has_subquery() {
        return Err(errors::separator_varies());
    }
    Ok(())
}

/// An aggregate of the word NULL means nothing: 8117, and 8116 of STRING_AGG.
pub(super) fn refuse_null(name: &str, func: AggFunc, arg: Option<&Expr>) -> Result<()> {
    match arg {
        Some(e) if e.ty != SqlType::Null => Ok(()),
        None => Ok(()),
        Some(_) if func == AggFunc::StringAgg => {
            Err(raise::bad_argument_type(SqlType::Null, 1, "string_agg"))
        }
        Some(_) => Err(errors::aggregate_type("NULL", &name.to_lowercase())),
    }
}

/// Brings an aggregate's argument to the type it is accumulated in.
pub(super) fn prepare_argument(func: AggFunc, ty: SqlType, arg: Expr) -> Expr {
    match func {
        AggFunc::Product => cast_to(arg, ty),
        AggFunc::StDev | AggFunc::StDevP | AggFunc::Var | AggFunc::VarP | AggFunc::PercentileCont => {
            cast_to(arg, SqlType::Float)
        }
        AggFunc::StringAgg if !arg.ty.is_string() => cast_to(arg, ty),
        _ => arg,
    }
}
