//! Windowed functions: OVER clauses, and grouping of calls that share one partitioning and order.

use super::expr::ExprCx;
use super::merge_types::refuse_incomparable;
use super::rel::{AggFunc, Frame, FrameEnd, Rel, SortKey, WindowCall, WindowFunc};
use super::{Binder, over};
use crate::errors::{self, Result};
use crate::expr::{Expr, Slot};
use keel_parser::ast;
use keel_types::{SqlType, Value};

/// A windowed function call before its operators are stacked.
#[derive(Debug)]
pub struct PendingWindow {
    partition: Vec<Expr>,
    order: Vec<SortKey>,
    call: WindowCall,
}

impl PendingWindow {
    /// Its expressions, for rewriting after GROUP BY.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.partition
            .iter_mut()
            .chain(self.order.iter_mut().map(|k| &mut k.expr))
            .chain(self.call.args.iter_mut())
    }
    fn print(&self) -> String {
        let order: Vec<_> = self.order.iter().map(|k| (&k.expr.kind, k.descending)).collect();
        let partition: Vec<_> = self.partition.iter().map(|e| &e.kind).collect();
        format!("{partition:?}|{order:?}")
    }
}

fn ranking(name: &str) -> Option<WindowFunc> {
    Some(match name {
        "ROW_NUMBER" => WindowFunc::RowNumber,
        "RANK" => WindowFunc::Rank,
        "DENSE_RANK" => WindowFunc::DenseRank,
        "NTILE" => WindowFunc::NTile,
        "PERCENT_RANK" => WindowFunc::PercentRank,
        "CUME_DIST" => WindowFunc::CumeDist,
        "LAG" => WindowFunc::Lag,
        "LEAD" => WindowFunc::Lead,
        "FIRST_VALUE" => WindowFunc::FirstValue,
        "LAST_VALUE" => WindowFunc::LastValue,
        "PERCENTILE_CONT" => WindowFunc::PercentileCont,
        "PERCENTILE_DISC" => WindowFunc::PercentileDisc,
        _ => return None,
    })
}

/// Whether a function exists only with OVER.
#[must_use]
pub fn is_window_only(name: &str) -> bool {
    ranking(name).is_some()
}

impl Binder<'_> {
    /// Binds a call with OVER.
    pub fn window_call(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        over: &ast::Over,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let Some(collect) = &cx.collect else { return Err(errors::window_not_allowed()) };
        let resolved = over::resolve(&collect.named, over)?;
        if call.distinct {
            let m = "Use of DISTINCT is not allowed with the OVER clause.";
            return Err(keel_types::SqlError::new(10_759, 15, 1, m));
        }
        let func = match ranking(name) {
            Some(f) => f,
            None if call.star && matches!(name, "COUNT" | "COUNT_BIG") => WindowFunc::Agg(AggFunc::CountStar),
            None => match super::function::aggregate_function(name) {
                None | Some(AggFunc::StringAgg) => return Err(errors::not_windowed(name)),
                Some(f) => WindowFunc::Agg(f),
            },
        };
        let mut args = call.args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>()?;
        if !matches!(func, WindowFunc::Agg(AggFunc::Count)) {
            self.refuse_encrypted(&args)?;
        }
        let over = &resolved.over;
        let partition = over.partition_by.iter().map(|e| self.value(e, cx)).collect::<Result<Vec<_>>>()?;
        partition.iter().try_for_each(|e| self.refuse_randomized(e))?;
        partition.iter().try_for_each(|e| refuse_incomparable(e.ty, "PARTITION BY"))?;
        resolved.check(name, func)?;
        let order_items = call.within_group.as_ref().unwrap_or(&over.order_by);
        let mut order = Vec::new();
        for item in order_items {
            let expr = self.value(&item.expr, cx)?;
            over::refuse_constant(&expr)?;
            // ORDER BY (SELECT NULL) and constants that cannot be computed ask for no order.
            if expr.slots().is_empty() && (expr.has_subquery() || expr.is_constant()) {
                continue;
            }
            refuse_incomparable(expr.ty, "ORDER BY")?;
            self.refuse_encrypted([&expr])?;
            order.push(SortKey { expr, descending: item.descending });
        }
        if matches!(func, WindowFunc::PercentileCont | WindowFunc::PercentileDisc) {
            if call.within_group.is_none() {
                return Err(errors::within_group_missing(&call.name.name.text));
            }
            args.extend(order.first().map(|k| k.expr.clone()));
        }
        let (ty, nullable) = self.window_type(name, func, &mut args)?;
        let frame = self.frame(over.frame.as_ref(), func, !order.is_empty(), cx)?;
        let slot = self.typed_slot("", ty, nullable);
        if let Some(first) = args.first().filter(|a| a.ty.is_string()) {
            self.collate_like(slot, first);
        }
        let ignore_nulls = call.ignore_nulls == Some(true);
        let window = PendingWindow {
            partition,
            order,
            call: WindowCall { slot, func, args, frame, ty, ignore_nulls },
        };
        if let Some(collect) = cx.collect.as_mut() {
            collect.windows.push(window);
        }
        Ok(self.read(slot))
    }

    fn window_type(&mut self, name: &str, func: WindowFunc, args: &mut [Expr]) -> Result<(SqlType, bool)> {
        use WindowFunc as W;
        let count = |n: std::ops::RangeInclusive<usize>| {
            if n.contains(&args.len()) { Ok(()) } else { Err(errors::argument_count(name, *n.start())) }
        };
        Ok(match func {
            W::RowNumber | W::Rank | W::DenseRank => {
                count(0..=0)?;
                (SqlType::BigInt, true)
            }
            W::NTile => {
                count(1..=1)?;
                (SqlType::BigInt, true)
            }
            W::PercentRank | W::CumeDist => (SqlType::Float, true),
            W::PercentileCont => (SqlType::Float, true),
            W::PercentileDisc => (args.get(1).map_or(SqlType::Float, |a| a.ty), true),
            W::FirstValue | W::LastValue => {
                count(1..=1)?;
                (args[0].ty, true)
            }
            W::Lag | W::Lead => {
                count(1..=3)?;
                let ty = args[0].ty;
                if ty == SqlType::Null {
                    return Err(errors::aggregate_type("NULL", &name.to_lowercase()));
                }
                let nullable = args.get(2).is_none_or(|d| d.nullable) || args[0].nullable;
                if let Some(d) = args.get_mut(2) {
                    *d = super::merge_types::assign_to(d.clone(), ty)?;
                }
                (ty, nullable)
            }
            W::Agg(AggFunc::CountStar) => {
                (if name == "COUNT_BIG" { SqlType::BigInt } else { SqlType::Int }, true)
            }
            W::Agg(f) => {
                super::function::check_arguments(name, f, args)?;
                super::function::refuse_null(name, f, args.first())?;
                let ty = super::function::aggregate_type(f, args.first().map(|a| a.ty))?;
                let ty = if name == "COUNT_BIG" { SqlType::BigInt } else { ty };
                if let Some(arg) = args.first_mut() {
                    *arg = super::function::prepare_argument(f, ty, arg.clone());
                }
                (ty, true)
            }
        })
    }

    fn frame(
        &mut self,
        frame: Option<&ast::Frame>,
        func: WindowFunc,
        ordered: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Frame> {
        let whole =
            Frame { rows: true, start: FrameEnd::UnboundedPreceding, end: FrameEnd::UnboundedFollowing };
        if !matches!(func, WindowFunc::Agg(_) | WindowFunc::FirstValue | WindowFunc::LastValue) {
            return Ok(whole);
        }
        let Some(frame) = frame else {
            let running =
                Frame { rows: false, start: FrameEnd::UnboundedPreceding, end: FrameEnd::Offset(0) };
            return Ok(if ordered { running } else { whole });
        };
        over::check_bounds(frame)?;
        let mut end = |b: &ast::FrameBound| -> Result<FrameEnd> {
            let mut offset = |e: &ast::Expr| -> Result<i64> {
                match self.value(e, cx)?.as_const() {
                    Some(Value::Int(n)) if *n >= 0 => Ok(*n),
                    _ => Err(over::range_with_offset()),
                }
            };
            Ok(match b {
                ast::FrameBound::UnboundedPreceding => FrameEnd::UnboundedPreceding,
                ast::FrameBound::UnboundedFollowing => FrameEnd::UnboundedFollowing,
                ast::FrameBound::CurrentRow => FrameEnd::Offset(0),
                ast::FrameBound::Preceding(e) => FrameEnd::Offset(-offset(e)?),
                ast::FrameBound::Following(e) => FrameEnd::Offset(offset(e)?),
            })
        };
        Ok(Frame { rows: frame.rows, start: end(&frame.start)?, end: end(&frame.end)? })
    }

    /// Stacks one window operator per distinct partitioning and order.
    pub fn apply_windows(&mut self, mut rel: Rel, windows: Vec<PendingWindow>) -> Result<Rel> {
        let mut stages: Vec<(String, Vec<PendingWindow>)> = Vec::new();
        for w in windows {
            let key = w.print();
            match stages.iter_mut().find(|(k, _)| *k == key) {
                Some((_, list)) => list.push(w),
                None => stages.push((key, vec![w])),
            }
        }
        for (_, stage) in stages {
            let mut calls = Vec::new();
            let mut shape = None;
            for w in stage {
                calls.push(w.call);
                shape.get_or_insert((w.partition, w.order));
            }
            let (partition, order) = shape.unwrap_or_default();
            rel = Rel::Window { input: Box::new(rel), partition, order, calls };
        }
        Ok(rel)
    }

    /// The slot a window call writes.
    #[must_use]
    pub fn window_slot(w: &PendingWindow) -> Slot {
        w.call.slot
    }
}
