//! `keel sql`: a command line client with the options and script commands of `sqlcmd`.
//!
//! ```text
//!   lines (terminal, -i files, -q/-Q) ──► script: GO, :commands, $(variables) ──► batch ──► connection ──► print
//! ```

mod connection;
mod print;
mod script;

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use connection::{Connection, Encrypt, Target};
use print::{Format, Printer};
use script::{Flow, Script};

/// Run SQL against a server, interactively or from scripts; the options are those of sqlcmd.
///
/// Statements are sent when a line says GO, optionally with a count. Lines that start with a colon are commands:
/// :CONNECT server [-U login] [-P password], :R file, :SETVAR name "value", :LISTVAR, :ON ERROR EXIT|IGNORE, :OUT file,
/// :ERROR file, :LIST, :RESET, :QUIT, :EXIT, :EXIT(query), :HELP. $(name) is replaced by a variable's value. Operating
/// system commands (!!) are refused. Ctrl-C stops a running statement.
///
/// Exit status: 0; 1 after an error with -b or :ON ERROR EXIT, or when there is no connection; EXIT(query) gives the
/// first value of the query.
#[derive(Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Sql {
    /// Server: host, host,port or host:port
    #[arg(short = 'S', value_name = "SERVER", env = "SQLCMDSERVER", default_value = "127.0.0.1")]
    server: String,
    /// Login name
    #[arg(short = 'U', value_name = "LOGIN", env = "SQLCMDUSER", default_value = "sa")]
    user: String,
    /// Password; better given in SQLCMDPASSWORD
    #[arg(short = 'P', value_name = "PASSWORD", env = "SQLCMDPASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Log in by Kerberos, with the tickets that `kinit` got, instead of by name and password
    #[arg(short = 'E')]
    trusted: bool,
    /// What the server is called there [default: MSSQLSvc/HOST:PORT]
    #[arg(long, value_name = "SPN", default_value = "", hide_default_value = true)]
    server_spn: String,
    /// Database
    #[arg(short = 'd', value_name = "NAME", env = "SQLCMDDBNAME", default_value = "")]
    database: String,
    /// Trust the server's certificate without checking it
    #[arg(short = 'C')]
    trust: bool,
    /// Encryption: m(andatory), s(trict) or o(ptional: the login only, certificate not checked)
    #[arg(short = 'N', value_name = "s|m|o", default_value = "m", num_args = 0..=1, default_missing_value = "m")]
    encrypt: Encrypt,
    /// Certificates (PEM) to trust instead of the system's
    #[arg(short = 'J', value_name = "FILE")]
    server_certificate: Option<PathBuf>,
    /// Application intent: ReadOnly or ReadWrite
    #[arg(short = 'K', value_name = "INTENT", default_value = "ReadWrite")]
    intent: connection::Intent,
    /// Script files, one after the other
    #[arg(short = 'i', value_name = "FILE", value_delimiter = ',')]
    input: Vec<PathBuf>,
    /// Output file
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Run this and exit
    #[arg(short = 'Q', value_name = "SQL", conflicts_with = "query")]
    query_exit: Option<String>,
    /// Run this first
    #[arg(short = 'q', value_name = "SQL")]
    query: Option<String>,
    /// Exit with 1 when an error occurs
    #[arg(short = 'b')]
    exit_on_error: bool,
    /// Lowest severity that counts as an error for -b
    #[arg(short = 'V', value_name = "SEVERITY", default_value_t = 11)]
    error_severity: u8,
    /// Lowest severity of messages that are shown
    #[arg(short = 'm', value_name = "SEVERITY", default_value_t = 0, allow_negative_numbers = true)]
    message_severity: i16,
    /// Set a variable; may be repeated
    #[arg(short = 'v', value_name = "NAME=VALUE", num_args = 1..)]
    variable: Vec<String>,
    /// Leave $(variables) alone
    #[arg(short = 'x')]
    no_variables: bool,
    /// Column separator
    #[arg(short = 's', value_name = "CHAR", default_value = " ")]
    separator: String,
    /// Remove trailing spaces from columns
    #[arg(short = 'W')]
    trim: bool,
    /// Rows between headers: 0 for one header, -1 for none
    #[arg(short = 'h', value_name = "ROWS", default_value_t = 0, allow_negative_numbers = true)]
    header_rows: i64,
    /// Width of columns of max types; 0 shows them whole
    #[arg(short = 'y', value_name = "WIDTH", default_value_t = 256)]
    max_width: usize,
    /// Width of columns of other character types; 0 shows them whole
    #[arg(short = 'Y', value_name = "WIDTH", default_value_t = 0)]
    fixed_width: usize,
    /// Comma-separated values, quoted where needed
    #[arg(long)]
    csv: bool,
    /// Seconds until a connection attempt fails
    #[arg(short = 'l', value_name = "SECONDS", default_value_t = 15)]
    login_timeout: u64,
    /// Seconds until a statement is stopped; 0 for never
    #[arg(short = 't', value_name = "SECONDS", default_value_t = 0)]
    query_timeout: u64,
    /// Packet size
    #[arg(short = 'a', value_name = "BYTES", default_value_t = 4096)]
    packet_size: u32,
    /// Workstation name
    #[arg(short = 'H', value_name = "NAME", default_value = "")]
    workstation: String,
    /// Show each batch before it is sent
    #[arg(short = 'e')]
    echo: bool,
    /// Send messages to standard error (0: errors only, 1: all)
    #[arg(short = 'r', value_name = "0|1", num_args = 0..=1, default_missing_value = "0")]
    messages_to_stderr: Option<u8>,
    /// Quoted identifiers on (they always are)
    #[arg(short = 'I')]
    quoted_identifiers: bool,
    /// Print help
    #[arg(long, short = '?', action = clap::ArgAction::HelpLong)]
    help: Option<bool>,
}

impl Sql {
    /// Runs until the input ends.
    pub fn run(self) -> ExitCode {
        match self.sql() {
            Ok(code) => ExitCode::from(code),
            Err(e) => {
                eprintln!("keel sql: {e:#}");
                ExitCode::FAILURE
            }
        }
    }

    /// The same, with the exit status.
    pub fn sql(self) -> anyhow::Result<u8> {
        let mut variables: HashMap<String, String> = HashMap::new();
        for assignment in &self.variable {
            let (name, value) = assignment
                .split_once('=')
                .ok_or_else(|| anyhow::anyhow!("-v takes NAME=VALUE, not {assignment}"))?;
            variables.insert(name.to_uppercase(), value.trim_matches('"').to_owned());
        }
        let format = Format {
            separator: if self.csv { ",".to_owned() } else { self.separator.clone() },
            trim: self.trim,
            header_rows: self.header_rows,
            max_width: self.max_width,
            fixed_width: self.fixed_width,
            csv: self.csv,
            message_severity: self.message_severity,
            messages_to_stderr: self.messages_to_stderr,
        };
        let mut printer = Printer::new(format);
        if let Some(path) = &self.output {
            printer.redirect(path)?;
        }
        let connection = Connection::open(self.target()?)?;
        let mut script = Script::new(connection, printer, variables);
        script.exit_on_error = self.exit_on_error;
        script.error_severity = self.error_severity;
        script.substitute = !self.no_variables;
        script.echo = self.echo;

        if let Some(sql) = self.query_exit.as_ref().or(self.query.as_ref()) {
            if let Flow::Exit(code) = script.text(sql)? {
                return Ok(code);
            }
            if self.query_exit.is_some() {
                return Ok(script.finish());
            }
        }
        for path in &self.input {
            if let Flow::Exit(code) = script.file(path)? {
                return Ok(code);
            }
        }
        if !self.input.is_empty() {
            return Ok(script.finish());
        }
        if std::io::stdin().is_terminal() {
            interactive(&mut script)
        } else {
            for line in std::io::stdin().lines() {
                if let Flow::Exit(code) = script.line(&line?)? {
                    return Ok(code);
                }
            }
            match script.go(1)? {
                Flow::Exit(code) => Ok(code),
                Flow::Continue => Ok(script.finish()),
            }
        }
    }

    fn target(&self) -> anyhow::Result<Target> {
        let password = match &self.password {
            Some(password) => password.clone(),
            None if self.trusted => String::new(),
            None if std::io::stdin().is_terminal() => prompt_password()?,
            None => String::new(),
        };
        Ok(Target {
            server: self.server.clone(),
            user: self.user.clone(),
            password,
            trusted: self.trusted,
            server_spn: self.server_spn.clone(),
            database: self.database.clone(),
            trust: self.trust,
            encrypt: self.encrypt,
            server_certificate: self.server_certificate.clone(),
            intent: self.intent,
            login_timeout: self.login_timeout,
            query_timeout: self.query_timeout,
            packet_size: self.packet_size,
            workstation: self.workstation.clone(),
        })
    }
}

fn interactive(script: &mut Script) -> anyhow::Result<u8> {
    connection::catch_interrupts();
    let mut editor = rustyline::DefaultEditor::new()?;
    let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".keel_history"));
    if let Some(path) = &history {
        // The first time there is none.
        let _ = editor.load_history(path);
    }
    loop {
        let prompt = format!("{}> ", script.next_line_number());
        match editor.readline(&prompt) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    editor.add_history_entry(&line)?;
                }
                match script.line(&line) {
                    Ok(Flow::Continue) => {}
                    Ok(Flow::Exit(code)) => {
                        save(&mut editor, history.as_deref());
                        return Ok(code);
                    }
                    Err(e) => eprintln!("{e:#}"),
                }
            }
            Err(rustyline::error::ReadlineError::Interrupted) => script.reset(),
            Err(rustyline::error::ReadlineError::Eof) => {
                save(&mut editor, history.as_deref());
                return Ok(script.finish());
            }
            Err(e) => return Err(e.into()),
        }
    }
}

fn save(editor: &mut rustyline::DefaultEditor, path: Option<&std::path::Path>) {
    if let Some(path) = path {
        // A history that cannot be kept is no reason to fail.
        let _ = editor.save_history(path);
    }
}

fn prompt_password() -> anyhow::Result<String> {
    struct Echo(libc::termios);
    impl Drop for Echo {
        fn drop(&mut self) {
            // SAFETY: the settings are those that were read from this terminal.
            unsafe { libc::tcsetattr(0, libc::TCSANOW, &self.0) };
            eprintln!();
        }
    }
    eprint!("Password: ");
    std::io::stderr().flush()?;
    // SAFETY: a zeroed termios is a valid place for tcgetattr to write to, and is used only if it did.
    let _restored = unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(0, &mut settings) == 0 {
            let restored = Echo(settings);
            settings.c_lflag &= !libc::ECHO;
            libc::tcsetattr(0, libc::TCSANOW, &settings);
            Some(restored)
        } else {
            None
        }
    };
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
