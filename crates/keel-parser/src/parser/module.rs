//! Views, procedures, functions, triggers.

use super::Parser;
use crate::ast::{
    CreateFunction, CreateProcedure, CreateTrigger, CreateView, EnableTrigger, Expr, FunctionBody,
    FunctionReturns, ModuleBody, ModuleOptions, ModuleQuery, ModuleVerb, ObjectName, Parameter,
    ParameterType, StatementKind, TriggerTarget, TriggerTiming,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    /// The statement must open its batch: error 111. `create_at` is the token of CREATE or ALTER.
    pub(super) fn first_in_batch(&self, create_at: usize, what: &str) -> Result<()> {
        if self.tokens[..create_at].iter().all(|t| t.tok == Tok::Semi) {
            return Ok(());
        }
        let line = self.tokens[create_at].line;
        let text = format!("'{what}' must be the first statement in a query batch.");
        Err(crate::ParseError::new(111, line, text))
    }

    /// A module behind CREATE, ALTER or CREATE OR ALTER; `None` if none follows.
    pub(super) fn module(&mut self, verb: ModuleVerb, create_at: usize) -> Result<Option<StatementKind>> {
        let word = if verb == ModuleVerb::Alter { "ALTER" } else { "CREATE" };
        let Tok::Kw(kw) = self.tok() else { return Ok(None) };
        let what = match kw {
            Kw::VIEW => "VIEW",
            Kw::PROC | Kw::PROCEDURE => "PROCEDURE",
            Kw::FUNCTION => "FUNCTION",
            Kw::TRIGGER => "TRIGGER",
            _ => return Ok(None),
        };
        let shown =
            if what == "PROCEDURE" { "CREATE/ALTER PROCEDURE".to_owned() } else { format!("{word} {what}") };
        self.first_in_batch(create_at, &shown)?;
        self.bump();
        let kind = match what {
            "VIEW" => StatementKind::CreateView(Box::new(self.view(verb)?)),
            "PROCEDURE" => StatementKind::CreateProcedure(Box::new(self.procedure(verb)?)),
            "FUNCTION" => StatementKind::CreateFunction(Box::new(self.function(verb)?)),
            _ => StatementKind::CreateTrigger(Box::new(self.trigger(verb)?)),
        };
        let name = match &kind {
            StatementKind::CreateView(v) => &v.name,
            StatementKind::CreateProcedure(p) => &p.name,
            StatementKind::CreateFunction(f) => &f.name,
            StatementKind::CreateTrigger(t) => &t.name,
            _ => return Ok(Some(kind)),
        };
        self.without_database(name, &shown)?;
        Ok(Some(kind))
    }

    /// Modules are made and dropped in the current database: error 166 for a name with another in it.
    pub(super) fn without_database(&self, name: &ObjectName, what: &str) -> Result<()> {
        if name.database.is_none() {
            return Ok(());
        }
        let text =
            format!("'{what}' does not allow specifying the database name as a prefix to the object name.");
        Err(crate::ParseError::new(166, name.span.line, text))
    }

    // ---- views ----

    fn view(&mut self, verb: ModuleVerb) -> Result<CreateView> {
        let view = self.view_definition(verb)?;
        while self.eat(Tok::Semi) {}
        if !self.at_end() {
            return Err(self.unexpected());
        }
        Ok(view)
    }

    /// Behind CREATE VIEW.
    pub(super) fn view_definition(&mut self, verb: ModuleVerb) -> Result<CreateView> {
        let name = self.object_name()?;
        let columns = self.optional_ident_list()?;
        let options = self.module_options()?;
        self.expect_kw(Kw::AS)?;
        let query = self.module_query()?;
        let check_option = self.eat_words(&["WITH", "CHECK", "OPTION"]);
        Ok(CreateView { verb, name, columns, options, query, check_option })
    }

    fn module_query(&mut self) -> Result<ModuleQuery> {
        let start = self.span();
        let select = self.inside_query(Self::select_statement)?;
        Ok(ModuleQuery { select, span: self.since(start) })
    }

    /// `WITH option, …`; a WITH that begins something else stays.
    fn module_options(&mut self) -> Result<ModuleOptions> {
        let mut options = ModuleOptions::default();
        if !self.eat_kw(Kw::WITH) {
            return Ok(options);
        }
        self.list(|p| p.module_option(&mut options))?;
        Ok(options)
    }

    fn module_option(&mut self, options: &mut ModuleOptions) -> Result<()> {
        if matches!(self.tok(), Tok::Kw(Kw::EXEC | Kw::EXECUTE)) {
            self.bump();
            self.expect_kw(Kw::AS)?;
            options.execute_as = Some(self.module_execute_as()?);
            return Ok(());
        }
        if self.eat_words(&["RETURNS", "NULL", "ON", "NULL", "INPUT"]) {
            options.returns_null_on_null_input = true;
            return Ok(());
        }
        if self.eat_words(&["CALLED", "ON", "NULL", "INPUT"]) {
            return Ok(());
        }
        match self.upper_word()?.as_str() {
            "SCHEMABINDING" => options.schema_binding = true,
            "ENCRYPTION" => options.encryption = true,
            "RECOMPILE" => options.recompile = true,
            "NATIVE_COMPILATION" => options.native_compilation = true,
            "VIEW_METADATA" => options.other.push(SmolStr::new_static("VIEW_METADATA")),
            "INLINE" => {
                self.expect(Tok::Eq)?;
                let value = if self.on_off()? { "INLINE = ON" } else { "INLINE = OFF" };
                options.other.push(SmolStr::new_static(value));
            }
            _ => return Err(self.unexpected_at(self.at - 1)),
        }
        Ok(())
    }

    // ---- parameters ----

    /// `@a int [= default] [OUTPUT], …`, possibly empty.
    pub(crate) fn parameters(&mut self) -> Result<Vec<Parameter>> {
        if self.tok() != Tok::Variable {
            return Ok(Vec::new());
        }
        self.list(Self::parameter)
    }

    fn parameter(&mut self) -> Result<Parameter> {
        let variable = self.variable()?;
        self.eat_kw(Kw::AS);
        let ty = if self.eat_kw(Kw::CURSOR) {
            ParameterType::Cursor
        } else {
            ParameterType::Typed(self.type_name()?)
        };
        self.eat_kw(Kw::VARYING);
        let nullable = self.nullability()?;
        let default = if self.eat(Tok::Eq) { Some(self.parameter_default()?) } else { None };
        let (mut output, mut read_only) = (false, false);
        while let Some(word) = self.one_of(&["OUTPUT", "OUT", "READONLY"]) {
            if word == "READONLY" {
                read_only = true;
            } else {
                output = true;
            }
        }
        Ok(Parameter { variable, ty, default, output, read_only, nullable })
    }

    /// A constant; a bare word is a string.
    fn parameter_default(&mut self) -> Result<Expr> {
        match self.tok() {
            Tok::Word | Tok::Quoted => Ok(Self::word_as_string(self.take_ident())),
            _ => self.simple_value(),
        }
    }

    // ---- procedures ----

    fn procedure(&mut self, verb: ModuleVerb) -> Result<CreateProcedure> {
        let name = self.object_name()?;
        let mut number = None;
        if self.tok() == Tok::Semi && self.tok_ahead(1) == Tok::Int {
            self.bump();
            number = Some(self.int()?);
        }
        let parameters = if self.tok() == Tok::LParen {
            self.parenthesized(Self::parameters)?
        } else {
            self.parameters()?
        };
        let options = self.module_options()?;
        let for_replication = self.eat_words(&["FOR", "REPLICATION"]);
        self.expect_kw(Kw::AS)?;
        let body = if self.at_words(&["EXTERNAL", "NAME"]) {
            self.at += 2;
            ModuleBody::External(self.object_name()?)
        } else {
            let statements = self.statements_until(|p| p.at_end())?;
            ModuleBody::Statements(statements)
        };
        Ok(CreateProcedure { verb, name, number, parameters, options, for_replication, body })
    }

    // ---- functions ----

    fn function(&mut self, verb: ModuleVerb) -> Result<CreateFunction> {
        let name = self.object_name()?;
        let parameters = self.parenthesized(Self::parameters)?;
        self.expect_word("RETURNS")?;
        let returns = self.function_returns()?;
        let options = self.module_options()?;
        self.eat_kw(Kw::AS);
        let body = self.function_body(&returns)?;
        while self.eat(Tok::Semi) {}
        if !self.at_end() {
            return Err(self.unexpected());
        }
        Ok(CreateFunction { verb, name, parameters, returns, options, body })
    }

    fn function_returns(&mut self) -> Result<FunctionReturns> {
        if self.tok() == Tok::Variable {
            let variable = self.variable()?;
            self.expect_kw(Kw::TABLE)?;
            return Ok(FunctionReturns::Table { variable, elements: self.table_elements()? });
        }
        if self.eat_kw(Kw::TABLE) {
            if self.tok() == Tok::LParen {
                // A CLR function describes its columns here.
                self.skip_parentheses()?;
            }
            return Ok(FunctionReturns::Inline);
        }
        Ok(FunctionReturns::Scalar(self.type_name()?))
    }

    fn function_body(&mut self, returns: &FunctionReturns) -> Result<FunctionBody> {
        if self.at_words(&["EXTERNAL", "NAME"]) {
            self.at += 2;
            return Ok(FunctionBody::External(self.object_name()?));
        }
        if matches!(returns, FunctionReturns::Inline) {
            self.expect_kw(Kw::RETURN)?;
            return self.inline_body();
        }
        self.expect_kw(Kw::BEGIN)?;
        if self.at_word("ATOMIC") && self.tok_ahead(1) == Tok::Kw(Kw::WITH) {
            self.at += 2;
            self.skip_parentheses()?;
        }
        let statements = self.statements_until(Self::at_block_end)?;
        if statements.is_empty() {
            return Err(self.unexpected());
        }
        self.expect_kw(Kw::END)?;
        Ok(FunctionBody::Statements(statements))
    }

    /// `select` or `( [WITH …] select )`; what looks like a parenthesised body may be the first term of a UNION.
    fn inline_body(&mut self) -> Result<FunctionBody> {
        if self.tok() == Tok::LParen && self.tok_ahead(1) == Tok::Kw(Kw::WITH) {
            return Ok(FunctionBody::Inline(self.parenthesized(Self::module_query)?));
        }
        if self.tok() == Tok::LParen {
            let start = self.span();
            self.bump();
            let select = self.nested(|p| p.inside_query(Self::select_statement))?;
            self.expect(Tok::RParen)?;
            if !self.at_set_operator() {
                return Ok(FunctionBody::Inline(ModuleQuery { select, span: self.since(start) }));
            }
            let query = self.inside_query(|p| p.query_continued(select.query))?;
            let select = crate::ast::SelectStatement { with: None, query, options: self.option_clause()? };
            return Ok(FunctionBody::Inline(ModuleQuery { select, span: self.since(start) }));
        }
        Ok(FunctionBody::Inline(self.module_query()?))
    }

    // ---- triggers ----

    fn trigger(&mut self, verb: ModuleVerb) -> Result<CreateTrigger> {
        let name = self.object_name()?;
        self.expect_kw(Kw::ON)?;
        let target = self.trigger_target()?;
        let options = self.module_options()?;
        let timing = if self.eat_kw(Kw::FOR) || self.eat_word("AFTER") {
            TriggerTiming::After
        } else {
            self.expect_words(&["INSTEAD", "OF"])?;
            TriggerTiming::InsteadOf
        };
        let events = self.list(Self::upper_word)?;
        let not_for_replication = self.eat_words(&["NOT", "FOR", "REPLICATION"]);
        self.expect_kw(Kw::AS)?;
        let body = self.statements_until(|p| p.at_end())?;
        if body.is_empty() {
            return Err(self.unexpected());
        }
        Ok(CreateTrigger { verb, name, target, options, timing, events, not_for_replication, body })
    }

    pub(super) fn trigger_target(&mut self) -> Result<TriggerTarget> {
        if self.eat_kw(Kw::DATABASE) {
            return Ok(TriggerTarget::Database);
        }
        if self.eat_words(&["ALL", "SERVER"]) {
            return Ok(TriggerTarget::AllServer);
        }
        Ok(TriggerTarget::Object(self.object_name()?))
    }

    /// Behind ENABLE or DISABLE.
    pub(super) fn enable_trigger(&mut self, enable: bool) -> Result<StatementKind> {
        self.expect_kw(Kw::TRIGGER)?;
        let names = if self.eat_kw(Kw::ALL) { Vec::new() } else { self.list(Self::object_name)? };
        self.expect_kw(Kw::ON)?;
        let target = self.trigger_target()?;
        Ok(StatementKind::EnableTrigger(Box::new(EnableTrigger { enable, names, target })))
    }
}
