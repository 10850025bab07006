//! How the commands that administer a running server reach it: as clients, with T-SQL that anybody could send.

use anyhow::{Context, Result, bail};
use clap::{Args, Parser};

use crate::sql::Sql;

/// How to reach an instance.
#[derive(Args)]
pub struct Login {
    /// Server: host, host,port or host:port
    #[arg(short = 'S', value_name = "SERVER", env = "SQLCMDSERVER", default_value = "127.0.0.1")]
    pub server: String,
    /// Login name, of sysadmin
    #[arg(short = 'U', value_name = "LOGIN", env = "SQLCMDUSER", default_value = "sa")]
    user: String,
    /// Password; better given in SQLCMDPASSWORD
    #[arg(short = 'P', value_name = "PASSWORD", env = "SQLCMDPASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Log in by Kerberos, with the tickets that `kinit` got, instead of by name and password
    #[arg(short = 'E')]
    trusted: bool,
    /// Trust the server's certificate without checking it
    #[arg(short = 'C')]
    trust: bool,
}

#[derive(Parser)]
struct Client {
    #[command(flatten)]
    sql: Box<Sql>,
}

impl Login {
    /// Sends one batch to `server` and prints what it answers.
    pub fn send(&self, server: &str, batch: &str) -> Result<()> {
        self.run(server, batch, &[])
    }

    /// Sends one batch to the server of the command line and returns the rows it answers with, each value as text.
    pub fn rows(&self, batch: &str) -> Result<Vec<Vec<String>>> {
        let file = std::env::temp_dir().join(format!("keel-answer-{}", std::process::id()));
        let path = file.display().to_string();
        let sent = self.run(&self.server, &format!("SET NOCOUNT ON;\n{batch}"), &["-s", "\t", "-o", &path]);
        let answer = std::fs::read_to_string(&file).unwrap_or_default();
        // It is ours; a file that stays in the way is written over the next time.
        let _ = std::fs::remove_file(&file);
        match sent {
            // Before it was asked anything: why is in the error.
            Err(error) if answer.trim().is_empty() => return Err(error),
            Err(_) => bail!("{} refused: {}", self.server, answer.trim()),
            Ok(()) => {}
        }
        let lines = answer.lines().filter(|line| !line.trim().is_empty());
        Ok(lines.map(|line| line.split('\t').map(|value| value.trim().to_owned()).collect()).collect())
    }

    fn run(&self, server: &str, batch: &str, more: &[&str]) -> Result<()> {
        let mut arguments: Vec<&str> = vec!["keel", "-S", server, "-U", &self.user, "-b", "-x"];
        arguments.extend(["-h", "-1", "-W", "-Q", batch]);
        arguments.extend(more);
        if let Some(password) = &self.password {
            arguments.extend(["-P", password]);
        }
        if self.trusted {
            arguments.push("-E");
        }
        if self.trust {
            arguments.push("-C");
        }
        let client = Client::try_parse_from(arguments).context("the arguments of the connection")?;
        match client.sql.sql()? {
            0 => Ok(()),
            _ => bail!("{server} refused; its message is above"),
        }
    }
}

/// A name in brackets.
pub fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A string literal.
pub fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// How a command ends.
pub fn finish(result: Result<()>) -> std::process::ExitCode {
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("keel: {e:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(bracketed("a]b"), "[a]]b]");
        assert_eq!(literal("it's"), "N'it''s'");
    }
}
