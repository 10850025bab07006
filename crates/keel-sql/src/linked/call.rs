//! EXEC of procedures of linked servers, and of texts there (`EXEC ('…', @a) AT srv`): their results are passed on as they come.

use super::columns::RemoteName;
use super::definition::LinkedServer;
use super::errors;
use super::link::{Reply, Request};
use super::links::{Purpose, execute_sql, parameter, theirs};
use crate::run::{Argument, Halt, Returned, Runner};
use crate::session::info::Info;
use crate::sink::{RpcParam, RpcValue, command};
use keel_parser::ast;
use keel_types::SqlType;
use keel_types::error::Result;
use smol_str::SmolStr;

/// The linked server of that name, which must be configured for calls.
///
/// # Errors
/// 7202, 7411.
pub fn called_server(info: &Info, name: &str) -> Result<LinkedServer> {
    let server = info.engine.linked_server(name)?;
    if !server.rpc_out {
        return Err(errors::not_configured(&server.name, "RPC"));
    }
    Ok(server)
}

impl Runner<'_> {
    /// EXEC of a procedure of a linked server.
    pub(crate) fn call_remote(
        &mut self,
        server: &str,
        name: &ast::ObjectName,
        args: &[Argument],
    ) -> std::result::Result<Returned, Halt> {
        let server = called_server(self.info, server)?;
        let part = |ident: &Option<ast::Ident>| ident.as_ref().map(|i| i.text.to_string());
        let name = RemoteName {
            database: part(&name.database),
            schema: part(&name.schema),
            object: name.name.text.to_string(),
        };
        let parameters = args.iter().map(sent).collect::<Result<Vec<_>>>()?;
        self.pass_on(&server, &Request::Call(&name.quoted(), &parameters), args, 0)
    }

    /// `EXEC ('text', arguments) AT server`
    pub(crate) fn exec_at(
        &mut self,
        server: &str,
        text: &str,
        args: &[Argument],
    ) -> std::result::Result<Returned, Halt> {
        let server = called_server(self.info, server)?;
        if args.is_empty() {
            return self.pass_on(&server, &Request::Batch(text), args, 0);
        }
        let (text, markers) = numbered(text);
        if markers != args.len() {
            return Err(errors::wrong_markers(markers, args.len()).into());
        }
        let value = |(n, arg): (usize, &Argument)| {
            sent(arg).map(|p| RpcParam { name: SmolStr::new(format!("@P{}", n + 1)), ..p })
        };
        let values = args.iter().enumerate().map(value).collect::<Result<Vec<_>>>()?;
        self.pass_on(&server, &Request::Call("sp_executesql", &execute_sql(&text, values)), args, 2)
    }

    /// Asks, and gives the client what comes, in its order. An error that somebody catches is the call's, once all has come; others go to the client like
    /// the rest, and what follows them does. The first `skip` parameters are none of the caller's arguments.
    fn pass_on(
        &mut self,
        server: &LinkedServer,
        request: &Request<'_>,
        args: &[Argument],
        skip: usize,
    ) -> std::result::Result<Returned, Halt> {
        let asked = server.asked_by(self.info)?;
        let mut lease = self.info.links.lease(self.info, &asked, Purpose::Call)?;
        lease.ask(request)?;
        let (mut returned, mut caught, mut failed, mut in_set) = (Returned::default(), None, 0, false);
        while let Some(reply) = lease.reply()? {
            match reply {
                Reply::Columns(columns) => {
                    self.flush_pending();
                    self.sink.columns(&columns);
                    in_set = true;
                }
                Reply::Row(row) => self.sink.row(&row).map_err(|_| crate::errors::cancelled())?,
                Reply::Message(e) if e.severity > 10 => {
                    let e = theirs(e);
                    failed = e.number;
                    if self.is_caught() {
                        caught.get_or_insert(e);
                    } else {
                        self.report(&e);
                    }
                }
                Reply::Message(e) => self.report(&theirs(e)),
                Reply::Done { count, command } => {
                    if in_set || count.is_some() {
                        self.info.row_count.set(count.unwrap_or(0));
                        self.done_statement(count, if in_set { command::SELECT } else { command });
                    }
                    in_set = false;
                }
                Reply::Status(status) => returned.status = status,
                Reply::Output(at, ty, value) => {
                    if let Some(at) =
                        at.checked_sub(skip).filter(|at| args.get(*at).is_some_and(|a| a.output))
                    {
                        returned.outputs.push((at, value, ty));
                    }
                }
            }
        }
        drop(lease);
        if let Some(e) = caught {
            return Err(e.into());
        }
        self.info.error.set(failed);
        Ok(returned)
    }
}

/// An argument as it is sent.
fn sent(arg: &Argument) -> Result<RpcParam> {
    if arg.table.is_some() || arg.cursor.is_some() {
        return Err(crate::errors::not_supported(
            "A table or cursor as an argument of a procedure of another server",
        ));
    }
    let value = arg.value.clone().unwrap_or_default();
    let ty =
        if arg.ty == SqlType::Null { SqlType::NVarChar(keel_types::Length::Limited(4000)) } else { arg.ty };
    let mut p = parameter(&arg.name, ty, value);
    if arg.value.is_none() {
        p.value = RpcValue::Default;
    }
    p.output = arg.output;
    Ok(p)
}

/// A text with its markers `?` replaced by `@P1`, `@P2`, …, and how many there are. Those in strings, names and comments are none.
fn numbered(text: &str) -> (String, usize) {
    let (mut out, mut markers) = (String::with_capacity(text.len() + 16), 0);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\'' | '"' | '[' => {
                let close = if c == '[' { ']' } else { c };
                rest[1..].find(close).map_or(rest.len(), |at| at + 2)
            }
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            '?' => {
                markers += 1;
                out.push_str(&format!("@P{markers}"));
                rest = &rest[1..];
                continue;
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    (out, markers)
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn markers_are_numbered_where_they_are_markers() {
        let (text, count) = numbered("SELECT ?, '?', [?] -- ?\n, /* ? */ \"?\" + ? + 'it''s ?' + N'ä?'");
        assert_eq!(text, "SELECT @P1, '?', [?] -- ?\n, /* ? */ \"?\" + @P2 + 'it''s ?' + N'ä?'");
        assert_eq!(count, 2);
        assert_eq!(numbered("SELECT '?"), ("SELECT '?".to_owned(), 0));
        let whole = "é'ü?' [ö?] /* ä? */ -- ?\n ? \"?";
        for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let piece = &whole[..end];
            let (text, markers) = numbered(piece);
            assert_eq!(text.matches("@P").count(), markers, "{piece}");
            assert_eq!(text.replace("@P1", "?"), piece, "what is no marker stays");
        }
    }
}
