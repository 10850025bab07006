//! Plans as SHOWPLAN_XML has them: the schema of `http://schemas.microsoft.com/sqlserver/2004/07/showplan`, of which the document has
//! what is known here. Expressions are texts (`ScalarString`), without their parts.
//!
//! A statement whose subqueries are evaluated by themselves has their plans first and its own last, below a Sequence.

use super::missing::MissingIndex;
use super::shown::{Object, Part, SeekKey, Shown};
use super::steps::Step;
use super::warnings::Conversion;
use crate::catalog::IndexKind;
use crate::exec::count::Counts;
use quick_xml::writer::Writer;
use std::borrow::Cow;
use std::io;
use std::time::Duration;

/// The namespace of a showplan.
pub const NAMESPACE: &str = "http://schemas.microsoft.com/sqlserver/2004/07/showplan";
/// The version of its schema that SQL Server 2022 names.
const VERSION: &str = "1.564";
/// What one of our units of cost, a row that is read, is worth in the product's, which were once seconds.
pub const UNIT_COST: f64 = 1e-5;

/// What is told of a statement beside its plan.
pub struct Statement<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its number in the batch, from 1.
    pub number: usize,
    /// Its kind in capitals: `SELECT`.
    pub kind: &'a str,
    /// SET options it was compiled under, by name.
    pub options: &'a [(&'static str, bool)],
    /// The hash of its query.
    pub hash: u64,
    /// The hash of its plan.
    pub plan_hash: u64,
    /// Estimates had no say in it.
    pub trivial: bool,
    /// Where its literals have become parameters: its text with the declarations of these, and the kind (`StatementParameterizationType`).
    pub parameterized: Option<(&'a str, u8)>,
    /// Threads that may work for it.
    pub degree: usize,
    /// Why it is one alone, in the product's words, where that is not its cost.
    pub serial_reason: Option<&'static str>,
    /// The plan guide that it was made with: database and name.
    pub guide: Option<(&'a str, &'a str)>,
    /// It was made by directions: `UsePlan`.
    pub is_told: bool,
    /// Indexes that it lacks.
    pub missing: &'a [MissingIndex],
    /// Conversions that it suffers from.
    pub conversions: &'a [Conversion],
    /// Variables whose values it was made for.
    pub parameters: &'a [Parameter],
    /// An execution.
    pub run: Option<Run<'a>>,
}

/// A variable that a plan was made for a value of.
pub struct Parameter {
    /// With its `@`.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// The value, as an expression.
    pub compiled: String,
    /// The one that it has in an execution.
    pub run: Option<String>,
}

/// What an execution counted, and what it took.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Of its operators.
    pub counts: &'a Counts,
    /// Of the session's processor.
    pub cpu: Duration,
    /// By the clock.
    pub elapsed: Duration,
}

type Out = Writer<Vec<u8>>;

/// A document of statements, each as [`statement`] gives it.
#[must_use]
pub fn document(build: &str, statements: &[String]) -> String {
    let mut all = format!("<ShowPlanXML xmlns=\"{NAMESPACE}\" Version=\"{VERSION}\" Build=\"{build}\">");
    all.push_str("<BatchSequence><Batch><Statements>");
    statements.iter().for_each(|s| all.push_str(s));
    all.push_str("</Statements></Batch></BatchSequence></ShowPlanXML>");
    all
}

/// A statement with its plan.
#[must_use]
pub fn statement(about: &Statement<'_>, steps: Vec<Step<'_>>) -> String {
    let mut out = Writer::new(Vec::new());
    let root = joined(steps);
    write_statement(&mut out, about, &root).expect("memory takes everything");
    String::from_utf8(out.into_inner()).expect("names and texts are UTF-8")
}

/// One tree of a statement's and its subqueries' steps.
#[must_use]
pub fn joined(mut steps: Vec<Step<'_>>) -> Step<'_> {
    let main = steps.remove(0);
    if steps.is_empty() {
        return main;
    }
    let (rows, bytes, node) = (main.rows, main.bytes, main.node);
    steps.push(main);
    Step {
        shown: Cow::Owned(Shown::new("Sequence", Vec::new())),
        rows,
        executions: 1.0,
        cost: steps.iter().map(|s| s.cost).sum(),
        bytes,
        node,
        parallel: false,
        lacks: None,
        inputs: steps,
    }
}

fn write_statement(out: &mut Out, about: &Statement<'_>, root: &Step<'_>) -> io::Result<()> {
    let word = |b: bool| if b { "true" } else { "false" };
    let number = about.number.to_string();
    let cost = (root.cost * UNIT_COST).to_string();
    let rows = root.rows.to_string();
    let [hash, plan_hash] = [about.hash, about.plan_hash].map(|hash| format!("0x{hash:016X}"));
    let element = out.create_element("StmtSimple").with_attributes([
        ("StatementCompId", number.as_str()),
        ("StatementEstRows", rows.as_str()),
        ("StatementId", number.as_str()),
        ("StatementOptmLevel", if about.trivial { "TRIVIAL" } else { "FULL" }),
        ("StatementSubTreeCost", cost.as_str()),
        ("StatementText", about.text),
        ("StatementType", about.kind),
        ("QueryHash", hash.as_str()),
        ("QueryPlanHash", plan_hash.as_str()),
    ]);
    let guide = about.guide.map(|(database, name)| [("PlanGuideDB", database), ("PlanGuideName", name)]);
    let element = element.with_attributes(guide.into_iter().flatten());
    let kind = about.parameterized.map(|(_, kind)| kind.to_string()).unwrap_or_default();
    let parameterized = about
        .parameterized
        .map(|(text, _)| [("ParameterizedText", text), ("StatementParameterizationType", kind.as_str())]);
    let element = element.with_attributes(parameterized.into_iter().flatten());
    element.write_inner_content(|out| {
        let options = about.options.iter().map(|(name, on)| (*name, word(*on)));
        out.create_element("StatementSetOptions").with_attributes(options).write_empty()?;
        let degree = about.run.map_or(about.degree, |run| run.counts.degree()).to_string();
        let reason = about.serial_reason.map(|reason| ("NonParallelPlanReason", reason));
        let told = about.is_told.then_some(("UsePlan", "true"));
        let attributes = std::iter::once(("DegreeOfParallelism", degree.as_str())).chain(reason).chain(told);
        let plan = out.create_element("QueryPlan").with_attributes(attributes);
        plan.write_inner_content(|out| {
            write_missing(out, about.missing)?;
            write_warnings(out, about.conversions)?;
            if let Some(run) = about.run {
                let [cpu, elapsed] = [run.cpu, run.elapsed].map(|t| t.as_millis().to_string());
                let times = [("CpuTime", cpu.as_str()), ("ElapsedTime", elapsed.as_str())];
                out.create_element("QueryTimeStats").with_attributes(times).write_empty()?;
            }
            let mut tree = Tree { next: 0, counts: about.run.map(|run| run.counts) };
            tree.write(out, root)?;
            write_parameters(out, about.parameters)
        })?;
        Ok(())
    })?;
    Ok(())
}

fn write_missing(out: &mut Out, missing: &[MissingIndex]) -> io::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    out.create_element("MissingIndexes").write_inner_content(|out| {
        for index in missing {
            let impact = index.impact.to_string();
            let group = out.create_element("MissingIndexGroup").with_attribute(("Impact", impact.as_str()));
            group.write_inner_content(|out| {
                let names =
                    [("Database", &index.database), ("Schema", &index.schema), ("Table", &index.table.name)];
                let names = names.map(|(name, value)| (name, format!("[{value}]")));
                let names = names.iter().map(|(name, value)| (*name, value.as_str()));
                let element = out.create_element("MissingIndex").with_attributes(names);
                element.write_inner_content(|out| write_missing_columns(out, index))?;
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_missing_columns(out: &mut Out, index: &MissingIndex) -> io::Result<()> {
    for (usage, columns) in index.columns().into_iter().filter(|(_, columns)| !columns.is_empty()) {
        let group = out.create_element("ColumnGroup").with_attribute(("Usage", usage));
        group.write_inner_content(|out| {
            columns.iter().try_for_each(|(id, name)| {
                let (id, name) = (id.to_string(), format!("[{name}]"));
                let attributes = [("Name", name.as_str()), ("ColumnId", id.as_str())];
                out.create_element("Column").with_attributes(attributes).write_empty().map(drop)
            })
        })?;
    }
    Ok(())
}

fn write_warnings(out: &mut Out, conversions: &[Conversion]) -> io::Result<()> {
    if conversions.is_empty() {
        return Ok(());
    }
    out.create_element("Warnings").write_inner_content(|out| {
        conversions.iter().try_for_each(|conversion| {
            let attributes =
                [("ConvertIssue", conversion.issue), ("Expression", conversion.expression.as_str())];
            out.create_element("PlanAffectingConvert").with_attributes(attributes).write_empty().map(drop)
        })
    })?;
    Ok(())
}

fn write_parameters(out: &mut Out, parameters: &[Parameter]) -> io::Result<()> {
    if parameters.is_empty() {
        return Ok(());
    }
    out.create_element("ParameterList").write_inner_content(|out| {
        for Parameter { name, ty, compiled, run } in parameters {
            let known = [("Column", name), ("ParameterDataType", ty), ("ParameterCompiledValue", compiled)];
            let run = run.as_ref().map(|value| ("ParameterRuntimeValue", value));
            let attributes = known.into_iter().chain(run).map(|(name, value)| (name, value.as_str()));
            out.create_element("ColumnReference").with_attributes(attributes).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Writes operators and numbers them in the order in which they are written.
struct Tree<'a> {
    next: usize,
    counts: Option<&'a Counts>,
}

impl Tree<'_> {
    fn write(&mut self, out: &mut Out, step: &Step<'_>) -> io::Result<()> {
        let number = self.next.to_string();
        self.next += 1;
        let attributes = [
            ("NodeId", number),
            ("PhysicalOp", step.shown.physical.to_owned()),
            ("LogicalOp", step.shown.logical.to_owned()),
            ("EstimateRows", step.rows.to_string()),
            ("EstimateIO", "0".to_owned()),
            ("EstimateCPU", (step.own_cost() / step.executions.max(1.0) * UNIT_COST).to_string()),
            ("AvgRowSize", step.bytes.to_string()),
            ("EstimatedTotalSubtreeCost", (step.cost * UNIT_COST).to_string()),
            ("Parallel", u8::from(step.parallel).to_string()),
            ("EstimateRebinds", (step.executions - 1.0).max(0.0).to_string()),
            ("EstimateRewinds", "0".to_owned()),
            ("EstimatedExecutionMode", "Row".to_owned()),
        ];
        let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
        out.create_element("RelOp").with_attributes(attributes).write_inner_content(|out| {
            out.create_element("OutputList").write_inner_content(|out| outputs(out, step))?;
            if let Some(counts) = self.counts {
                let [rows, executions, ends] = counts.of(step.node).map(|n| n.to_string());
                let counters = [
                    ("Thread", "0"),
                    ("ActualRows", rows.as_str()),
                    ("ActualEndOfScans", ends.as_str()),
                    ("ActualExecutions", executions.as_str()),
                    ("ActualExecutionMode", "Row"),
                ];
                out.create_element("RunTimeInformation").write_inner_content(|out| {
                    let thread = out.create_element("RunTimeCountersPerThread");
                    thread.with_attributes(counters).write_empty().map(drop)
                })?;
            }
            self.write_operator(out, step)
        })?;
        Ok(())
    }

    /// The element that is named after the operator, with its inputs.
    fn write_operator(&mut self, out: &mut Out, step: &Step<'_>) -> io::Result<()> {
        let (name, attributes) = element_of(&step.shown);
        out.create_element(name).with_attributes(attributes.iter().copied()).write_inner_content(|out| {
            // The schema has a filter's condition behind its input, and everybody else's arguments before.
            let behind = matches!(name, "Filter" | "Assert");
            if !behind {
                parts_of(out, name, &step.shown)?;
            }
            step.inputs.iter().try_for_each(|input| self.write(out, input))?;
            if behind { parts_of(out, name, &step.shown) } else { Ok(()) }
        })?;
        Ok(())
    }
}

/// Name and required attributes of an operator's element.
fn element_of(shown: &Shown) -> (&'static str, Vec<(&'static str, &str)>) {
    let ordered = shown.parts.iter().find_map(|p| match p {
        Part::Ordered(backward) => Some(if *backward { "BACKWARD" } else { "FORWARD" }),
        _ => None,
    });
    match shown.physical {
        "Clustered Index Seek" | "Clustered Index Scan" | "Index Seek" | "Index Scan" | "RID Lookup" => {
            let mut attributes = vec![("Ordered", if ordered.is_some() { "1" } else { "0" })];
            attributes.extend(ordered.map(|direction| ("ScanDirection", direction)));
            if shown.parts.iter().any(|p| matches!(p, Part::Lookup)) {
                attributes[0].1 = "1";
                attributes.push(("Lookup", "1"));
            }
            ("IndexScan", attributes)
        }
        "Table Scan" => ("TableScan", vec![("Ordered", "0")]),
        "Table-valued function" => ("TableValuedFunction", Vec::new()),
        "Constant Scan" => ("ConstantScan", Vec::new()),
        "Filter" => ("Filter", vec![("StartupExpression", "0")]),
        "Assert" => ("Assert", vec![("StartupExpression", "0")]),
        "Sequence" => ("Sequence", Vec::new()),
        "Compute Scalar" => ("ComputeScalar", Vec::new()),
        "Nested Loops" => ("NestedLoops", vec![("Optimized", "0")]),
        "Hash Match" => ("Hash", Vec::new()),
        "Stream Aggregate" => ("StreamAggregate", Vec::new()),
        "Sort" => ("Sort", vec![("Distinct", "0")]),
        "Top" => {
            let percent = shown.parts.iter().any(|p| matches!(p, Part::Top { percent: true, .. }));
            let ties = shown.parts.iter().any(|p| matches!(p, Part::Ties(_)));
            let word = |is| if is { "1" } else { "0" };
            ("Top", vec![("RowCount", "0"), ("IsPercent", word(percent)), ("WithTies", word(ties))])
        }
        "Parallelism" => ("Parallelism", Vec::new()),
        "Concatenation" => ("Concat", Vec::new()),
        "Index Spool" | "Table Spool" => ("Spool", Vec::new()),
        "Table Insert" | "Table Update" | "Table Delete" | "Table Merge" => ("Update", Vec::new()),
        "Window Aggregate" => ("WindowAggregate", Vec::new()),
        "Remote Query" => ("RemoteQuery", sent(shown, ["RemoteSource", "RemoteQuery"])),
        "Remote Scan" => ("RemoteScan", sent(shown, ["RemoteSource", "RemoteObject"])),
        "Remote Update" => ("RemoteModify", sent(shown, ["RemoteDestination", "RemoteObject"])),
        _ => ("Generic", Vec::new()),
    }
}

/// The server that is asked, and the text, under these names.
fn sent<'s>(shown: &'s Shown, names: [&'static str; 2]) -> Vec<(&'static str, &'s str)> {
    let sent = shown.parts.iter().find_map(|p| if let Part::Sent(s, t) = p { Some([s, t]) } else { None });
    sent.map(|sent| names.into_iter().zip(sent.map(String::as_str)).collect()).unwrap_or_default()
}

/// The columns that an access reads. What other operators pass on is not told.
fn outputs(out: &mut Out, step: &Step<'_>) -> io::Result<()> {
    let object = step.shown.parts.iter().find_map(|p| if let Part::Object(o) = p { Some(o) } else { None });
    let Some(object) = object else { return Ok(()) };
    let columns = step.shown.parts.iter().find_map(|p| if let Part::Columns(c) = p { Some(c) } else { None });
    columns.into_iter().flatten().try_for_each(|name| column(out, Some(object), name))
}

fn column(out: &mut Out, object: Option<&Object>, name: &str) -> io::Result<()> {
    let place = object.map(placed).unwrap_or_default();
    let mut attributes: Vec<(&str, &str)> = place.iter().map(|(n, v)| (*n, v.as_str())).collect();
    attributes.push(("Column", name));
    out.create_element("ColumnReference").with_attributes(attributes).write_empty()?;
    Ok(())
}

/// Database, schema, table and alias, in brackets.
fn placed(o: &Object) -> Vec<(&'static str, String)> {
    let all = [("Database", &o.database), ("Schema", &o.schema), ("Table", &o.table)];
    let mut place: Vec<_> =
        all.into_iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| (n, format!("[{v}]"))).collect();
    place.extend(o.alias.iter().map(|a| ("Alias", format!("[{a}]"))));
    place
}

/// What stands in an operator's element before its inputs, in the order in which the schema has it.
fn parts_of(out: &mut Out, element: &str, shown: &Shown) -> io::Result<()> {
    for part in &shown.parts {
        match part {
            Part::Define(all) => defined(out, all)?,
            Part::Ties(keys) => list(out, "TieColumns", keys)?,
            _ => {}
        }
    }
    for part in &shown.parts {
        match part {
            Part::Object(o) => {
                let mut attributes = placed(o);
                attributes.extend(o.index.iter().map(|i| ("Index", format!("[{i}]"))));
                attributes.extend(o.kind.map(|k| ("IndexKind", kind_word(k).to_owned())));
                attributes.push(("Storage", "RowStore".to_owned()));
                let attributes = attributes.iter().map(|(n, v)| (*n, v.as_str()));
                out.create_element("Object").with_attributes(attributes).write_empty()?;
            }
            Part::Seek(keys) => seek(out, keys)?,
            Part::Where(e) => scalar(out, "Predicate", e)?,
            Part::Residual(e) if element == "Hash" => scalar(out, "ProbeResidual", e)?,
            Part::Residual(e) => scalar(out, "Predicate", e)?,
            Part::Hash(keys) => list(out, "HashKeysBuild", keys)?,
            Part::GroupBy(keys) => list(out, "GroupBy", keys)?,
            Part::OrderBy(keys) => {
                out.create_element("OrderBy").write_inner_content(|out| {
                    keys.iter().try_for_each(|(key, descends)| {
                        let ascending = ("Ascending", if *descends { "0" } else { "1" });
                        let element = out.create_element("OrderByColumn").with_attribute(ascending);
                        element.write_inner_content(|out| column(out, None, key)).map(drop)
                    })
                })?;
            }
            Part::Offset(count) => scalar(out, "OffsetExpression", count)?,
            Part::Top { count, .. } => scalar(out, "TopExpression", count)?,
            Part::Define(_)
            | Part::Ties(_)
            | Part::TopN
            | Part::Ordered(_)
            | Part::Lookup
            | Part::Sent(..)
            | Part::Word(_)
            | Part::Columns(_) => {}
        }
    }
    Ok(())
}

fn kind_word(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Heap => "Heap",
        IndexKind::Clustered => "Clustered",
        IndexKind::Nonclustered => "NonClustered",
    }
}

fn list(out: &mut Out, name: &str, keys: &[String]) -> io::Result<()> {
    let element = out.create_element(name);
    element.write_inner_content(|out| keys.iter().try_for_each(|key| column(out, None, key)))?;
    Ok(())
}

fn defined(out: &mut Out, all: &[(String, String)]) -> io::Result<()> {
    out.create_element("DefinedValues").write_inner_content(|out| {
        all.iter().try_for_each(|(name, what)| {
            out.create_element("DefinedValue").write_inner_content(|out| {
                column(out, None, name)?;
                operator(out, what)
            })?;
            Ok(())
        })
    })?;
    Ok(())
}

/// An element around one expression.
fn scalar(out: &mut Out, name: &str, expression: &str) -> io::Result<()> {
    out.create_element(name).write_inner_content(|out| operator(out, expression))?;
    Ok(())
}

fn operator(out: &mut Out, expression: &str) -> io::Result<()> {
    let element = out.create_element("ScalarOperator").with_attribute(("ScalarString", expression));
    element.write_inner_content(|out| out.create_element("Identifier").write_empty().map(drop))?;
    Ok(())
}

/// Equalities first, as a prefix; then the ends of a range. What is no comparison of one column counts as an equality.
fn seek(out: &mut Out, keys: &[SeekKey]) -> io::Result<()> {
    let (mut equal, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
    for key in keys {
        match &key.comparison {
            Some((name, op @ (">" | ">="), value)) => low.push((name.as_str(), *op, value.as_str())),
            Some((name, op @ ("<" | "<="), value)) => high.push((name.as_str(), *op, value.as_str())),
            Some((name, _, value)) => equal.push((name.as_str(), "=", value.as_str())),
            None => equal.push((key.text.as_str(), "=", key.text.as_str())),
        }
    }
    out.create_element("SeekPredicates").write_inner_content(|out| {
        out.create_element("SeekPredicateNew").write_inner_content(|out| {
            out.create_element("SeekKeys").write_inner_content(|out| {
                range(out, "Prefix", &equal)?;
                range(out, "StartRange", &low)?;
                range(out, "EndRange", &high)
            })?;
            Ok(())
        })?;
        Ok(())
    })?;
    Ok(())
}

fn range(out: &mut Out, name: &str, keys: &[(&str, &str, &str)]) -> io::Result<()> {
    let Some((_, op, _)) = keys.first() else { return Ok(()) };
    let scan = match *op {
        ">" => "GT",
        ">=" => "GE",
        "<" => "LT",
        "<=" => "LE",
        _ => "EQ",
    };
    out.create_element(name).with_attribute(("ScanType", scan)).write_inner_content(|out| {
        let columns = out.create_element("RangeColumns");
        columns.write_inner_content(|out| keys.iter().try_for_each(|(c, _, _)| column(out, None, c)))?;
        let values = out.create_element("RangeExpressions");
        values.write_inner_content(|out| keys.iter().try_for_each(|(_, _, value)| operator(out, value)))?;
        Ok(())
    })?;
    Ok(())
}
