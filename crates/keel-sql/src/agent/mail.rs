//! Database Mail: what is to be sent, by which of a profile's accounts, and what came of it.
//!
//! `sp_send_dbmail` puts a row into `sysmail_mailitems`, in the transaction of who calls it. The postman looks when it is told so, again a
//! little later and then less and less often: the transaction may not have ended. Each account of the profile is tried in its order; when
//! none has taken the mail, it is tried again `AccountRetryDelay` seconds later, `AccountRetryAttempts` times in all. How mail gets to a
//! server is the host's business ([`Carrier`]).
//!
//! Before a mail is handed over it is written that this is tried, so that nothing is sent over and over when what became of it cannot be
//! written. Whose outcome nobody has written, as the instance died or its disk was full, is tried once more: it may come twice.

use super::Office;
use super::clerk::{Clerk, int, number, quoted, text};
use crate::views::same;
use keel_types::Value;
use keel_types::error::Result;
use std::fmt::Write as _;
use std::time::Duration;

/// How long the postman rests when nobody has said anything for a while.
const REST_MAX: Duration = Duration::from_secs(60);
/// How long after it was told something.
const REST_MIN: Duration = Duration::from_secs(1);
/// What a server has for a whole mail when its account does not say.
const TIMEOUT: Duration = Duration::from_secs(100);

/// A mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// Addresses, separated by semicolons or commas.
    pub recipients: String,
    /// Likewise.
    pub copy_recipients: String,
    /// Likewise.
    pub blind_copy_recipients: String,
    /// Address instead of the account's; empty for that.
    pub from: String,
    /// Address instead of the account's; empty for that.
    pub reply_to: String,
    /// Subject.
    pub subject: String,
    /// Text.
    pub body: String,
    /// The text is HTML.
    pub html: bool,
    /// LOW, NORMAL or HIGH.
    pub importance: String,
    /// NORMAL, PERSONAL, PRIVATE or CONFIDENTIAL.
    pub sensitivity: String,
    /// Names and contents.
    pub attachments: Vec<(String, Vec<u8>)>,
}

/// An account at a mail server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// `account_id`.
    pub id: i32,
    /// Its address.
    pub address: String,
    /// Whose it is; may be empty.
    pub display_name: String,
    /// Where answers go; empty for the address.
    pub reply_to: String,
    /// Host.
    pub server: String,
    /// Port.
    pub port: u16,
    /// The connection is to be encrypted.
    pub tls: bool,
    /// Name and password, if the server wants them.
    pub login: Option<(String, String)>,
    /// What the server has for it.
    pub timeout: Duration,
}

/// Takes mail to servers.
pub trait Carrier {
    /// Hands a mail to the server of an account, or says why that did not work.
    fn carry(&self, letter: &Letter, account: &Account) -> std::result::Result<(), String>;
}

/// Used by one thread of the host, which calls [`Postman::turn`] over and over until the board stops.
pub struct Postman {
    office: Office,
    clerk: Clerk,
    rest: Duration,
}

/// What the configuration says.
struct Rules {
    attempts: i64,
    delay: i64,
    verbose: bool,
}

impl Rules {
    /// What is written before a mail is handed over.
    fn tries(&self, item: i32) -> String {
        format!(
            "update dbo.sysmail_mailitems set attempts = attempts + 1, sent_status = 3, next_attempt = dateadd(second, {}, getdate()),
                last_mod_date = getdate(), last_mod_user = suser_sname() where mailitem_id = {item}",
            self.delay
        )
    }

    /// What is written of a mail that no account could send.
    fn not_sent(&self, item: i32) -> String {
        let Rules { attempts, delay, .. } = self;
        let given_up =
            format!("Mail Id {item} has exceeded the retry count. This mail item will not be sent.");
        format!(
            "update dbo.sysmail_mailitems set sent_status = iif(attempts < {attempts}, 3, 2),
                next_attempt = dateadd(second, {delay}, getdate()), sent_date = iif(attempts < {attempts}, null, getdate()),
                last_mod_date = getdate(), last_mod_user = suser_sname() where mailitem_id = {item};
            if exists (select 1 from dbo.sysmail_mailitems where mailitem_id = {item} and sent_status = 2) {}",
            log_entry(1, &given_up, item, None)
        )
    }
}

impl Postman {
    /// Begins.
    ///
    /// # Errors
    /// When there can be no session.
    pub fn new(office: &Office) -> Result<Postman> {
        // What was left unsent is looked for at once.
        let clerk = Clerk::new(office, "DatabaseMail")?;
        Ok(Postman { office: office.clone(), clerk, rest: Duration::ZERO })
    }

    /// Waits until mail is to be sent, a minute at most, and sends what there is.
    ///
    /// # Errors
    /// When its tables cannot be read or written.
    pub fn turn(&mut self, carrier: &dyn Carrier) -> Result<()> {
        let told = self.office.board().wait_for_mail(self.rest);
        self.rest = match self.rest {
            _ if told => REST_MIN,
            // Nobody has said anything yet.
            Duration::ZERO => REST_MAX,
            rest => (rest * 2).clamp(REST_MIN, REST_MAX),
        };
        let items = self.clerk.rows(
            "select mailitem_id from dbo.sysmail_mailitems
            where (sent_status = 0 or sent_status = 3 and next_attempt <= getdate()) and exists (select 1 from dbo.keel_mail where started = 1)
            order by mailitem_id",
        )?;
        for item in items {
            if self.office.board().is_stopping() || !self.office.is_open() {
                return Ok(());
            }
            self.send(int(&item, 0), carrier)?;
        }
        let next = self.clerk.rows(
            "select datediff_big(millisecond, getdate(), min(next_attempt)) from dbo.sysmail_mailitems where sent_status = 3",
        )?;
        if let Some(Value::Int(ms)) = next.first().and_then(|row| row.first()) {
            self.rest =
                self.rest.min(Duration::from_millis(u64::try_from(*ms).unwrap_or(0).saturating_add(1)));
        }
        Ok(())
    }

    fn send(&mut self, item: i32, carrier: &dyn Carrier) -> Result<()> {
        // It was deleted meanwhile.
        let Some((profile, tried, letter)) = self.letter(item)? else { return Ok(()) };
        let rules = self.rules()?;
        if tried > rules.attempts {
            return self.clerk.run(&rules.not_sent(item));
        }
        let accounts = self.accounts(profile)?;
        self.clerk.run(&rules.tries(item))?;
        let mut told = String::new();
        for (account, locked) in &accounts {
            let carried = match locked {
                Some(why) => Err(why.clone()),
                None => carrier.carry(&letter, account),
            };
            match carried {
                Ok(()) => {
                    let _ = write!(
                        told,
                        "update dbo.sysmail_mailitems set sent_status = 1, sent_account_id = {}, sent_date = getdate(),
                            last_mod_date = getdate(), last_mod_user = suser_sname() where mailitem_id = {item};\n",
                        account.id
                    );
                    if rules.verbose {
                        told += &log_entry(0, "Mail successfully sent.", item, Some(account.id));
                    }
                    return self.clerk.run(&told);
                }
                Err(why) => {
                    let text = format!(
                        "The mail could not be sent to the recipients because of the mail server failure. (Sending Mail using Account {}. \
                         Exception Message: {why}).",
                        account.id
                    );
                    told += &log_entry(3, &text, item, Some(account.id));
                }
            }
        }
        if accounts.is_empty() {
            told += &log_entry(3, "The profile has no account.", item, None);
        }
        told += &rules.not_sent(item);
        self.clerk.run(&told)
    }

    /// A mail, with its profile and how often it was tried.
    fn letter(&mut self, item: i32) -> Result<Option<(i32, i64, Letter)>> {
        let rows = self.clerk.rows(&format!(
            "select profile_id, recipients, copy_recipients, blind_copy_recipients, from_address, reply_to, subject, body, body_format,
                importance, sensitivity, attempts
            from dbo.sysmail_mailitems where mailitem_id = {item}"
        ))?;
        let Some(row) = rows.first() else { return Ok(None) };
        let attachments = self.clerk.rows(&format!(
            "select filename, attachment from dbo.sysmail_attachments where mailitem_id = {item} order by attachment_id"
        ))?;
        let attachment = |row: &Vec<Value>| match row.get(1) {
            Some(Value::Bytes(bytes)) => (text(row, 0), bytes.to_vec()),
            _ => (text(row, 0), Vec::new()),
        };
        let letter = Letter {
            recipients: text(row, 1),
            copy_recipients: text(row, 2),
            blind_copy_recipients: text(row, 3),
            from: text(row, 4),
            reply_to: text(row, 5),
            subject: text(row, 6),
            body: text(row, 7),
            html: text(row, 8) == "HTML",
            importance: text(row, 9),
            sensitivity: text(row, 10),
            attachments: attachments.iter().map(attachment).collect(),
        };
        Ok(Some((int(row, 0), number(row, 11), letter)))
    }

    fn rules(&mut self) -> Result<Rules> {
        let rows = self.clerk.rows(
            "select paramname, try_convert(int, paramvalue) from dbo.sysmail_configuration
            where paramname in (N'AccountRetryAttempts', N'AccountRetryDelay', N'LoggingLevel')",
        )?;
        let value = |name: &str, otherwise| {
            rows.iter().find(|row| text(row, 0) == name).map_or(otherwise, |row| number(row, 1))
        };
        Ok(Rules {
            attempts: value("AccountRetryAttempts", 1),
            delay: value("AccountRetryDelay", 60),
            verbose: value("LoggingLevel", 2) >= 3,
        })
    }

    /// The accounts of a profile in their order, each with the reason why it cannot be used, if there is one.
    fn accounts(&mut self, profile: i32) -> Result<Vec<(Account, Option<String>)>> {
        let rows = self.clerk.rows(&format!(
            "select a.account_id, a.email_address, a.display_name, a.replyto_address, s.servername, s.port, s.enable_ssl, s.username,
                s.credential_name, s.timeout
            from dbo.sysmail_profileaccount x join dbo.sysmail_account a on a.account_id = x.account_id
                join dbo.sysmail_server s on s.account_id = a.account_id
            where x.profile_id = {profile} order by x.sequence_number, a.account_id"
        ))?;
        let engine = self.office.engine();
        let credentials = engine.credentials()?;
        let account = |row: &Vec<Value>| {
            let (user, named) = (text(row, 7), text(row, 8));
            // A contained group comes here without them, and the service master key may be another one by now.
            let missing = || Err(format!("The password of user '{user}' is not on this instance"));
            let password = match credentials.iter().find(|c| same(&c.name, &named)) {
                _ if user.is_empty() => Ok(String::new()),
                Some(credential) => engine.credential_secret(credential).map_err(|e| e.message.clone()),
                None => missing(),
            };
            let locked = password.as_ref().err().cloned();
            let account = Account {
                id: int(row, 0),
                address: text(row, 1),
                display_name: text(row, 2),
                reply_to: text(row, 3),
                server: text(row, 4),
                port: u16::try_from(number(row, 5)).unwrap_or(25),
                tls: number(row, 6) != 0,
                login: (!user.is_empty()).then(|| (user, password.unwrap_or_default())),
                timeout: match number(row, 9) {
                    seconds @ 1.. => Duration::from_secs(seconds.unsigned_abs()),
                    _ => TIMEOUT,
                },
            };
            (account, locked)
        };
        Ok(rows.iter().map(account).collect())
    }
}

/// The statement that writes an entry of the log.
fn log_entry(kind: i32, said: &str, item: i32, account: Option<i32>) -> String {
    let account = account.map_or("null".to_owned(), |id| id.to_string());
    format!(
        "insert dbo.sysmail_log (event_type, description, process_id, mailitem_id, account_id) values ({kind}, {}, {}, {item}, {account});\n",
        quoted(said),
        std::process::id()
    )
}

/// Mails an operator, if the agent has a profile and the operator an address. Returns whether it has.
pub(super) fn mail_operator(clerk: &mut Clerk, operator: i32, subject: &str, body: &str) -> Result<bool> {
    let subject: String = subject.chars().take(255).collect();
    let rows = clerk.rows(&format!(
        "set nocount on; declare @mailed bit;
        exec dbo.sp_keel_mail_operator {operator}, {}, {}, @mailed output; select @mailed",
        quoted(&subject),
        quoted(body)
    ))?;
    Ok(rows.first().is_some_and(|row| number(row, 0) != 0))
}

/// A date of the agent's tables, `yyyymmdd`, as mails have it.
pub(super) fn shown_date(date: i32) -> String {
    format!("{:04}-{:02}-{:02}", date / 10_000, date / 100 % 100, date % 100)
}

/// A time of the agent's tables, `hhmmss`, as mails have it.
pub(super) fn shown_time(time: i32) -> String {
    format!("{:02}:{:02}:{:02}", time / 10_000, time / 100 % 100, time % 100)
}
