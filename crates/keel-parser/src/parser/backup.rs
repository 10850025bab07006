//! BACKUP and RESTORE.

use super::Parser;
use crate::ast::{
    Backup, BackupCertificate, BackupDevice, DeviceName, Ident, NameOrVariable, Opt, OptValue, Restore,
    RestoreKind, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::{SmolStr, StrExt as _};

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn backup(&mut self) -> Result<StatementKind> {
        self.bump();
        if self.eat_word("CERTIFICATE") {
            return self.backup_certificate();
        }
        if self.eat_words(&["MASTER", "KEY"]) {
            return self.other_master_key("BACKUP");
        }
        if self.at_words(&["SERVICE", "MASTER"]) {
            return self.generic("BACKUP");
        }
        let log = self.eat_word("LOG");
        if !log {
            self.expect_kw(Kw::DATABASE)?;
        }
        let database = self.name_or_variable()?;
        let parts = self.backup_parts(Kw::TO)?;
        self.expect_kw(Kw::TO)?;
        let to = self.list(Self::backup_device)?;
        let mut mirrors = Vec::new();
        while self.eat_words(&["MIRROR", "TO"]) {
            mirrors.push(self.list(Self::backup_device)?);
        }
        let options = if self.eat_kw(Kw::WITH) { self.list(Self::backup_option)? } else { Vec::new() };
        Ok(StatementKind::Backup(Box::new(Backup { log, database, parts, to, mirrors, options })))
    }

    fn name_or_variable(&mut self) -> Result<NameOrVariable> {
        if self.tok() == Tok::Variable {
            return Ok(NameOrVariable::Variable(self.variable()?));
        }
        Ok(NameOrVariable::Name(self.ident()?))
    }

    /// `FILE = …, FILEGROUP = …, READ_WRITE_FILEGROUPS, PAGE = '…'` up to TO or FROM.
    fn backup_parts(&mut self, end: Kw) -> Result<Vec<Opt>> {
        if self.at_kw(end) || !matches!(self.tok(), Tok::Word | Tok::Kw(Kw::FILE)) {
            return Ok(Vec::new());
        }
        self.option_list()
    }

    fn backup_device(&mut self) -> Result<BackupDevice> {
        let kind = match self.one_of(&["DISK", "URL", "TAPE", "VIRTUAL_DEVICE"]) {
            Some(kind) => {
                self.expect(Tok::Eq)?;
                Some(SmolStr::new_static(kind))
            }
            None => None,
        };
        let name = match self.tok() {
            Tok::Variable => DeviceName::Variable(self.variable()?),
            Tok::Str | Tok::NStr => DeviceName::Text(self.string()?),
            _ => DeviceName::Logical(self.ident()?),
        };
        Ok(BackupDevice { kind, name })
    }

    /// An option, `MOVE 'a' TO 'b'` as a list of two, `STOPATMARK = 'a' AFTER 'b'` likewise.
    fn backup_option(&mut self) -> Result<Opt> {
        let start = self.span();
        if self.at_word("MOVE") {
            self.bump();
            let from = self.move_name()?;
            self.expect_kw(Kw::TO)?;
            let to = self.move_name()?;
            let value = OptValue::List(vec![from, to]);
            return Ok(Opt { name: SmolStr::new_static("MOVE"), value, span: self.since(start) });
        }
        let mut option = self.option()?;
        let stops = matches!(option.name.as_str(), "STOPATMARK" | "STOPBEFOREMARK");
        if stops && self.eat_word("AFTER") {
            let span = self.span();
            let value = if self.tok() == Tok::Variable {
                OptValue::Variable(self.variable()?)
            } else {
                OptValue::String(self.string()?)
            };
            let mark = Opt { name: SmolStr::default(), value: option.value, span: option.span };
            option.value = OptValue::List(vec![
                mark,
                Opt { name: SmolStr::new_static("AFTER"), value, span: self.since(span) },
            ]);
        }
        Ok(option)
    }

    fn move_name(&mut self) -> Result<Opt> {
        let span = self.span();
        if self.tok() == Tok::Variable {
            let value = OptValue::Variable(self.variable()?);
            return Ok(Opt { name: SmolStr::default(), value, span });
        }
        Ok(Opt { name: self.ident_or_string()?.text, value: OptValue::None, span })
    }

    #[inline(never)]
    pub(super) fn restore(&mut self) -> Result<StatementKind> {
        self.bump();
        if self.eat_words(&["MASTER", "KEY"]) {
            return self.other_master_key("RESTORE");
        }
        if self.at_words(&["SERVICE", "MASTER"]) {
            return self.generic("RESTORE");
        }
        let words =
            ["DATABASE", "LOG", "HEADERONLY", "FILELISTONLY", "LABELONLY", "VERIFYONLY", "REWINDONLY"];
        let kind = match self.one_of(&words) {
            Some("DATABASE") => RestoreKind::Database,
            Some("LOG") => RestoreKind::Log,
            Some("HEADERONLY") => RestoreKind::HeaderOnly,
            Some("FILELISTONLY") => RestoreKind::FileListOnly,
            Some("LABELONLY") => RestoreKind::LabelOnly,
            Some("VERIFYONLY") => RestoreKind::VerifyOnly,
            Some(_) => RestoreKind::RewindOnly,
            None => return Err(self.unexpected()),
        };
        let of_database = matches!(kind, RestoreKind::Database | RestoreKind::Log);
        let mut restore = Restore {
            kind,
            database: None,
            parts: Vec::new(),
            from: Vec::new(),
            snapshot: None,
            options: Vec::new(),
        };
        if of_database {
            restore.database = Some(self.name_or_variable()?);
            restore.parts = self.backup_parts(Kw::FROM)?;
        }
        if self.eat_kw(Kw::FROM) {
            if self.at_word("DATABASE_SNAPSHOT") {
                self.bump();
                self.expect(Tok::Eq)?;
                restore.snapshot = Some(self.ident_or_string()?.text);
            } else {
                restore.from = self.list(Self::backup_device)?;
            }
        } else if !of_database {
            return Err(self.unexpected());
        }
        if self.eat_kw(Kw::WITH) {
            restore.options = self.list(Self::backup_option)?;
        }
        Ok(StatementKind::Restore(Box::new(restore)))
    }

    /// Behind BACKUP CERTIFICATE.
    fn backup_certificate(&mut self) -> Result<StatementKind> {
        let name: Ident = self.ident()?;
        self.expect_kw(Kw::TO)?;
        self.expect_kw(Kw::FILE)?;
        self.expect(Tok::Eq)?;
        let file = self.string()?;
        let mut private_key = Vec::new();
        if self.eat_words(&["WITH", "PRIVATE", "KEY"]) {
            private_key = self.key_options()?;
        } else if self.eat_kw(Kw::WITH) {
            self.option_list()?;
        }
        Ok(StatementKind::BackupCertificate(Box::new(BackupCertificate { name, file, private_key })))
    }

    /// `( FILE = '…', DECRYPTION BY PASSWORD = '…', ENCRYPTION BY PASSWORD = '…', BINARY = 0x… )`
    pub(super) fn key_options(&mut self) -> Result<Vec<Opt>> {
        self.parenthesized_list(|p| {
            let start = p.span();
            let token = p.token();
            let mut name = p.upper_word()?;
            if p.eat_words(&["BY", "PASSWORD"]) {
                name = SmolStr::from(format!("{} BY PASSWORD", p.raw(token).to_uppercase_smolstr()));
            }
            p.expect(Tok::Eq)?;
            let value = match p.tok() {
                Tok::Str | Tok::NStr => OptValue::String(p.string()?),
                Tok::Variable => OptValue::Variable(p.variable()?),
                _ => match p.literal()? {
                    Some(literal) => OptValue::Number(literal),
                    None => OptValue::Word(p.any_word()?),
                },
            };
            Ok(Opt { name, value, span: p.since(start) })
        })
    }
}
