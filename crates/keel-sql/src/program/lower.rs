//! Syntax tree to instructions.

use super::exec_text::of_strings;
use super::variables::VariableUses;
use super::{
    ArgValue, Call, CallArg, CallTarget, CursorName, CursorOp, FetchDirection, FetchOp, Instruction, Label,
    ModuleIdentity, NameSource, Op, ParameterDef, Positioned, Program, RaisErrorOp, SetOp, Slot, TableShape,
    TableVariableDef, Unit, UnitSource, VariableDef, Variables, WantedColumn,
};
use crate::catalog::fold;
use crate::errors;
use crate::sink::command;
use hashbrown::HashMap;
use keel_parser::ast::{self, StatementKind};
use keel_parser::keyword::Kw;
use keel_parser::lexer::{Tok, tokenize};
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use smol_str::SmolStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Answers what a type name stands for.
pub trait TypeLookup {
    /// The scalar type; error 2715 when there is none.
    fn scalar(&self, ty: &ast::TypeName) -> Result<SqlType>;
    /// Whether the name is that of a table type.
    fn is_table_type(&self, name: &ast::ObjectName) -> bool;
    /// The error of a table variable that cannot be made of these elements.
    fn check_table(&self, name: &str, elements: &[ast::TableElement]) -> Result<()>;
    /// The value of a parameter's default.
    fn constant(&self, expr: &ast::Expr, ty: SqlType) -> Result<Value>;
}

/// What a module's text contributes besides its statements.
#[derive(Debug)]
pub struct ModuleShape<'a> {
    /// Parameters.
    pub parameters: &'a [ast::Parameter],
    /// Body.
    pub body: &'a [ast::Statement],
    /// RETURNS of a scalar function.
    pub returns: Option<SqlType>,
    /// The table variable that a multi-statement function returns; it is the program's first.
    pub returns_table: Option<(&'a ast::Variable, &'a [ast::TableElement])>,
}

/// Settings a text was parsed under.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// SET QUOTED_IDENTIFIER
    pub quoted_identifier: bool,
    /// SET ANSI_NULLS
    pub ansi_nulls: bool,
}

static NEXT_PROGRAM: AtomicU64 = AtomicU64::new(1);

/// A batch, with the parameters of sp_executesql when it has some.
pub fn lower_batch(
    identity: ModuleIdentity,
    text: Arc<str>,
    batch: &ast::Batch,
    parameters: &[ast::Parameter],
    options: TextOptions,
    types: &dyn TypeLookup,
) -> Result<Program> {
    let shape = ModuleShape { parameters, body: &batch.statements, returns: None, returns_table: None };
    lower_module(identity, text, &shape, options, types)
}

/// A procedure, function or trigger.
pub fn lower_module(
    identity: ModuleIdentity,
    text: Arc<str>,
    shape: &ModuleShape<'_>,
    options: TextOptions,
    types: &dyn TypeLookup,
) -> Result<Program> {
    let uses = VariableUses::of(&text, options.quoted_identifier);
    let mut lower = Lower {
        types,
        program: Program {
            id: NEXT_PROGRAM.fetch_add(1, Ordering::Relaxed),
            identity,
            text,
            parameters: Vec::new(),
            variables: Variables::default(),
            tables: Vec::new(),
            cursors: Vec::new(),
            code: Vec::new(),
            quoted_identifier: options.quoted_identifier,
            ansi_nulls: options.ansi_nulls,
            execute_as: None,
            signers: Arc::default(),
            recompile: false,
            parameterized: None,
            null_on_null_input: false,
            returns: shape.returns,
            stats: Arc::default(),
            looked_at: AtomicU64::default(),
        },
        loops: Vec::new(),
        depth: 0,
        labels: HashMap::new(),
        gotos: Vec::new(),
        line: 1,
        place: (0, 0),
        uses,
    };
    if let Some((variable, elements)) = shape.returns_table {
        types.check_table(&variable.name, elements)?;
        let shape = TableShape::Elements(elements.to_vec());
        lower.program.tables.push(TableVariableDef { name: fold(&variable.name), shape });
    }
    lower.parameters(shape.parameters)?;
    lower.declare_all(shape.body)?;
    lower.block(shape.body)?;
    lower.place = (0, 0);
    lower.emit(Op::Return(None));
    lower.resolve_gotos()?;
    Ok(lower.program)
}

struct Loop {
    start: Label,
    breaks: Vec<usize>,
    depth: u16,
}

struct Lower<'a> {
    types: &'a dyn TypeLookup,
    program: Program,
    loops: Vec<Loop>,
    /// How many TRY or CATCH blocks are open here.
    depth: u16,
    labels: HashMap<SmolStr, (Label, u16)>,
    gotos: Vec<(usize, SmolStr, u32, u16)>,
    line: u32,
    /// Beginning and end of the statement in the text.
    place: (u32, u32),
    uses: VariableUses,
}

impl Lower<'_> {
    fn parameters(&mut self, parameters: &[ast::Parameter]) -> Result<()> {
        for (i, p) in parameters.iter().enumerate() {
            let mut def = ParameterDef {
                name: p.variable.name.clone(),
                ty: SqlType::Null,
                default: None,
                output: p.output,
                table: None,
                cursor: false,
            };
            let takes_table =
                matches!(&p.ty, ast::ParameterType::Typed(ty) if self.types.is_table_type(&ty.name));
            match (takes_table, p.read_only) {
                (true, false) => return Err(errors::table_parameter_not_read_only(&p.variable.name)),
                (false, true) => return Err(errors::read_only_without_table(&p.variable.name)),
                _ => {}
            }
            match &p.ty {
                ast::ParameterType::Cursor => {
                    def.cursor = true;
                    self.program.cursors.push(fold(&p.variable.name));
                }
                ast::ParameterType::Typed(ty) if takes_table => {
                    def.table = Some((self.program.tables.len(), ty.name.clone()));
                    let shape = TableShape::Type(ty.name.clone());
                    self.program.tables.push(TableVariableDef { name: fold(&p.variable.name), shape });
                }
                ast::ParameterType::Typed(ty) => {
                    def.ty = self.types.scalar(ty).map_err(|e| numbered(e, i + 1, &ty.name))?;
                    if let Some(default) = &p.default {
                        def.default = Some(self.types.constant(default, def.ty)?);
                    }
                }
            }
            // Every parameter takes a slot, so that parameter n is variable n.
            self.declare(&p.variable.name, def.ty)?;
            self.program.parameters.push(def);
        }
        Ok(())
    }

    fn declare(&mut self, name: &str, ty: SqlType) -> Result<Slot> {
        if self.program.variable(name).is_some()
            || self.program.table(name).is_some_and(|_| ty != SqlType::Null)
        {
            return Err(errors::located(errors::variable_declared(name), self.line, None));
        }
        Ok(self.program.variables.push(VariableDef { name: fold(name), ty }))
    }

    /// Declarations take effect for the whole text, wherever control flow puts them.
    fn declare_all(&mut self, statements: &[ast::Statement]) -> Result<()> {
        for s in statements {
            self.line = s.span.line;
            match &s.kind {
                StatementKind::Declare(items) => {
                    for item in items {
                        self.declare_one(item)?;
                    }
                }
                StatementKind::Block(body) => self.declare_all(body)?,
                StatementKind::If(i) => {
                    self.declare_all(std::slice::from_ref(&i.then))?;
                    if let Some(e) = &i.otherwise {
                        self.declare_all(std::slice::from_ref(e))?;
                    }
                }
                StatementKind::While(w) => self.declare_all(std::slice::from_ref(&w.body))?,
                StatementKind::TryCatch(t) => {
                    self.declare_all(&t.body)?;
                    self.declare_all(&t.handler)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn declare_one(&mut self, item: &ast::Declaration) -> Result<()> {
        let name = &ast::declared(item).name;
        if self.program.table(name).is_some() || self.program.cursors.contains(&fold(name)) {
            return Err(errors::located(errors::variable_declared(name), self.line, None));
        }
        match item {
            ast::Declaration::Variable { variable, ty, .. } => {
                if self.types.is_table_type(&ty.name) {
                    let shape = TableShape::Type(ty.name.clone());
                    self.program.tables.push(TableVariableDef { name: fold(&variable.name), shape });
                    return Ok(());
                }
                let number = self.program.variables.len() + 1;
                let ty = self.types.scalar(ty).map_err(|e| numbered(e, number, &ty.name))?;
                self.declare(&variable.name, ty).map(|_| ())
            }
            ast::Declaration::Table { variable, elements } => {
                if elements.iter().any(|e| matches!(e, ast::TableElement::Period { .. })) {
                    return Err(errors::period_in_table_variable());
                }
                self.types.check_table(name, elements).map_err(|e| errors::located(e, self.line, None))?;
                let shape = TableShape::Elements(elements.clone());
                self.program.tables.push(TableVariableDef { name: fold(&variable.name), shape });
                Ok(())
            }
            ast::Declaration::Cursor { variable } => {
                self.program.cursors.push(fold(&variable.name));
                Ok(())
            }
        }
    }

    fn emit(&mut self, op: Op) -> usize {
        let (start, end) = self.place;
        let stats = op.is_counted(|unit| self.asks(unit)).then(Box::default);
        self.program.code.push(Instruction { op, line: self.line, start, end, stats });
        self.program.code.len() - 1
    }

    /// Whether there is a query in the text of an expression.
    fn asks(&self, unit: &Unit) -> bool {
        let (start, end) = unit.span();
        let text = self.program.text.get(start as usize..end as usize).unwrap_or_default();
        let tokens = tokenize(text, self.program.quoted_identifier).unwrap_or_default();
        tokens.iter().any(|token| token.tok == Tok::Kw(Kw::SELECT))
    }

    fn here(&self) -> Label {
        self.program.code.len() as Label
    }

    fn patch(&mut self, at: usize, to: Label) {
        match &mut self.program.code[at].op {
            Op::Jump { target, .. } | Op::JumpUnless { target, .. } => *target = to,
            Op::EnterTry { handler } => *handler = to,
            _ => unreachable!("only jumps are patched"),
        }
    }

    fn jump(&mut self, target: Label) -> usize {
        let depth = self.depth;
        self.emit(Op::Jump { target, depth })
    }

    fn slot(&self, v: &ast::Variable) -> Result<Slot> {
        self.slot_named(&v.name)
    }

    fn slot_named(&self, name: &str) -> Result<Slot> {
        match self.program.variable(name) {
            Some((slot, _)) => Ok(slot),
            None => Err(errors::located(errors::undeclared_variable(name), self.line, None)),
        }
    }

    fn block(&mut self, statements: &[ast::Statement]) -> Result<()> {
        for s in statements {
            self.line = s.span.line;
            self.statement(s)?;
        }
        Ok(())
    }

    fn statement(&mut self, s: &ast::Statement) -> Result<()> {
        self.line = s.span.line;
        // Of IF and WHILE the condition is what runs; what stands under them are statements of their own.
        let end = match &s.kind {
            StatementKind::If(i) => i.condition.span.end,
            StatementKind::While(w) => w.condition.span.end,
            _ => s.span.end,
        };
        self.place = (s.span.start, end);
        self.check_variables(s)?;
        match &s.kind {
            StatementKind::Block(body) => return self.block(body),
            StatementKind::If(i) => return self.if_statement(i),
            StatementKind::While(w) => return self.while_statement(w),
            StatementKind::TryCatch(t) => return self.try_catch(t),
            StatementKind::Break | StatementKind::Continue => return self.leave_loop(s),
            StatementKind::Label(name) => return self.label(name),
            StatementKind::Goto(name) => {
                let at = self.jump(0);
                self.gotos.push((at, fold(&name.text), self.line, self.depth));
                return Ok(());
            }
            StatementKind::Declare(items) => return self.declarations(items),
            StatementKind::SetVariable(v) => return self.set_variable(v),
            _ => {}
        }
        let op = self.operation(s)?;
        self.emit(op);
        Ok(())
    }

    /// Error 137 for a variable that no DECLARE of the text makes.
    fn check_variables(&self, s: &ast::Statement) -> Result<()> {
        let end = match &s.kind {
            StatementKind::If(i) => i.then.span.start,
            StatementKind::While(w) => w.body.span.start,
            StatementKind::Insert(i) if matches!(i.source, ast::InsertSource::Execute(_)) => return Ok(()),
            StatementKind::Select(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_)
            | StatementKind::Declare(_)
            | StatementKind::SetVariable(_)
            | StatementKind::Return(_)
            | StatementKind::Print(_)
            | StatementKind::RaisError(_)
            | StatementKind::Throw(_)
            | StatementKind::WaitFor(_)
            | StatementKind::Conversation(_)
            | StatementKind::CreateTable(_)
            | StatementKind::AlterTable(_)
            | StatementKind::DeclareCursor(_) => s.span.end,
            _ => return Ok(()),
        };
        self.uses.check(&self.program, s.span.start, end)
    }

    fn operation(&mut self, s: &ast::Statement) -> Result<Op> {
        Ok(match &s.kind {
            StatementKind::Select(select) => self.select(s, select),
            StatementKind::Insert(insert) => match &insert.source {
                ast::InsertSource::Execute(call) => self.insert_exec(s, insert, call)?,
                _ => dml(s, command::INSERT),
            },
            StatementKind::Update(u) => match &u.filter {
                Some(ast::DmlFilter::CurrentOf(c)) => self.positioned(s, c, command::UPDATE),
                _ => dml(s, command::UPDATE),
            },
            StatementKind::Delete(d) => match &d.filter {
                Some(ast::DmlFilter::CurrentOf(c)) => self.positioned(s, c, command::DELETE),
                _ => dml(s, command::DELETE),
            },
            StatementKind::Merge(_) => dml(s, command::MERGE),
            StatementKind::Return(value) => Op::Return(match value {
                Some(_)
                    if matches!(
                        self.program.identity.kind,
                        super::ProgramKind::Batch | super::ProgramKind::Dynamic | super::ProgramKind::Trigger
                    ) =>
                {
                    return Err(errors::located(errors::return_value_in_batch(), self.line, None));
                }
                Some(e) => {
                    let ty = self.program.returns.unwrap_or(SqlType::Int);
                    Some(Unit::expr(e.clone(), Some(ty)))
                }
                None => None,
            }),
            StatementKind::Print(e) => Op::Print(Unit::expr(e.clone(), None)),
            StatementKind::RaisError(r) => Op::RaisError(Box::new(RaisErrorOp {
                message: Unit::expr(r.message.clone(), None),
                severity: Unit::expr(r.severity.clone(), Some(SqlType::Int)),
                state: Unit::expr(r.state.clone(), Some(SqlType::Int)),
                args: r.args.iter().map(|a| Unit::expr(a.clone(), None)).collect(),
                log: r.log,
                no_wait: r.no_wait,
                set_error: r.set_error,
            })),
            StatementKind::Throw(t) => Op::Throw(t.as_ref().map(|t| {
                Box::new((
                    Unit::expr(t.number.clone(), Some(SqlType::BigInt)),
                    Unit::expr(t.message.clone(), Some(SqlType::NVarChar(keel_types::Length::Limited(2048)))),
                    Unit::expr(t.state.clone(), Some(SqlType::Int)),
                ))
            })),
            StatementKind::WaitFor(ast::WaitFor::Delay(e)) => Op::WaitFor(Unit::expr(e.clone(), None), false),
            StatementKind::WaitFor(ast::WaitFor::Time(e)) => Op::WaitFor(Unit::expr(e.clone(), None), true),
            StatementKind::Execute(x) => match &x.target {
                ast::ExecuteTarget::Text(e)
                    if x.return_variable.is_none() && x.result_sets.is_none() && x.at.is_none() =>
                {
                    Op::ExecText {
                        text: Unit::expr(of_strings(e), None),
                        run_as: self.run_as(x)?.map(Box::new),
                    }
                }
                _ => Op::Call(Box::new(self.call(x, s.span)?)),
            },
            StatementKind::BeginTransaction(b) => {
                let mark = b.mark.clone().map(Option::unwrap_or_default);
                Op::Begin(self.name(b.name.as_ref())?, mark, b.distributed)
            }
            StatementKind::Commit(t) => {
                Op::Commit(self.name(t.name.as_ref())?, t.delayed_durability == Some(true))
            }
            StatementKind::Rollback(t) => Op::Rollback(self.name(t.name.as_ref())?),
            StatementKind::Save(t) => Op::Save(self.name(Some(t))?.expect("a name was given")),
            StatementKind::DeclareCursor(c) => {
                let global = !matches!(c.cursor.scope, Some(ast::CursorScope::Local));
                let name = CursorName::Named { global, name: fold(&c.name.text) };
                Op::DeclareCursor(Box::new(cursor_op(name, &c.cursor, s.span)))
            }
            StatementKind::OpenCursor(c) => Op::OpenCursor(self.cursor(c)?),
            StatementKind::CloseCursor(c) => Op::CloseCursor(self.cursor(c)?),
            StatementKind::DeallocateCursor(c) => Op::DeallocateCursor(self.cursor(c)?),
            StatementKind::Fetch(f) => Op::Fetch(Box::new(self.fetch(f)?)),
            StatementKind::Use(name) => Op::Use(name.text.clone()),
            StatementKind::SetOption(o) => Op::Set(Box::new(set_option(o))),
            StatementKind::Conversation(c) => {
                let plan = crate::broker::Plan::of(c, s.span, &|variable| self.slot(variable))?;
                Op::Converse(Box::new(plan))
            }
            _ => Op::Statement(Box::new(s.clone())),
        })
    }

    fn select(&mut self, s: &ast::Statement, select: &ast::SelectStatement) -> Op {
        if let ast::QueryBody::Select(body) = &select.query.body {
            if body.into.is_some() {
                return Op::SelectInto(Box::new((select.clone(), s.span)));
            }
            let assigns = body.items.iter().any(|i| matches!(i, ast::SelectItem::Assign { .. }));
            return Op::Select { query: Unit::new(UnitSource::Statement(s.clone())), assigns };
        }
        if first_select(&select.query.body).is_some_and(|b| b.into.is_some()) {
            return Op::SelectInto(Box::new((select.clone(), s.span)));
        }
        Op::Select { query: Unit::new(UnitSource::Statement(s.clone())), assigns: false }
    }

    fn insert_exec(&mut self, s: &ast::Statement, insert: &ast::Insert, call: &ast::Execute) -> Result<Op> {
        if !insert.output.is_empty() {
            return Err(errors::output_of_insert_exec());
        }
        let call = Box::new(self.call(call, s.span)?);
        Ok(Op::InsertExec {
            insert: Unit::new(UnitSource::Statement(super::captured::insert_captured(s.span, insert))),
            call,
        })
    }

    fn positioned(&mut self, s: &ast::Statement, c: &ast::CursorRef, command: u16) -> Op {
        match self.cursor(c) {
            Ok(cursor) => Op::Positioned(Box::new(Positioned { cursor, statement: s.clone(), command })),
            Err(_) => dml(s, command),
        }
    }

    fn if_statement(&mut self, i: &ast::If) -> Result<()> {
        let condition = Unit::new(UnitSource::Condition(i.condition.clone()));
        let unless = self.emit(Op::JumpUnless { condition, target: 0 });
        self.statement(&i.then)?;
        if let Some(otherwise) = &i.otherwise {
            let end = self.jump(0);
            let here = self.here();
            self.patch(unless, here);
            self.statement(otherwise)?;
            let here = self.here();
            self.patch(end, here);
        } else {
            let here = self.here();
            self.patch(unless, here);
        }
        Ok(())
    }

    fn while_statement(&mut self, w: &ast::While) -> Result<()> {
        let start = self.here();
        let condition = Unit::new(UnitSource::Condition(w.condition.clone()));
        let unless = self.emit(Op::JumpUnless { condition, target: 0 });
        self.loops.push(Loop { start, breaks: Vec::new(), depth: self.depth });
        self.statement(&w.body)?;
        self.jump(start);
        let end = self.here();
        self.patch(unless, end);
        let done = self.loops.pop().expect("pushed above");
        for at in done.breaks {
            self.patch(at, end);
        }
        Ok(())
    }

    fn leave_loop(&mut self, s: &ast::Statement) -> Result<()> {
        let is_break = matches!(s.kind, StatementKind::Break);
        let Some((start, depth)) = self.loops.last().map(|l| (l.start, l.depth)) else {
            let error = if is_break { errors::break_outside() } else { errors::continue_outside() };
            return Err(errors::located(error, self.line, None));
        };
        let at = self.emit(Op::Jump { target: start, depth });
        if is_break {
            self.loops.last_mut().expect("looked at above").breaks.push(at);
        }
        Ok(())
    }

    fn try_catch(&mut self, t: &ast::TryCatch) -> Result<()> {
        let enter = self.emit(Op::EnterTry { handler: 0 });
        self.depth += 1;
        self.block(&t.body)?;
        self.emit(Op::LeaveTry);
        self.depth -= 1;
        let end = self.jump(0);
        let here = self.here();
        self.patch(enter, here);
        self.depth += 1;
        self.block(&t.handler)?;
        self.emit(Op::LeaveTry);
        self.depth -= 1;
        let here = self.here();
        self.patch(end, here);
        Ok(())
    }

    fn label(&mut self, name: &ast::Ident) -> Result<()> {
        let key = fold(name.text.trim_end_matches(':'));
        if self.labels.insert(key, (self.here(), self.depth)).is_some() {
            return Err(errors::located(errors::label_declared(&name.text), self.line, None));
        }
        Ok(())
    }

    fn resolve_gotos(&mut self) -> Result<()> {
        for (at, name, line, depth_there) in std::mem::take(&mut self.gotos) {
            let Some(&(label, label_depth)) = self.labels.get(&name) else {
                return Err(errors::located(errors::no_label(&name), line, None));
            };
            if label_depth > depth_there {
                return Err(errors::located(errors::goto_into_try(), line, None));
            }
            if let Op::Jump { target, depth } = &mut self.program.code[at].op {
                *target = label;
                *depth = label_depth;
            }
        }
        Ok(())
    }

    fn declarations(&mut self, items: &[ast::Declaration]) -> Result<()> {
        for item in items {
            let ast::Declaration::Variable { variable, value: Some(value), .. } = item else { continue };
            let slot = self.slot(variable)?;
            let ty = self.program.variables[slot as usize].ty;
            let value = Unit::expr(value.clone(), Some(ty));
            self.emit(Op::Assign { slot, value, declares: true });
        }
        Ok(())
    }

    fn cursor_variable(&self, name: &str) -> Option<usize> {
        let key = fold(name);
        self.program.cursors.iter().position(|c| *c == key)
    }

    fn set_variable(&mut self, set: &ast::SetVariable) -> Result<()> {
        let op = match &set.value {
            ast::SetValue::Cursor(definition) => {
                let Some(at) = self.cursor_variable(&set.variable.name) else {
                    return Err(errors::located(
                        errors::undeclared_variable(&set.variable.name),
                        self.line,
                        None,
                    ));
                };
                let span = set.variable.span;
                Op::DeclareCursor(Box::new(cursor_op(CursorName::Variable(at), definition, span)))
            }
            ast::SetValue::Expr { op, value } => {
                if let Some(to) = self.cursor_variable(&set.variable.name) {
                    let from = match &value.kind {
                        ast::ExprKind::Variable(v) => {
                            self.cursor(&ast::CursorRef::Variable(ast::Variable {
                                name: v.clone(),
                                span: value.span,
                            }))?
                        }
                        ast::ExprKind::Column(c) => {
                            CursorName::Named { global: false, name: fold(&c.name.text) }
                        }
                        _ => {
                            return Err(errors::located(
                                errors::undeclared_variable(&set.variable.name),
                                self.line,
                                None,
                            ));
                        }
                    };
                    Op::CopyCursor { to, from }
                } else {
                    let slot = self.slot(&set.variable)?;
                    let ty = self.program.variables[slot as usize].ty;
                    let value = assigned(&set.variable, *op, value);
                    Op::Assign { slot, value: Unit::expr(value, Some(ty)), declares: false }
                }
            }
            ast::SetValue::Property { name } => {
                return Err(errors::located(
                    errors::not_supported(format!("The property '{name}'")),
                    self.line,
                    None,
                ));
            }
        };
        self.emit(op);
        Ok(())
    }

    fn name(&self, name: Option<&ast::TransactionName>) -> Result<Option<NameSource>> {
        Ok(match name {
            None => None,
            Some(ast::TransactionName::Name(n)) => Some(NameSource::Literal(n.text.clone())),
            Some(ast::TransactionName::Variable(v)) => Some(NameSource::Slot(self.slot(v)?)),
        })
    }

    fn call(&mut self, x: &ast::Execute, span: ast::Span) -> Result<Call> {
        let target = match &x.target {
            ast::ExecuteTarget::Procedure { name, .. } => CallTarget::Name(name.clone()),
            ast::ExecuteTarget::Variable(v) => CallTarget::Slot(self.slot(v)?),
            ast::ExecuteTarget::Text(e) => {
                let text = Unit::expr(of_strings(e), None);
                match &x.at {
                    Some(server) => CallTarget::At(server.text.clone(), text),
                    None => CallTarget::Text(text),
                }
            }
        };
        let mut args = Vec::with_capacity(x.args.len());
        for (i, a) in x.args.iter().enumerate() {
            let named_before = args.iter().any(|a: &CallArg| a.name.is_some());
            if a.name.is_none() && named_before {
                return Err(errors::located(errors::positional_after_named(i + 1), self.line, None));
            }
            args.push(CallArg {
                name: a.name.as_ref().map(|n| n.name.clone()),
                value: self.argument(&a.value)?,
                output: a.output,
            });
        }
        let status = x.return_variable.as_ref().map(|v| self.slot(v)).transpose()?;
        let run_as = self.run_as(x)?;
        let results = self.wanted_results(x)?;
        Ok(Call { status, target, args, recompile: x.recompile, run_as, results, span })
    }

    /// What WITH RESULT SETS says; nothing for UNDEFINED.
    fn wanted_results(&self, x: &ast::Execute) -> Result<Option<Vec<Vec<WantedColumn>>>> {
        let sets = match &x.result_sets {
            None | Some(ast::ResultSets::Undefined) => return Ok(None),
            Some(ast::ResultSets::None) => return Ok(Some(Vec::new())),
            Some(ast::ResultSets::Defined(sets)) => sets,
        };
        let column = |(name, ty, nullable): &(ast::Ident, ast::TypeName, Option<bool>)| {
            let ty = self.types.scalar(ty)?;
            Ok(WantedColumn { name: name.text.clone(), ty, nullable: nullable.unwrap_or(true) })
        };
        sets.iter().map(|set| set.iter().map(column).collect()).collect::<Result<_>>().map(Some)
    }

    /// Who EXEC (string) runs as.
    fn run_as(&self, x: &ast::Execute) -> Result<Option<(ast::Principal, Unit)>> {
        Ok(x.execute_as.as_ref().map(|(p, name)| (*p, Unit::expr(name.clone(), None))))
    }

    fn argument(&mut self, e: &ast::Expr) -> Result<ArgValue> {
        Ok(match &e.kind {
            ast::ExprKind::Default => ArgValue::Default,
            ast::ExprKind::Variable(name) => {
                if let Some(table) = self.program.table(name) {
                    ArgValue::Table(table)
                } else if let Some(cursor) = self.cursor_variable(name) {
                    ArgValue::Cursor(cursor)
                } else {
                    ArgValue::Slot(self.slot_named(name)?)
                }
            }
            _ => ArgValue::Expr(Box::new(Unit::expr(e.clone(), None))),
        })
    }

    fn cursor(&self, c: &ast::CursorRef) -> Result<CursorName> {
        match c {
            ast::CursorRef::Named { global, name } => {
                Ok(CursorName::Named { global: *global, name: fold(&name.text) })
            }
            ast::CursorRef::Variable(v) => match self.cursor_variable(&v.name) {
                Some(at) => Ok(CursorName::Variable(at)),
                None => Err(errors::located(errors::undeclared_variable(&v.name), self.line, None)),
            },
        }
    }

    fn fetch(&mut self, f: &ast::Fetch) -> Result<FetchOp> {
        let number = |e: &ast::Expr| Unit::expr(e.clone(), Some(SqlType::BigInt));
        let direction = match &f.direction {
            ast::FetchDirection::Next => FetchDirection::Next,
            ast::FetchDirection::Prior => FetchDirection::Prior,
            ast::FetchDirection::First => FetchDirection::First,
            ast::FetchDirection::Last => FetchDirection::Last,
            ast::FetchDirection::Absolute(e) => FetchDirection::Absolute(number(e)),
            ast::FetchDirection::Relative(e) => FetchDirection::Relative(number(e)),
        };
        let into = f.into.iter().map(|v| self.slot(v)).collect::<Result<Vec<_>>>()?;
        Ok(FetchOp { cursor: self.cursor(&f.cursor)?, direction, into })
    }
}

fn numbered(
    e: Box<keel_types::SqlError>,
    number: usize,
    name: &ast::ObjectName,
) -> Box<keel_types::SqlError> {
    if e.number == 2715 { errors::no_type(number, name) } else { errors::numbered(e, number) }
}

fn dml(s: &ast::Statement, command: u16) -> Op {
    Op::Dml { statement: Unit::new(UnitSource::Statement(s.clone())), command }
}

fn first_select(body: &ast::QueryBody) -> Option<&ast::Select> {
    match body {
        ast::QueryBody::Select(s) => Some(s),
        ast::QueryBody::Set { terms, .. } => terms.first().and_then(first_select),
    }
}

/// `@v op= e` as `@v op e`.
fn assigned(variable: &ast::Variable, op: ast::AssignOp, value: &ast::Expr) -> ast::Expr {
    match op {
        ast::AssignOp::Set => value.clone(),
        ast::AssignOp::Compound(op) => {
            let left =
                ast::Expr { kind: ast::ExprKind::Variable(variable.name.clone()), span: variable.span };
            let kind = ast::ExprKind::Binary { op, left: Box::new(left), right: Box::new(value.clone()) };
            ast::Expr { kind, span: value.span }
        }
    }
}

fn cursor_op(name: CursorName, definition: &ast::CursorDefinition, span: ast::Span) -> CursorOp {
    let statement = ast::Statement { kind: StatementKind::Select(Box::new(definition.select.clone())), span };
    CursorOp { name, definition: definition.clone(), query: Unit::new(UnitSource::Statement(statement)) }
}

fn set_option(o: &ast::SetOption) -> SetOp {
    match o {
        ast::SetOption::Switches { names, on } => SetOp::Switches { names: names.clone(), on: *on },
        ast::SetOption::Statistics { names, on } => SetOp::Statistics { names: names.clone(), on: *on },
        ast::SetOption::TransactionIsolation(level) => SetOp::Isolation(*level),
        ast::SetOption::IdentityInsert { table, on } => {
            SetOp::IdentityInsert { table: table.clone(), on: *on }
        }
        ast::SetOption::Value { name, value } => {
            SetOp::Value { name: name.clone(), value: Unit::expr(value.clone(), None) }
        }
        ast::SetOption::Offsets { .. } => SetOp::Switches { names: Vec::new(), on: false },
    }
}
