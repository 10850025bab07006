//! Plans as results: SET SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML instead of what statements do, STATISTICS PROFILE and STATISTICS
//! XML behind it.
//!
//! SHOWPLAN_ALL and SHOWPLAN_XML give one result for a batch, so plans are kept until it is over ([`Runner::show_plans`]). A plan is shown
//! to whoever has SHOWPLAN in the databases it reads (262).

use super::Runner;
use crate::catalog::SecurableRef;
use crate::errors;
use crate::functions::PRODUCT_VERSION;
use crate::program::{Compiled, CompiledCode, Op, Program, SetOp, Unit, UnitSource};
use crate::query_store::{query_hash, shape_hash};
use crate::session::options::Switches;
use crate::sink::{ColumnMeta, ResultSink, command};
use keel_base::DatabaseId;
use keel_parser::ast::StatementKind;
use keel_query::exec::count::Counts;
use keel_query::plan::steps::{Step, indented};
use keel_query::plan::xml::{self, Run, UNIT_COST};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};
use std::time::{Duration, Instant};

/// Name of the column that holds a document: management tools know a plan by it.
const DOCUMENT: &str = "Microsoft SQL Server 2005 XML Showplan";

const TEXT: SqlType = SqlType::NVarChar(Length::Max);
const WORDS: SqlType = SqlType::NVarChar(Length::Limited(128));

/// Columns of SHOWPLAN_ALL, and of STATISTICS PROFILE behind its own two.
const COLUMNS: [(&str, SqlType); 18] = [
    ("StmtText", TEXT),
    ("StmtId", SqlType::Int),
    ("NodeId", SqlType::Int),
    ("Parent", SqlType::Int),
    ("PhysicalOp", WORDS),
    ("LogicalOp", WORDS),
    ("Argument", TEXT),
    ("DefinedValues", TEXT),
    ("EstimateRows", SqlType::Float),
    ("EstimateIO", SqlType::Float),
    ("EstimateCPU", SqlType::Float),
    ("AvgRowSize", SqlType::Int),
    ("TotalSubtreeCost", SqlType::Float),
    ("OutputList", TEXT),
    ("Warnings", TEXT),
    ("Type", WORDS),
    ("Parallel", SqlType::Bit),
    ("EstimateExecutions", SqlType::Float),
];

/// Plans of a batch that are yet to be shown.
#[derive(Default)]
pub struct Plans {
    /// Statements so far.
    statements: usize,
    rows: Vec<Vec<Value>>,
    documents: Vec<String>,
}

/// An execution whose operators are counted.
pub(super) struct Watch {
    pub(super) counts: Counts,
    /// What the variables have that the plan was made for.
    values: Vec<Value>,
    began: Instant,
    /// Processor time of the thread by then.
    cpu: Duration,
}

/// A statement with a plan.
pub(super) struct Statement<'a> {
    /// Where it is in the text of its program, bytes.
    pub(super) span: (u32, u32),
    /// In capitals: `SELECT INTO`.
    pub(super) kind: &'static str,
    pub(super) plan: &'a keel_query::Plan,
    /// Whose variables it reads.
    pub(super) program: &'a Program,
}

impl<'a> Statement<'a> {
    pub(super) fn new(program: &'a Program, unit: &Unit, plan: &'a keel_query::Plan) -> Statement<'a> {
        let UnitSource::Statement(statement) = &unit.source else {
            return Statement { span: (0, 0), kind: "SELECT", plan, program };
        };
        let kind = match &statement.kind {
            StatementKind::Insert(_) => "INSERT",
            StatementKind::Update(_) => "UPDATE",
            StatementKind::Delete(_) => "DELETE",
            StatementKind::Merge(_) => "MERGE",
            _ => "SELECT",
        };
        let span = (statement.span.start, statement.span.end);
        Statement { span, kind, plan, program }
    }

    pub(super) fn text(&self) -> &'a str {
        self.program.text.get(self.span.0 as usize..self.span.1 as usize).unwrap_or_default()
    }

    /// With what an execution counted, and the values of the variables that the plan was made for.
    fn document(
        &self,
        number: usize,
        options: &[(&'static str, bool)],
        run: Option<(Run<'_>, &[Value])>,
    ) -> String {
        let hashes = (query_hash(self.program, self.span), shape_hash(&self.plan.steps()));
        self.document_of(hashes, number, options, run)
    }

    /// With hashes of the query and of the plan.
    fn document_of(
        &self,
        (hash, plan_hash): (u64, u64),
        number: usize,
        options: &[(&'static str, bool)],
        run: Option<(Run<'_>, &[Value])>,
    ) -> String {
        let (run, values) = run.map_or((None, &[][..]), |(run, values)| (Some(run), values));
        let (degree, serial_reason) = (self.plan.degree(), self.plan.serial_reason());
        let parameterized = self.program.parameterized.map(|mode| {
            let text = crate::query_store::with_declarations(self.program, self.span);
            (text, mode.number())
        });
        let about = xml::Statement {
            text: &crate::secrets::without_secrets(self.text()),
            number,
            kind: self.kind,
            trivial: self.plan.is_trivial(),
            parameterized: parameterized.as_ref().map(|(text, number)| (text.as_str(), *number)),
            options,
            hash,
            plan_hash,
            degree,
            serial_reason,
            guide: self.plan.guide(),
            is_told: self.plan.told() == keel_query::plan::Told::Directions,
            missing: self.plan.missing(),
            conversions: self.plan.conversions(),
            parameters: &self.parameters(values),
            run,
        };
        xml::statement(&about, self.plan.steps())
    }

    /// The variables that the plan was made for values of; these they had in an execution, if it was one.
    fn parameters(&self, values: &[Value]) -> Vec<xml::Parameter> {
        let variables = &self.program.variables;
        let of = |(nth, (at, compiled)): (usize, &(usize, Value))| {
            let def = variables.get(*at)?;
            Some(xml::Parameter {
                name: def.name.to_string(),
                ty: def.ty.to_string(),
                compiled: as_expression(compiled, def.ty),
                run: values.get(nth).map(|value| as_expression(value, def.ty)),
            })
        };
        self.plan.planned_for().iter().enumerate().filter_map(of).collect()
    }

    /// The statement's row and those of its operators, in the order of their lines.
    fn rows(&self, number: usize, counts: Option<&Counts>) -> Vec<Vec<Value>> {
        let steps = self.plan.steps();
        let cost: f64 = steps.iter().map(|s| s.cost).sum();
        let counted = |node| counts.map(|c| c.of(node));
        let mut rows = Rows { statement: number, counted: &counted, rows: Vec::new() };
        rows.of_statement(self, &steps[0], cost);
        steps.iter().for_each(|step| rows.of_step(step, 0, 1));
        rows.rows
    }
}

/// A value as a plan shows it: numbers in parentheses, others as literals.
fn as_expression(value: &Value, ty: SqlType) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(_) => crate::convert::display(value),
        Value::Guid(_) => format!("{{guid'{}'}}", crate::convert::display_typed(value, ty)),
        Value::DateTime(_) | Value::Date(_) | Value::Time(_) | Value::DateTimeOffset(..) => {
            let text = keel_types::cast::to_text(value, ty, 121);
            format!("'{}'", text.as_deref().unwrap_or_default())
        }
        Value::Str(text) => {
            let national = if ty.is_national() { "N" } else { "" };
            format!("{national}'{}'", text.replace('\'', "''"))
        }
        _ => format!("({})", crate::convert::display_typed(value, ty)),
    }
}

struct Rows<'a> {
    statement: usize,
    counted: &'a dyn Fn(usize) -> Option<[u64; 3]>,
    rows: Vec<Vec<Value>>,
}

impl Rows<'_> {
    fn begin(&mut self, node: usize) -> Vec<Value> {
        let counted = (self.counted)(node);
        counted.map_or(Vec::new(), |[rows, executions, _]| vec![number(rows), number(executions)])
    }

    fn of_statement(&mut self, statement: &Statement<'_>, root: &Step<'_>, cost: f64) {
        let mut row = self.begin(root.node);
        row.extend([Value::str(statement.text()), number(self.statement as u64), number(1), number(0)]);
        row.extend([Value::Null, Value::Null, Value::Null, Value::Null, Value::Float(root.rows)]);
        row.extend([Value::Null, Value::Null, Value::Null, Value::Float(cost * UNIT_COST)]);
        row.extend([Value::Null, Value::Null, Value::str(statement.kind), Value::Bit(false), Value::Null]);
        self.rows.push(row);
    }

    fn of_step(&mut self, step: &Step<'_>, depth: usize, parent: usize) {
        let node = self.rows.len() + 1;
        let mut row = self.begin(step.node);
        let some = |s: String| if s.is_empty() { Value::Null } else { Value::str(s) };
        row.push(Value::str(indented(depth, &step.shown.line())));
        row.extend([self.statement, node, parent].map(|n| number(n as u64)));
        row.extend([Value::str(step.shown.physical), Value::str(step.shown.logical)]);
        row.extend([some(step.shown.argument()), some(step.shown.defined())]);
        row.extend([Value::Float(step.rows), Value::Float(0.0)]);
        row.push(Value::Float(step.own_cost() / step.executions.max(1.0) * UNIT_COST));
        row.extend([number(u64::from(step.bytes)), Value::Float(step.cost * UNIT_COST)]);
        row.extend([some(step.shown.outputs()), Value::Null, Value::str("PLAN_ROW"), Value::Bit(false)]);
        row.push(Value::Float(step.executions));
        self.rows.push(row);
        step.inputs.iter().for_each(|input| self.of_step(input, depth + 1, node));
    }
}

fn number(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

impl Runner<'_> {
    /// Whether a statement is only looked at; its plan is a result where the session wants to see plans.
    pub(super) fn explains(&mut self, statement: &Statement<'_>) -> Result<bool> {
        if !self.only_compiles() || self.info.on(Switches::FMTONLY) {
            return Ok(false);
        }
        if !self.shows_plans() {
            return Ok(true);
        }
        self.may_see_plan(statement.plan)?;
        if self.info.on(Switches::SHOWPLAN_TEXT) {
            return self.show_lines(statement.plan).map(|()| true);
        }
        let options = self.plan_options();
        let mut plans = self.info.plans.borrow_mut();
        plans.statements += 1;
        let number = plans.statements;
        if self.info.on(Switches::SHOWPLAN_XML) {
            plans.documents.push(statement.document(number, &options, None));
        } else {
            plans.rows.extend(statement.rows(number, None));
        }
        Ok(true)
    }

    /// Error 1067 for a batch that turns SHOWPLAN on or off and does something else.
    pub fn showplan_in_company(&self, program: &Program) -> Option<Box<SqlError>> {
        let turns = |op: &Op| {
            let Op::Set(set) = op else { return false };
            matches!(&**set, SetOp::Switches { names, .. } if names.iter().any(|n| n.starts_with("SHOWPLAN_")))
        };
        let [others @ .., _] = &program.code[..] else { return None };
        let at = others.iter().find(|i| turns(&i.op)).filter(|_| others.len() > 1)?;
        Some(errors::located(errors::showplan_in_company(), at.line, None))
    }

    /// Whether plans are shown and nothing is carried out.
    pub(super) fn shows_plans(&self) -> bool {
        self.info.options.borrow().switches.any(Switches::SHOWPLAN)
    }

    /// Error 262 for who has no SHOWPLAN in a database that the plan reads.
    fn may_see_plan(&self, plan: &keel_query::Plan) -> Result<()> {
        let may = |database: &DatabaseId| {
            let Some(entry) = self.info.engine.database_by_id(*database) else { return Ok(()) };
            if self.info.may(&entry, "SHOWPLAN", SecurableRef::Database) {
                return Ok(());
            }
            Err(errors::database_permission_denied("SHOWPLAN", entry.name()))
        };
        if self.info.unrestricted.get() { Ok(()) } else { plan.dependencies().iter().try_for_each(may) }
    }

    /// The options that a plan depends on.
    fn plan_options(&self) -> [(&'static str, bool); 7] {
        let on = |switch| self.info.on(switch);
        [
            ("QUOTED_IDENTIFIER", on(Switches::QUOTED_IDENTIFIER)),
            ("ARITHABORT", on(Switches::ARITHABORT)),
            ("CONCAT_NULL_YIELDS_NULL", on(Switches::CONCAT_NULL)),
            ("ANSI_NULLS", on(Switches::ANSI_NULLS)),
            ("ANSI_PADDING", on(Switches::ANSI_PADDING)),
            ("ANSI_WARNINGS", on(Switches::ANSI_WARNINGS)),
            ("NUMERIC_ROUNDABORT", on(Switches::NUMERIC_ROUNDABORT)),
        ]
    }

    fn show_lines(&mut self, plan: &keel_query::Plan) -> Result<()> {
        let ty = SqlType::NVarChar(Length::Limited(4000));
        let lines = plan.explain().into_iter().map(|line| vec![Value::str(line)]).collect();
        self.show(&[ColumnMeta::new("StmtText", ty)], lines)
    }

    /// A result set.
    fn show(&mut self, columns: &[ColumnMeta], rows: Vec<Vec<Value>>) -> Result<()> {
        self.flush_pending();
        let count = (!self.info.on(Switches::NOCOUNT)).then_some(rows.len() as u64);
        let done = self.done_info(count, command::SELECT, false);
        let give = |sink: &mut dyn ResultSink| {
            sink.columns(columns);
            for row in &rows {
                sink.row(row).map_err(|_| errors::cancelled())?;
            }
            sink.done(done);
            Ok(())
        };
        if let Some(client) = self.sink.beside() { give(client) } else { give(self.sink) }
    }

    /// The plans of a batch, or of a remote call, that is over.
    pub fn show_plans(&mut self) {
        let Plans { rows, documents, .. } = self.info.plans.take();
        let shown = if !documents.is_empty() {
            self.show_documents(&documents)
        } else if !rows.is_empty() {
            self.show(&columns(false), rows)
        } else {
            Ok(())
        };
        // Who has gone away sees nothing.
        drop(shown);
    }

    fn show_documents(&mut self, statements: &[String]) -> Result<()> {
        let document = Value::str(xml::document(PRODUCT_VERSION, statements));
        self.show(&[ColumnMeta::new(DOCUMENT, TEXT)], vec![vec![document]])
    }

    /// For a statement about to be executed with these variables, where its plan is wanted behind its result.
    pub(super) fn watch(&self, plan: &keel_query::Plan, variables: &[Value]) -> Result<Option<Watch>> {
        if !self.info.options.borrow().switches.any(Switches::PROFILING) {
            return Ok(None);
        }
        self.may_see_plan(plan)?;
        let values = plan.planned_for().iter().filter_map(|(at, _)| variables.get(*at).cloned()).collect();
        let (began, cpu) = (Instant::now(), self.thread_cpu());
        Ok(Some(Watch { counts: Counts::default(), values, began, cpu }))
    }

    fn thread_cpu(&self) -> Duration {
        self.info.cpu()
    }

    /// What a statement's operators did, behind its result.
    pub(super) fn show_run(&mut self, statement: &Statement<'_>, watch: Option<Watch>) -> Result<()> {
        let Some(Watch { counts, values, began, cpu }) = watch else { return Ok(()) };
        let (elapsed, cpu) = (began.elapsed(), self.thread_cpu().saturating_sub(cpu));
        let run = Run { counts: &counts, cpu, elapsed };
        if self.info.on(Switches::STATISTICS_PROFILE) {
            self.show(&columns(true), statement.rows(1, Some(&counts)))?;
        }
        if self.info.on(Switches::STATISTICS_XML) {
            let document = statement.document(1, &self.plan_options(), Some((run, &values)));
            self.show_documents(&[document])?;
        }
        Ok(())
    }
}

/// The columns, with those of what was counted.
fn columns(counted: bool) -> Vec<ColumnMeta> {
    let own = [("Rows", SqlType::BigInt), ("Executes", SqlType::BigInt)];
    let own = own.iter().filter(|_| counted);
    own.chain(&COLUMNS).map(|(name, ty)| ColumnMeta::new(*name, *ty)).collect()
}

/// The document of one statement with its plan, as a Query Store keeps it: with hashes of the query and of the plan.
pub(crate) fn plan_document(
    program: &Program,
    span: (u32, u32),
    plan: &keel_query::Plan,
    hashes: (u64, u64),
) -> String {
    let text = program.text.get(span.0 as usize..span.1 as usize).unwrap_or_default();
    let kind = match text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default() {
        word if word.eq_ignore_ascii_case("INSERT") => "INSERT",
        word if word.eq_ignore_ascii_case("UPDATE") => "UPDATE",
        word if word.eq_ignore_ascii_case("DELETE") => "DELETE",
        word if word.eq_ignore_ascii_case("MERGE") => "MERGE",
        _ => "SELECT",
    };
    let options = [("QUOTED_IDENTIFIER", program.quoted_identifier), ("ANSI_NULLS", program.ansi_nulls)];
    let statement = Statement { span, kind, plan, program };
    xml::document(PRODUCT_VERSION, &[statement.document_of(hashes, 1, &options, None)])
}

/// The document of a program's statements that have been compiled, of one place (bytes) or of all; `None` when there are none.
pub fn cached_document(program: &Program, place: Option<(u32, u32)>) -> Option<String> {
    let options = [("QUOTED_IDENTIFIER", program.quoted_identifier), ("ANSI_NULLS", program.ansi_nulls)];
    let mut statements = Vec::new();
    let mut add = |unit: &Unit, compiled: &Compiled| {
        if let CompiledCode::Plan(plan) = &compiled.code {
            let statement = Statement::new(program, unit, plan);
            statements.push(statement.document(statements.len() + 1, &options, None));
        }
    };
    for instruction in &program.code {
        let Some(unit) = instruction.op.unit() else { continue };
        let is_wanted = place.is_none_or(|place| place == (instruction.start, instruction.end));
        if is_wanted && let Some(compiled) = unit.newest() {
            add(unit, &compiled);
        }
    }
    (!statements.is_empty()).then(|| xml::document(PRODUCT_VERSION, &statements))
}
