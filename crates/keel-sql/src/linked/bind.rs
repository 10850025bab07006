//! What names and rowset functions of a statement mean at other servers, when it is compiled.

use super::columns::{self, RemoteName};
use super::definition::LinkedServer;
use super::links::Server;
use super::provider::{Address, provider};
use super::table::{RemoteRows, RemoteTable, Whom, ad_hoc_allowed};
use crate::session::info::Info;
use keel_query::scope::{RemoteRowset, VirtualTable};
use keel_types::error::Result;
use std::sync::Arc;
use std::time::Duration;

/// The name of a server that has none, in messages.
const UNNAMED: &str = "(null)";

/// A table of a linked server.
///
/// # Errors
/// 7202, 7411, 7314 and those of asking.
pub fn table(info: &Info, server: &str, name: RemoteName) -> Result<Arc<RemoteTable>> {
    if info.looks_ahead.get() {
        return Err(keel_query::errors::no_linked_server(server));
    }
    let definition = info.engine.linked_server(server)?;
    let whom = Whom::Linked(definition.name.clone());
    let asked = whom.server(info)?;
    table_of(info, whom, &asked, name, compares_as_here(&definition))
}

/// Whether texts compare at a server as their columns' collations say: the product's two options.
fn compares_as_here(server: &LinkedServer) -> bool {
    server.use_remote_collation || server.collation_compatible
}

fn table_of(
    info: &Info,
    whom: Whom,
    asked: &Arc<Server>,
    name: RemoteName,
    strings: bool,
) -> Result<Arc<RemoteTable>> {
    let shape = columns::of_table(info, asked, &name)?;
    let strings = strings && shape.columns.iter().all(|c| c.known_collation || !c.ty.is_string());
    let place = match &whom {
        Whom::Linked(name) => name.clone(),
        Whom::Named(server) => format!("{}@{}", server.target.user, server.target.host),
    };
    Ok(Arc::new(RemoteTable::new(whom, place, name, shape, strings)))
}

/// The server of OPENROWSET and OPENDATASOURCE.
///
/// # Errors
/// 15281 when the instance does not want it, 7403 for other providers, 7399 for a connection that cannot be read, 7416 without a login.
fn named(info: &Info, name: &str, connection: &[String]) -> Result<Arc<Server>> {
    ad_hoc_allowed(info)?;
    let provider = provider(name).ok_or_else(|| keel_query::errors::no_provider(name))?;
    let (address, login) = match connection {
        [source, user, password] => (Address::read(source, "")?, Some((user.clone(), password.clone()))),
        [string] => {
            let address = Address::read("", string)?;
            let login = address.login.clone();
            (address, login)
        }
        _ => return Err(super::errors::bad_provider_string("it is one text, or three")),
    };
    let (user, password) = login.ok_or_else(super::errors::no_mapping)?;
    let seconds = |id: i32| u64::try_from(info.engine.configuration(id).running).ok().filter(|s| *s > 0);
    let timeout = seconds(crate::config::REMOTE_LOGIN_TIMEOUT).unwrap_or(u64::from(u16::MAX));
    let database = address.database.clone().unwrap_or_default();
    Ok(Arc::new(Server {
        name: UNNAMED.to_owned(),
        provider: provider.to_owned(),
        target: address.target(user, password, database, Duration::from_secs(timeout)),
        limit: seconds(crate::config::REMOTE_QUERY_TIMEOUT).map(Duration::from_secs),
        promotion: true,
    }))
}

/// OPENQUERY, OPENROWSET, OPENDATASOURCE.
///
/// # Errors
/// As for [`table`], and those of an address; 7357 for a text that gives no rows.
pub fn rowset(info: &Info, rowset: &RemoteRowset<'_>) -> Result<Arc<dyn VirtualTable>> {
    if info.looks_ahead.get() {
        return Err(keel_query::errors::no_linked_server(""));
    }
    let (whom, place, text) = match rowset {
        RemoteRowset::Query(server, text) => {
            let definition = info.engine.linked_server(server)?;
            (Whom::Linked(definition.name.clone()), definition.name.clone(), *text)
        }
        RemoteRowset::Text(provider, connection, text) => {
            (Whom::Named(named(info, provider, connection)?), UNNAMED.to_owned(), *text)
        }
        RemoteRowset::Table(provider, connection, name) => {
            let server = named(info, provider, connection)?;
            let own = |part: Option<&str>| part.filter(|p| !p.is_empty()).map(str::to_owned);
            let name = RemoteName {
                database: own(name.database),
                schema: own(name.schema),
                object: name.object.to_owned(),
            };
            let table = table_of(info, Whom::Named(Arc::clone(&server)), &server, name, true)?;
            return Ok(table);
        }
    };
    let asked = whom.server(info)?;
    let shape = columns::of_text(info, &asked, text)?;
    Ok(Arc::new(RemoteRows::of_text(whom, place, text.to_owned(), &shape)))
}
