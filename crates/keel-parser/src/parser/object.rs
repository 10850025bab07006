//! CREATE, ALTER and DROP by class of object, and the small classes: schemas, types, sequences, synonyms.

use super::Parser;
use crate::ast::{
    AlterSchema, CreateBindable, CreateSchema, CreateSequence, CreateSynonym, CreateType, CreateTypeKind,
    Drop, DropClass, Ident, ModuleVerb, ObjectName, SensitivityClassification, SequenceOption, Statement,
    StatementKind, XmlCollection,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn create(&mut self) -> Result<StatementKind> {
        let create_at = self.at;
        self.bump();
        if self.eat_words(&["OR", "ALTER"]) {
            return self.module(ModuleVerb::CreateOrAlter, create_at)?.ok_or_else(|| self.unexpected());
        }
        if let Some(module) = self.module(ModuleVerb::Create, create_at)? {
            return Ok(module);
        }
        Ok(match self.tok() {
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                StatementKind::CreateTable(Box::new(self.create_table()?))
            }
            Tok::Kw(Kw::UNIQUE | Kw::CLUSTERED | Kw::NONCLUSTERED | Kw::INDEX) => {
                StatementKind::CreateIndex(Box::new(self.create_index()?))
            }
            Tok::Kw(Kw::PRIMARY) if self.word_ahead(1, "XML") => {
                StatementKind::CreateIndex(Box::new(self.create_index()?))
            }
            Tok::Kw(Kw::DATABASE) if !self.create_database_subclass() => {
                self.bump();
                StatementKind::CreateDatabase(Box::new(self.create_database()?))
            }
            Tok::Kw(Kw::SCHEMA) => {
                self.first_in_batch(create_at, "CREATE SCHEMA")?;
                self.bump();
                StatementKind::CreateSchema(Box::new(self.create_schema()?))
            }
            Tok::Kw(kind @ (Kw::DEFAULT | Kw::RULE)) => {
                let is_rule = kind == Kw::RULE;
                let what = if is_rule { "CREATE RULE" } else { "CREATE DEFAULT" };
                self.first_in_batch(create_at, what)?;
                self.bump();
                StatementKind::CreateBindable(Box::new(self.create_bindable(is_rule, what)?))
            }
            Tok::Kw(Kw::STATISTICS) => {
                self.bump();
                StatementKind::CreateStatistics(Box::new(self.create_statistics()?))
            }
            Tok::Kw(Kw::USER) => {
                self.bump();
                StatementKind::CreateUser(Box::new(self.create_user()?))
            }
            _ => return self.create_word(),
        })
    }

    /// Behind CREATE DEFAULT or CREATE RULE, which is alone in its batch.
    fn create_bindable(&mut self, is_rule: bool, what: &str) -> Result<CreateBindable> {
        let name = self.object_name()?;
        self.without_database(&name, what)?;
        self.expect_kw(Kw::AS)?;
        let expression = if is_rule { self.condition()? } else { self.expr()? };
        while self.eat(Tok::Semi) {}
        self.end_of_text()?;
        Ok(CreateBindable { name, is_rule, expression })
    }

    /// `CREATE DATABASE AUDIT SPECIFICATION`, `… SCOPED CREDENTIAL`, `… ENCRYPTION KEY`.
    fn create_database_subclass(&self) -> bool {
        [["AUDIT", "SPECIFICATION"], ["SCOPED", "CREDENTIAL"], ["ENCRYPTION", "KEY"]]
            .iter()
            .any(|pair| self.word_ahead(1, pair[0]) && self.word_ahead(2, pair[1]))
    }

    /// Classes whose names are not reserved.
    fn create_word(&mut self) -> Result<StatementKind> {
        if let Some(statement) = self.database_encryption_key("CREATE")? {
            return Ok(statement);
        }
        let special_index = matches!(self.tok_ahead(1), Tok::Kw(Kw::INDEX))
            && ["COLUMNSTORE", "XML", "SPATIAL"].iter().any(|w| self.at_word(w));
        if special_index {
            return Ok(StatementKind::CreateIndex(Box::new(self.create_index()?)));
        }
        if self.xml_collection_class() {
            return self.xml_collection(false);
        }
        if self.eat_word("TYPE") {
            return Ok(StatementKind::CreateType(Box::new(self.create_type()?)));
        }
        if self.eat_word("SEQUENCE") {
            return Ok(StatementKind::CreateSequence(Box::new(self.sequence()?)));
        }
        if self.eat_word("SYNONYM") {
            let name = self.object_name()?;
            self.expect_kw(Kw::FOR)?;
            let target = self.object_name()?;
            return Ok(StatementKind::CreateSynonym(Box::new(CreateSynonym { name, target })));
        }
        if self.eat_word("LOGIN") {
            return Ok(StatementKind::CreateLogin(Box::new(self.create_login()?)));
        }
        if let Some((server, application)) = self.role_class() {
            return Ok(StatementKind::CreateRole(Box::new(self.create_role(server, application)?)));
        }
        if let Some(statement) = self.key_statement("CREATE")? {
            return Ok(statement);
        }
        if let Some(statement) = self.credential_statement("CREATE")? {
            return Ok(statement);
        }
        if self.eat_word("ENDPOINT") {
            return Ok(StatementKind::Endpoint(Box::new(self.endpoint(true)?)));
        }
        if self.eat_words(&["AVAILABILITY", "GROUP"]) {
            return Ok(StatementKind::AvailabilityGroup(Box::new(self.create_availability_group()?)));
        }
        if let Some(statement) = self.partition_statement("CREATE")? {
            return Ok(statement);
        }
        if let Some(statement) = self.full_text_statement("CREATE")? {
            return Ok(statement);
        }
        if self.eat_words(&["SECURITY", "POLICY"]) {
            return self.security_policy(false);
        }
        if let Some(statement) = self.audit_statement("CREATE")? {
            return Ok(statement);
        }
        if self.eat_words(&["EVENT", "SESSION"]) {
            return self.event_session("CREATE");
        }
        if let Some(statement) = self.governor_statement("CREATE")? {
            return Ok(statement);
        }
        if let Some(statement) = self.broker_statement("CREATE")? {
            return Ok(statement);
        }
        self.generic("CREATE")
    }

    /// `ROLE`, `SERVER ROLE`, `APPLICATION ROLE`.
    fn role_class(&mut self) -> Option<(bool, bool)> {
        if self.eat_word("ROLE") {
            return Some((false, false));
        }
        if self.eat_words(&["SERVER", "ROLE"]) {
            return Some((true, false));
        }
        if self.eat_words(&["APPLICATION", "ROLE"]) { Some((false, true)) } else { None }
    }

    #[inline(never)]
    pub(super) fn alter(&mut self) -> Result<StatementKind> {
        let alter_at = self.at;
        self.bump();
        if let Some(module) = self.module(ModuleVerb::Alter, alter_at)? {
            return Ok(module);
        }
        if let Some(statement) = self.database_encryption_key("ALTER")? {
            return Ok(statement);
        }
        Ok(match self.tok() {
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                StatementKind::AlterTable(Box::new(self.alter_table()?))
            }
            Tok::Kw(Kw::INDEX) => {
                self.bump();
                StatementKind::AlterIndex(Box::new(self.alter_index()?))
            }
            Tok::Kw(Kw::DATABASE)
                if !self.create_database_subclass() || self.word_ahead(2, "CONFIGURATION") =>
            {
                self.bump();
                StatementKind::AlterDatabase(Box::new(self.alter_database()?))
            }
            Tok::Kw(Kw::SCHEMA) => {
                self.bump();
                StatementKind::AlterSchema(Box::new(self.alter_schema()?))
            }
            Tok::Kw(Kw::USER) => {
                self.bump();
                StatementKind::AlterUser(Box::new(self.alter_user()?))
            }
            Tok::Kw(Kw::AUTHORIZATION) => {
                self.bump();
                StatementKind::AlterAuthorization(Box::new(self.alter_authorization()?))
            }
            _ => return self.alter_word(),
        })
    }

    /// `XML SCHEMA COLLECTION`
    fn xml_collection_class(&mut self) -> bool {
        let found = self.at_word("XML")
            && self.tok_ahead(1) == Tok::Kw(Kw::SCHEMA)
            && self.word_ahead(2, "COLLECTION");
        if found {
            self.at += 3;
        }
        found
    }

    fn xml_collection(&mut self, add: bool) -> Result<StatementKind> {
        let name = self.object_name()?;
        if add {
            self.expect_kw(Kw::ADD)?;
        } else {
            self.expect_kw(Kw::AS)?;
        }
        let documents = self.expr()?;
        Ok(StatementKind::XmlCollection(Box::new(XmlCollection { add, name, documents })))
    }

    fn alter_word(&mut self) -> Result<StatementKind> {
        if self.xml_collection_class() {
            return self.xml_collection(true);
        }
        if self.eat_word("SEQUENCE") {
            return Ok(StatementKind::AlterSequence(Box::new(self.sequence()?)));
        }
        if self.eat_word("LOGIN") {
            return Ok(StatementKind::AlterLogin(Box::new(self.alter_login()?)));
        }
        if let Some((server, application)) = self.role_class() {
            return Ok(StatementKind::AlterRole(Box::new(self.alter_role(server, application)?)));
        }
        if self.eat_word("ENDPOINT") {
            return Ok(StatementKind::Endpoint(Box::new(self.endpoint(false)?)));
        }
        if self.eat_words(&["AVAILABILITY", "GROUP"]) {
            return Ok(StatementKind::AvailabilityGroup(Box::new(self.alter_availability_group()?)));
        }
        if let Some(statement) = self.key_statement("ALTER")? {
            return Ok(statement);
        }
        if let Some(statement) = self.credential_statement("ALTER")? {
            return Ok(statement);
        }
        if let Some(statement) = self.partition_statement("ALTER")? {
            return Ok(statement);
        }
        if let Some(statement) = self.full_text_statement("ALTER")? {
            return Ok(statement);
        }
        if self.eat_words(&["SECURITY", "POLICY"]) {
            return self.security_policy(true);
        }
        if let Some(statement) = self.audit_statement("ALTER")? {
            return Ok(statement);
        }
        if self.eat_words(&["EVENT", "SESSION"]) {
            return self.event_session("ALTER");
        }
        if let Some(statement) = self.governor_statement("ALTER")? {
            return Ok(statement);
        }
        if let Some(statement) = self.broker_statement("ALTER")? {
            return Ok(statement);
        }
        self.generic("ALTER")
    }

    // ---- DROP ----

    #[inline(never)]
    pub(super) fn drop_statement(&mut self) -> Result<StatementKind> {
        self.bump();
        if self.eat_kw(Kw::INDEX) {
            return self.drop_index();
        }
        if let Some(statement) = self.partition_statement("DROP")? {
            return Ok(statement);
        }
        if let Some(statement) = self.full_text_statement("DROP")? {
            return Ok(statement);
        }
        if let Some(statement) = self.audit_statement("DROP")? {
            return Ok(statement);
        }
        if self.eat_words(&["EVENT", "SESSION"]) {
            return self.event_session("DROP");
        }
        if let Some(statement) = self.database_encryption_key("DROP")? {
            return Ok(statement);
        }
        if let Some(statement) = self.governor_statement("DROP")? {
            return Ok(statement);
        }
        if let Some(statement) = self.credential_statement("DROP")? {
            return Ok(statement);
        }
        if let Some(statement) = self.broker_statement("DROP")? {
            return Ok(statement);
        }
        if self.at_word("SENSITIVITY") {
            return self.sensitivity_classification("DROP");
        }
        if let Some(statement) = self.signature_statement(false)? {
            return Ok(statement);
        }
        let Some(class) = self.drop_class() else { return self.generic("DROP") };
        if class == DropClass::AvailabilityGroup {
            let name = self.ident()?;
            let action = crate::ast::AvailabilityGroupAction::Drop;
            let statement = crate::ast::AvailabilityGroupStatement { name, action };
            return Ok(StatementKind::AvailabilityGroup(Box::new(statement)));
        }
        let if_exists = self.if_exists();
        let names = match class {
            DropClass::MasterKey => Vec::new(),
            DropClass::Database => self.list(|p| Ok(crate::ast::ObjectName::simple(p.ident()?)))?,
            _ => self.list(Self::object_name)?,
        };
        let module = match class {
            DropClass::View => Some("DROP VIEW"),
            DropClass::Procedure => Some("DROP PROCEDURE"),
            DropClass::Function => Some("DROP FUNCTION"),
            DropClass::Trigger => Some("DROP TRIGGER"),
            _ => None,
        };
        if let Some(what) = module {
            names.iter().try_for_each(|name| self.without_database(name, what))?;
        }
        if matches!(class, DropClass::AsymmetricKey | DropClass::SymmetricKey) {
            // There are no key managers to take it out of.
            self.eat_words(&["REMOVE", "PROVIDER", "KEY"]);
        }
        let mut drop = Drop { class, if_exists, names, trigger_target: None };
        if drop.class == DropClass::Trigger && self.eat_kw(Kw::ON) {
            drop.trigger_target = Some(self.trigger_target()?);
        }
        Ok(StatementKind::Drop(Box::new(drop)))
    }

    fn drop_class(&mut self) -> Option<DropClass> {
        let class = match self.tok() {
            Tok::Kw(Kw::DATABASE) if !self.create_database_subclass() => DropClass::Database,
            Tok::Kw(Kw::SCHEMA) => DropClass::Schema,
            Tok::Kw(Kw::TABLE) => DropClass::Table,
            Tok::Kw(Kw::VIEW) => DropClass::View,
            Tok::Kw(Kw::PROC | Kw::PROCEDURE) => DropClass::Procedure,
            Tok::Kw(Kw::FUNCTION) => DropClass::Function,
            Tok::Kw(Kw::TRIGGER) => DropClass::Trigger,
            Tok::Kw(Kw::STATISTICS) => DropClass::Statistics,
            Tok::Kw(Kw::USER) => DropClass::User,
            Tok::Kw(Kw::RULE) => DropClass::Rule,
            Tok::Kw(Kw::DEFAULT) => DropClass::Default,
            _ => return self.drop_class_word(),
        };
        self.bump();
        Some(class)
    }

    fn drop_class_word(&mut self) -> Option<DropClass> {
        if self.eat_words(&["MASTER", "KEY"]) {
            return Some(DropClass::MasterKey);
        }
        if self.eat_words(&["COLUMN", "MASTER", "KEY"]) {
            return Some(DropClass::ColumnMasterKey);
        }
        if self.eat_words(&["COLUMN", "ENCRYPTION", "KEY"]) {
            return Some(DropClass::ColumnEncryptionKey);
        }
        if self.eat_words(&["ASYMMETRIC", "KEY"]) {
            return Some(DropClass::AsymmetricKey);
        }
        if self.eat_words(&["SYMMETRIC", "KEY"]) {
            return Some(DropClass::SymmetricKey);
        }
        if self.eat_words(&["AVAILABILITY", "GROUP"]) {
            return Some(DropClass::AvailabilityGroup);
        }
        if self.xml_collection_class() {
            return Some(DropClass::XmlCollection);
        }
        if self.eat_words(&["SECURITY", "POLICY"]) {
            return Some(DropClass::SecurityPolicy);
        }
        if let Some((server, application)) = self.role_class() {
            return Some(match (server, application) {
                (true, _) => DropClass::ServerRole,
                (_, true) => DropClass::Other(SmolStr::new_static("APPLICATION ROLE")),
                _ => DropClass::Role,
            });
        }
        let word = self.one_of(&[
            "TYPE",
            "SEQUENCE",
            "SYNONYM",
            "LOGIN",
            "CERTIFICATE",
            "ENDPOINT",
            "AGGREGATE",
            "ASSEMBLY",
        ])?;
        Some(match word {
            "TYPE" => DropClass::Type,
            "SEQUENCE" => DropClass::Sequence,
            "SYNONYM" => DropClass::Synonym,
            "LOGIN" => DropClass::Login,
            "CERTIFICATE" => DropClass::Certificate,
            "ENDPOINT" => DropClass::Endpoint,
            other => DropClass::Other(SmolStr::new_static(other)),
        })
    }

    // ---- schemas ----

    fn create_schema(&mut self) -> Result<CreateSchema> {
        let name = if self.at_ident() { Some(self.ident()?) } else { None };
        let authorization = if self.eat_kw(Kw::AUTHORIZATION) { Some(self.ident()?) } else { None };
        if name.is_none() && authorization.is_none() {
            return Err(self.unexpected());
        }
        let mut elements = Vec::new();
        let schema = name.as_ref().or(authorization.as_ref()).cloned();
        while self.at_schema_element() {
            elements.push(self.schema_element(schema.as_ref())?);
        }
        Ok(CreateSchema { name, authorization, elements })
    }

    /// A table or view without a schema's name is one of the schema that is made.
    fn schema_element(&mut self, schema: Option<&Ident>) -> Result<Statement> {
        let start = self.span();
        if self.at_words(&["CREATE", "VIEW"]) {
            self.at += 2;
            let mut view = self.view_definition(ModuleVerb::Create)?;
            view.name.schema = view.name.schema.or(schema.cloned());
            return Ok(Statement {
                kind: StatementKind::CreateView(Box::new(view)),
                span: self.since(start),
            });
        }
        let mut element = self.statement()?;
        if let StatementKind::CreateTable(table) = &mut element.kind
            && table.name.schema.is_none()
        {
            table.name.schema = schema.cloned();
        }
        Ok(element)
    }

    /// Tables, views and permissions are part of CREATE SCHEMA; other modules open their own batch.
    fn at_schema_element(&self) -> bool {
        match self.tok() {
            Tok::Kw(Kw::CREATE) => matches!(self.tok_ahead(1), Tok::Kw(Kw::TABLE | Kw::VIEW)),
            Tok::Kw(Kw::GRANT | Kw::REVOKE | Kw::DENY) => true,
            _ => false,
        }
    }

    /// At ADD, or behind DROP.
    pub(super) fn sensitivity_classification(&mut self, verb: &str) -> Result<StatementKind> {
        let add = verb == "ADD";
        if add {
            self.bump();
        }
        self.expect_word("SENSITIVITY")?;
        self.expect_word("CLASSIFICATION")?;
        self.expect_kw(if add { Kw::TO } else { Kw::FROM })?;
        let columns = self.list(Self::column_of_table)?;
        let mut options = None;
        if add {
            self.expect_kw(Kw::WITH)?;
            options = Some(self.options_in_parentheses()?);
        }
        Ok(StatementKind::SensitivityClassification(Box::new(SensitivityClassification { columns, options })))
    }

    /// `[schema.]table.column`
    fn column_of_table(&mut self) -> Result<(ObjectName, Ident)> {
        let ObjectName { server, database, schema, name, span } = self.object_name()?;
        let table = schema.ok_or_else(|| self.unexpected())?;
        Ok((ObjectName { server: None, database: server, schema: database, name: table, span }, name))
    }

    fn alter_schema(&mut self) -> Result<AlterSchema> {
        let schema = self.ident()?;
        self.expect_word("TRANSFER")?;
        let mut class = None;
        if self.xml_collection_class() {
            class = Some(SmolStr::new_static("XML SCHEMA COLLECTION"));
            self.expect(Tok::DoubleColon)?;
        } else if self.tok_ahead(1) == Tok::DoubleColon {
            class = Some(self.upper_word()?);
            self.bump();
        }
        Ok(AlterSchema { schema, class, object: self.object_name()? })
    }

    // ---- types and sequences ----

    fn create_type(&mut self) -> Result<CreateType> {
        let name = self.object_name()?;
        let kind = if self.eat_kw(Kw::FROM) {
            let base = self.type_name()?;
            CreateTypeKind::Alias { base, nullable: self.nullability()? }
        } else if self.eat_kw(Kw::AS) {
            self.expect_kw(Kw::TABLE)?;
            let elements = self.table_elements()?;
            CreateTypeKind::Table { elements, options: self.with_options()? }
        } else {
            self.expect_words(&["EXTERNAL", "NAME"])?;
            CreateTypeKind::External(self.object_name()?)
        };
        Ok(CreateType { name, kind })
    }

    /// Behind CREATE or ALTER SEQUENCE.
    fn sequence(&mut self) -> Result<CreateSequence> {
        let name = self.object_name()?;
        let (mut ty, mut options) = (None, Vec::new());
        loop {
            if ty.is_none() && self.eat_kw(Kw::AS) {
                ty = Some(self.type_name()?);
            } else if let Some(option) = self.sequence_option()? {
                options.push(option);
            } else {
                break;
            }
        }
        Ok(CreateSequence { name, ty, options })
    }

    fn sequence_option(&mut self) -> Result<Option<SequenceOption>> {
        if self.eat_word("START") {
            self.expect_kw(Kw::WITH)?;
            return Ok(Some(SequenceOption::StartWith(self.signed_literal()?)));
        }
        if self.eat_word("RESTART") {
            let with = self.eat_kw(Kw::WITH);
            return Ok(Some(SequenceOption::Restart(if with { Some(self.signed_literal()?) } else { None })));
        }
        if self.eat_word("INCREMENT") {
            self.expect_kw(Kw::BY)?;
            return Ok(Some(SequenceOption::IncrementBy(self.signed_literal()?)));
        }
        if self.eat_word("NO") {
            return match self.one_of(&["MINVALUE", "MAXVALUE", "CYCLE", "CACHE"]) {
                Some("MINVALUE") => Ok(Some(SequenceOption::MinValue(None))),
                Some("MAXVALUE") => Ok(Some(SequenceOption::MaxValue(None))),
                Some("CYCLE") => Ok(Some(SequenceOption::Cycle(false))),
                Some(_) => Ok(Some(SequenceOption::Cache(Some(0)))),
                None => Err(self.unexpected()),
            };
        }
        Ok(match self.one_of(&["MINVALUE", "MAXVALUE", "CYCLE", "CACHE"]) {
            Some("MINVALUE") => Some(SequenceOption::MinValue(Some(self.signed_literal()?))),
            Some("MAXVALUE") => Some(SequenceOption::MaxValue(Some(self.signed_literal()?))),
            Some("CYCLE") => Some(SequenceOption::Cycle(true)),
            Some(_) => {
                let sized = self.tok() == Tok::Int;
                Some(SequenceOption::Cache(if sized { Some(self.bigint()?) } else { None }))
            }
            None => None,
        })
    }
}
