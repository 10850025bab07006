//! BACKUP and RESTORE.

use super::Parser;
use crate::ast::{
    Backup, BackupDevice, DeviceName, NameOrVariable, Opt, OptValue, Restore, RestoreKind, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn backup(&mut self) -> Result<StatementKind> {
        self.bump();
        if let Some(statement) = self.key_statement("BACKUP")? {
            return Ok(statement);
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
        if let Some(statement) = self.key_statement("RESTORE")? {
            return Ok(statement);
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
}
