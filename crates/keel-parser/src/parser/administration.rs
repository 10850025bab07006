//! DBCC, KILL, keys of databases, and the classes of objects kept as name and options.

use super::Parser;
use crate::ast::{DatabaseEncryptionKey, Dbcc, Encryptor, Expr, GenericStatement, Kill, StatementKind};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

/// Classes that are parsed as name and rest. Longer names first where one begins another.
const GENERIC_CLASSES: &[&[&str]] = &[
    &["EXTERNAL", "RESOURCE", "POOL"],
    &["WORKLOAD", "CLASSIFIER"],
    &["SERVER", "CONFIGURATION"],
    &["XML", "SCHEMA", "COLLECTION"],
    &["EXTERNAL", "DATA", "SOURCE"],
    &["EXTERNAL", "FILE", "FORMAT"],
    &["EXTERNAL", "TABLE"],
    &["EXTERNAL", "LIBRARY"],
    &["EXTERNAL", "LANGUAGE"],
    &["COLUMN", "MASTER", "KEY"],
    &["COLUMN", "ENCRYPTION", "KEY"],
    &["SERVICE", "MASTER", "KEY"],
    &["SECURITY", "POLICY"],
    &["BROKER", "PRIORITY"],
    &["REMOTE", "SERVICE", "BINDING"],
    &["CRYPTOGRAPHIC", "PROVIDER"],
    &["SEARCH", "PROPERTY", "LIST"],
    &["SELECTIVE", "XML", "INDEX"],
    &["COUNTER", "SIGNATURE"],
    &["SIGNATURE"],
    &["ASSEMBLY"],
    &["AGGREGATE"],
    &["RULE"],
    &["DEFAULT"],
];

/// Classes of which there is only one, so that no name follows.
const NAMELESS: [&str; 2] = ["SERVER CONFIGURATION", "SERVICE MASTER KEY"];

impl Parser<'_> {
    /// Behind its verb, a statement about one of the [`GENERIC_CLASSES`].
    pub(super) fn generic(&mut self, verb: &'static str) -> Result<StatementKind> {
        let Some(words) = GENERIC_CLASSES.iter().copied().find(|words| self.at_words(words)) else {
            return Err(self.unknown_class());
        };
        self.at += words.len();
        let class = SmolStr::from(words.join(" "));
        if verb == "DROP" {
            self.if_exists();
        }
        let named = !NAMELESS.contains(&class.as_str()) && self.at_ident();
        let name = if named { Some(self.object_name()?) } else { None };
        let options = self.rest_of_statement()?;
        let statement = GenericStatement { verb: SmolStr::new_static(verb), class, name, options };
        Ok(StatementKind::Generic(Box::new(statement)))
    }

    fn unknown_class(&self) -> Box<crate::ParseError> {
        let token = self.tokens[self.at];
        if token.tok != Tok::Word {
            return self.unexpected();
        }
        let text = format!(
            "Unknown object type '{}' used in a CREATE, DROP, or ALTER statement.",
            &self.text[token.start as usize..token.end as usize]
        );
        crate::ParseError::new(343, token.line, text)
    }

    // ---- DBCC and KILL ----

    /// Behind DBCC.
    pub(super) fn dbcc(&mut self) -> Result<Dbcc> {
        let command = self.upper_word()?;
        let mut args = Vec::new();
        if self.eat(Tok::LParen) {
            if self.tok() != Tok::RParen {
                args = self.list(Self::dbcc_arg)?;
            }
            self.expect(Tok::RParen)?;
        }
        let options = if self.eat_kw(Kw::WITH) { self.option_list()? } else { Vec::new() };
        Ok(Dbcc { command, args, options })
    }

    /// A value, or a name that may be reserved (`DBCC SQLPERF(LOGSPACE)`, `DBCC INDEXDEFRAG(db, t, primary)`).
    fn dbcc_arg(&mut self) -> Result<Expr> {
        if matches!(self.tok(), Tok::Kw(_)) && !self.at_kw(Kw::NULL) {
            return Ok(Self::word_as_string(self.take_ident()));
        }
        self.expr()
    }

    /// Behind KILL.
    pub(super) fn kill(&mut self) -> Result<Kill> {
        if self.at_string() {
            let uow = self.string()?;
            let status_only = self.eat_words(&["WITH", "STATUSONLY"]);
            let commit = if self.eat_words(&["WITH", "COMMIT"]) {
                Some(true)
            } else {
                self.eat_words(&["WITH", "ROLLBACK"]).then_some(false)
            };
            return Ok(Kill::Transaction { uow, status_only, commit });
        }
        if self.eat_words(&["QUERY", "NOTIFICATION"]) {
            self.expect_word("SUBSCRIPTION")?;
            if self.eat_words(&["ALL"]) {
                return Ok(Kill::Subscription(None));
            }
            return Ok(Kill::Subscription(Some(self.simple_value()?)));
        }
        if self.at_words(&["STATS", "JOB"]) {
            let start = self.span();
            self.rest_of_statement()?;
            return Ok(Kill::Other(SmolStr::new(self.since(start).text(self.text))));
        }
        let id = self.simple_value()?;
        Ok(Kill::Session { id, status_only: self.eat_words(&["WITH", "STATUSONLY"]) })
    }

    // ---- keys of databases ----

    /// At DATABASE ENCRYPTION KEY behind a verb; `None` when something else follows.
    pub(super) fn database_encryption_key(&mut self, verb: &str) -> Result<Option<StatementKind>> {
        if !self.at_words(&["DATABASE", "ENCRYPTION", "KEY"]) {
            return Ok(None);
        }
        self.at += 3;
        let key = match verb {
            "CREATE" => {
                self.expect_kw(Kw::WITH)?;
                let algorithm = self.key_algorithm()?;
                let encryptor = self.encryptor()?;
                DatabaseEncryptionKey::Create {
                    algorithm,
                    encryptor: encryptor.ok_or_else(|| self.unexpected())?,
                }
            }
            "ALTER" => {
                let regenerates = self.eat_word("REGENERATE");
                let algorithm = if regenerates {
                    self.expect_kw(Kw::WITH)?;
                    Some(self.key_algorithm()?)
                } else {
                    None
                };
                let encryptor = self.encryptor()?;
                if algorithm.is_none() && encryptor.is_none() {
                    return Err(self.unexpected());
                }
                DatabaseEncryptionKey::Alter { algorithm, encryptor }
            }
            _ => DatabaseEncryptionKey::Drop,
        };
        Ok(Some(StatementKind::DatabaseEncryptionKey(Box::new(key))))
    }

    /// `ALGORITHM = AES_256`, in capitals.
    fn key_algorithm(&mut self) -> Result<SmolStr> {
        self.expect_word("ALGORITHM")?;
        self.expect(Tok::Eq)?;
        let word = self.upper_word()?;
        if matches!(word.as_str(), "AES_128" | "AES_192" | "AES_256" | "TRIPLE_DES_3KEY") {
            Ok(word)
        } else {
            Err(self.unexpected_at(self.at - 1))
        }
    }

    /// `ENCRYPTION BY SERVER CERTIFICATE c`, if it follows.
    fn encryptor(&mut self) -> Result<Option<Encryptor>> {
        if !self.eat_words(&["ENCRYPTION", "BY", "SERVER"]) {
            return Ok(None);
        }
        let asymmetric_key = self.eat_words(&["ASYMMETRIC", "KEY"]);
        if !asymmetric_key {
            self.expect_word("CERTIFICATE")?;
        }
        Ok(Some(Encryptor { asymmetric_key, name: self.ident()? }))
    }
}
