//! CREATE DATABASE and ALTER DATABASE.

use super::Parser;
use crate::ast::{
    AlterDatabase, AlterDatabaseAction, CreateDatabase, FileGroup, FileSpec, HadrAction, Opt, OptValue,
    PartnerAction, Termination,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::{SmolStr, StrExt as _};

impl Parser<'_> {
    /// Behind CREATE DATABASE.
    pub(super) fn create_database(&mut self) -> Result<CreateDatabase> {
        let name = self.ident()?;
        let mut database = CreateDatabase {
            name,
            containment: None,
            files: Vec::new(),
            log_files: Vec::new(),
            collation: None,
            options: Vec::new(),
            attach: None,
            snapshot_of: None,
        };
        if self.eat_word("CONTAINMENT") {
            self.expect(Tok::Eq)?;
            database.containment = Some(self.upper_word()?);
        }
        if self.eat_kw(Kw::ON) {
            database.files = self.file_groups()?;
        }
        if self.at_words(&["LOG", "ON"]) {
            self.at += 2;
            database.log_files = self.list(Self::file_spec)?;
        }
        if self.eat_kw(Kw::COLLATE) {
            database.collation = Some(self.collation_name()?);
        }
        if self.eat_kw(Kw::AS) {
            self.expect_words(&["SNAPSHOT", "OF"])?;
            database.snapshot_of = Some(self.ident()?);
        }
        if self.eat_kw(Kw::FOR) {
            database.attach = Some(self.upper_word()?);
        }
        if self.eat_kw(Kw::WITH) {
            database.options = self.option_list()?;
        }
        Ok(database)
    }

    /// `[PRIMARY] file, …, FILEGROUP fg [CONTAINS …] [DEFAULT] file, …`
    fn file_groups(&mut self) -> Result<Vec<FileGroup>> {
        self.eat_kw(Kw::PRIMARY);
        let mut groups = vec![FileGroup { name: None, options: Vec::new(), files: Vec::new() }];
        loop {
            if self.eat_word("FILEGROUP") {
                let name = Some(self.ident()?);
                let mut options = Vec::new();
                while let Some(word) =
                    self.one_of(&["CONTAINS", "FILESTREAM", "MEMORY_OPTIMIZED_DATA", "DEFAULT"])
                {
                    options.push(Opt { name: SmolStr::new(word), value: OptValue::None, span: self.span() });
                }
                groups.push(FileGroup { name, options, files: Vec::new() });
            }
            let file = self.file_spec()?;
            if let Some(group) = groups.last_mut() {
                group.files.push(file);
            }
            if !self.eat(Tok::Comma) {
                return Ok(groups);
            }
        }
    }

    fn file_spec(&mut self) -> Result<FileSpec> {
        Ok(FileSpec { options: self.options_in_parentheses()? })
    }

    // ---- ALTER DATABASE ----

    /// Behind ALTER DATABASE.
    pub(super) fn alter_database(&mut self) -> Result<AlterDatabase> {
        if self.at_words(&["SCOPED", "CONFIGURATION"]) {
            self.at += 2;
            return Ok(AlterDatabase { name: None, action: self.scoped_configuration()? });
        }
        let name = if self.eat_kw(Kw::CURRENT) { None } else { Some(self.ident()?) };
        let action = match self.tok() {
            Tok::Kw(Kw::COLLATE) => {
                self.bump();
                AlterDatabaseAction::Collate(self.collation_name()?)
            }
            Tok::Kw(Kw::SET) => {
                self.bump();
                self.alter_database_set()?
            }
            Tok::Kw(Kw::ADD) | Tok::Word => self.alter_database_files()?,
            _ => return Err(self.unexpected()),
        };
        Ok(AlterDatabase { name, action })
    }

    fn scoped_configuration(&mut self) -> Result<AlterDatabaseAction> {
        let for_secondary = self.eat_words(&["FOR", "SECONDARY"]);
        if self.eat_word("CLEAR") {
            let name = SmolStr::from(format!("CLEAR {}", self.upper_word()?));
            if self.tok() == Tok::Binary {
                self.bump();
            }
            let options = vec![Opt { name, value: OptValue::None, span: self.span() }];
            return Ok(AlterDatabaseAction::ScopedConfiguration { for_secondary, options });
        }
        self.expect_kw(Kw::SET)?;
        let options = vec![self.option()?];
        Ok(AlterDatabaseAction::ScopedConfiguration { for_secondary, options })
    }

    fn alter_database_set(&mut self) -> Result<AlterDatabaseAction> {
        if self.eat_word("HADR") {
            return Ok(AlterDatabaseAction::SetHadr(self.hadr_action()?));
        }
        if self.eat_word("PARTNER") {
            return Ok(AlterDatabaseAction::SetPartner(self.partner_action()?));
        }
        if self.eat_word("WITNESS") {
            let server = if self.eat_kw(Kw::OFF) { None } else { Some(self.partner_server()?) };
            return Ok(AlterDatabaseAction::SetWitness(server));
        }
        let start = self.span();
        let options = if self.tok() == Tok::LParen {
            self.options_in_parentheses()?
        } else if self.eat_words(&["QUERY_STORE", "CLEAR"]) {
            self.eat_kw(Kw::ALL);
            let name = SmolStr::new_static("QUERY_STORE CLEAR");
            vec![Opt { name, value: OptValue::None, span: self.since(start) }]
        } else {
            self.option_list()?
        };
        Ok(AlterDatabaseAction::Set { options, termination: self.termination()? })
    }

    fn termination(&mut self) -> Result<Option<Termination>> {
        if !self.eat_kw(Kw::WITH) {
            return Ok(None);
        }
        if self.eat_word("NO_WAIT") {
            return Ok(Some(Termination::NoWait));
        }
        self.expect_kw(Kw::ROLLBACK)?;
        if self.eat_word("IMMEDIATE") {
            return Ok(Some(Termination::RollbackImmediate));
        }
        self.expect_word("AFTER")?;
        let seconds = u32::try_from(self.int()?).unwrap_or(0);
        let _ = self.one_of(&["SECONDS", "SECOND"]);
        Ok(Some(Termination::RollbackAfter { seconds }))
    }

    fn hadr_action(&mut self) -> Result<HadrAction> {
        if self.eat_words(&["AVAILABILITY", "GROUP"]) {
            self.expect(Tok::Eq)?;
            return Ok(HadrAction::Join { group: self.ident()? });
        }
        match self.one_of(&["OFF", "SUSPEND", "RESUME"]) {
            Some("OFF") => Ok(HadrAction::Off),
            Some("SUSPEND") => Ok(HadrAction::Suspend),
            Some(_) => Ok(HadrAction::Resume),
            None => Err(self.unexpected()),
        }
    }

    /// `= 'TCP://…'`, `FAILOVER`, `SAFETY FULL`, `TIMEOUT 10`, `OFF`, …
    fn partner_action(&mut self) -> Result<PartnerAction> {
        if self.tok() == Tok::Eq {
            return Ok(PartnerAction::Server(self.partner_server()?));
        }
        if self.eat_kw(Kw::OFF) {
            return Ok(PartnerAction::Off);
        }
        if self.eat_word("SAFETY") {
            if self.eat_kw(Kw::FULL) {
                return Ok(PartnerAction::Safety(true));
            }
            self.expect_kw(Kw::OFF)?;
            return Ok(PartnerAction::Safety(false));
        }
        match self.one_of(&["FAILOVER", "FORCE_SERVICE_ALLOW_DATA_LOSS", "RESUME", "SUSPEND", "TIMEOUT"]) {
            Some("FAILOVER") => Ok(PartnerAction::Failover),
            Some("FORCE_SERVICE_ALLOW_DATA_LOSS") => Ok(PartnerAction::ForceServiceAllowDataLoss),
            Some("RESUME") => Ok(PartnerAction::Resume),
            Some("SUSPEND") => Ok(PartnerAction::Suspend),
            Some(_) => Ok(PartnerAction::Timeout(self.int()?)),
            None => Err(self.unexpected()),
        }
    }

    fn partner_server(&mut self) -> Result<SmolStr> {
        self.expect(Tok::Eq)?;
        self.string()
    }

    /// ADD/MODIFY/REMOVE FILE, LOG FILE, FILEGROUP; MODIFY NAME; MODIFY ( … ).
    fn alter_database_files(&mut self) -> Result<AlterDatabaseAction> {
        let verb = self.upper_word()?;
        if verb == "MODIFY" && self.eat_word("NAME") {
            self.expect(Tok::Eq)?;
            return Ok(AlterDatabaseAction::ModifyName(self.ident()?));
        }
        if verb == "MODIFY" && self.tok() == Tok::LParen {
            return Ok(AlterDatabaseAction::Modify { options: self.options_in_parentheses()? });
        }
        if !matches!(verb.as_str(), "ADD" | "MODIFY" | "REMOVE") {
            return Err(self.unexpected_at(self.at - 1));
        }
        let log = self.eat_word("LOG");
        let what = if self.eat_kw(Kw::FILE) {
            if log { "LOG FILE" } else { "FILE" }
        } else {
            self.expect_word("FILEGROUP")?;
            "FILEGROUP"
        };
        let verb_text = SmolStr::from(format!("{verb} {what}"));
        let (mut files, mut name, mut to_filegroup, mut options) = (Vec::new(), None, None, Vec::new());
        if self.tok() == Tok::LParen {
            files = self.list(Self::file_spec)?;
            if self.eat_words(&["TO", "FILEGROUP"]) {
                to_filegroup = Some(self.ident()?);
            }
        } else {
            name = Some(self.any_word()?);
            while matches!(self.tok(), Tok::Word | Tok::Kw(Kw::DEFAULT | Kw::CONTAINS)) {
                let span = self.span();
                let token = self.bump();
                let option = self.raw(token).to_uppercase_smolstr();
                let value = if self.eat(Tok::Eq) { OptValue::Word(self.any_word()?) } else { OptValue::None };
                options.push(Opt { name: option, value, span });
            }
        }
        Ok(AlterDatabaseAction::File { verb: verb_text, files, name, to_filegroup, options })
    }
}
