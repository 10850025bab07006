//! Procedures about linked servers: defining them, their logins and options; asking what is there.

use super::{Outcome, ok, string};
use crate::errors;
use crate::linked::columns::RemoteName;
use crate::linked::errors as own;
use crate::linked::links::{Purpose, parameter};
use crate::linked::provider::{Address, provider, without_password};
use crate::linked::{LinkedLogin, LinkedServer, Reply, Request};
use crate::run::{Argument, Runner};
use crate::sink::{RpcParam, command};
use crate::triggers::Event;
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use smol_str::SmolStr;

/// The product whose name is the server's address.
const SQL_SERVER: &str = "SQL Server";
/// The provider of such a server, when none is named.
const PROVIDER: &str = "MSOLEDBSQL";

/// What all of them ask before they change something.
fn may_change(runner: &Runner<'_>, procedure: &str, permission: &str) -> Result<()> {
    if !runner.info.may_on_server(permission) {
        return Err(errors::no_permission(""));
    }
    if runner.info.transaction.borrow().count > 0 {
        return Err(own::in_transaction(format!("sys.{procedure}")));
    }
    runner.of_the_instance(procedure)
}

fn event(kind: &str, name: &str) -> Option<Event> {
    Some(Event::server(kind)?.object(name, "LINKED SERVER"))
}

/// `sp_addlinkedserver @server, @srvproduct, @provider, @datasrc, @location, @provstr, @catalog`
pub(super) fn sp_addlinkedserver(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_change(runner, "sp_addlinkedserver", "ALTER ANY LINKED SERVER")?;
    let server = definition(runner, args)?;
    runner.fire_event_of("sp_addlinkedserver", event("CREATE_LINKED_SERVER", &server.name))?;
    runner.info.engine.add_linked_server(server)?;
    ok()
}

/// The server that the arguments define.
fn definition(runner: &Runner<'_>, args: &[Argument]) -> Result<LinkedServer> {
    let given = |name: &str, at: usize| string(args, name, at).filter(|s| !s.is_empty());
    let name =
        given("server", 0).ok_or_else(|| errors::invalid_procedure_option("sys.sp_addlinkedserver"))?;
    if runner.info.is_own_server(&name) {
        return Err(own::server_exists(&name));
    }
    let product = given("srvproduct", 1).unwrap_or_default();
    let wanted = given("provider", 2);
    let (data_source, location) = (given("datasrc", 3), given("location", 4));
    let (provider_string, catalog) = (given("provstr", 5), given("catalog", 6));
    let is_sql_server = product.eq_ignore_ascii_case(SQL_SERVER);
    let named = [&data_source, &location, &provider_string, &catalog].into_iter().any(Option::is_some);
    let chosen = match &wanted {
        Some(_) if is_sql_server => return Err(own::no_properties_for(&product)),
        None if is_sql_server && named => return Err(own::no_properties_for(&product)),
        None if is_sql_server || product.is_empty() && !named => PROVIDER,
        None if product.is_empty() => return Err(own::provider_missing()),
        None => return Err(own::provider_for_product(&product)),
        Some(wanted) => provider(wanted).ok_or_else(|| keel_query::errors::no_provider(wanted))?,
    };
    let provider_string = provider_string.map(|s| without_password(&s)).transpose()?;
    let modified = runner.info.engine.now_local();
    let server = LinkedServer {
        id: 0,
        product: if product.is_empty() { SQL_SERVER.to_owned() } else { product },
        provider: chosen.to_owned(),
        data_source: data_source.or_else(|| Some(name.clone())),
        name,
        location,
        provider_string,
        catalog,
        connect_timeout: 0,
        query_timeout: 0,
        data_access: true,
        rpc: false,
        rpc_out: false,
        collation_compatible: false,
        use_remote_collation: true,
        collation_name: None,
        lazy_schema_validation: false,
        promotion: true,
        marks: Vec::new(),
        modified,
        logins: vec![LinkedLogin::everybody(modified)],
    };
    server.address()?;
    Ok(server)
}

/// `sp_dropserver @server, @droplogins`
pub(super) fn sp_dropserver(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_change(runner, "sp_dropserver", "ALTER ANY LINKED SERVER")?;
    let name = string(args, "server", 0).unwrap_or_default();
    let logins = string(args, "droplogins", 1);
    if logins.as_deref().is_some_and(|l| !l.eq_ignore_ascii_case("droplogins")) {
        return Err(errors::invalid_procedure_option("sys.sp_dropserver").into());
    }
    if runner.info.is_own_server(&name) {
        return Err(own::server_is_local().into());
    }
    runner.fire_event_of("sp_dropserver", event("DROP_LINKED_SERVER", &name))?;
    runner.info.engine.drop_linked_server(&name, logins.is_some())?;
    ok()
}

/// Whether a word says yes: `TRUE`, `ON`, `1`.
fn truth(word: &str, procedure: &str) -> Result<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err(errors::invalid_procedure_option(procedure)),
    }
}

/// The security identifier of a login of here; error 15007 when there is none.
fn sid_of(runner: &Runner<'_>, login: Option<&str>) -> Result<Option<Vec<u8>>> {
    let Some(name) = login else { return Ok(None) };
    let found = runner.info.login_named(name).ok_or_else(|| errors::not_a_login(name))?;
    Ok(Some(found.sid))
}

/// `sp_addlinkedsrvlogin @rmtsrvname, @useself, @locallogin, @rmtuser, @rmtpassword`
pub(super) fn sp_addlinkedsrvlogin(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sys.sp_addlinkedsrvlogin";
    may_change(runner, "sp_addlinkedsrvlogin", "ALTER ANY LOGIN")?;
    let name = string(args, "rmtsrvname", 0).unwrap_or_default();
    let uses_self = truth(&string(args, "useself", 1).unwrap_or_else(|| "true".to_owned()), NAME)?;
    let local_name = string(args, "locallogin", 2);
    let local = sid_of(runner, local_name.as_deref())?;
    let remote_name = string(args, "rmtuser", 3).filter(|_| !uses_self);
    let password = string(args, "rmtpassword", 4).filter(|_| !uses_self);
    let engine = &runner.info.engine;
    let sealed = password.map(|password| engine.seal_password(&password)).transpose()?;
    let login = LinkedLogin { local, uses_self, remote_name, sealed, modified: engine.now_local() };
    runner.fire_event_of("sp_addlinkedsrvlogin", event("CREATE_LINKED_SERVER_LOGIN", &name))?;
    runner.info.engine.change_linked_server(&name, |server| {
        server.logins.retain(|other| other.local != login.local);
        server.logins.push(login);
        Ok(())
    })?;
    ok()
}

/// `sp_droplinkedsrvlogin @rmtsrvname, @locallogin`
pub(super) fn sp_droplinkedsrvlogin(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_change(runner, "sp_droplinkedsrvlogin", "ALTER ANY LOGIN")?;
    let name = string(args, "rmtsrvname", 0).unwrap_or_default();
    let local_name = string(args, "locallogin", 1);
    let local = sid_of(runner, local_name.as_deref())?;
    runner.fire_event_of("sp_droplinkedsrvlogin", event("DROP_LINKED_SERVER_LOGIN", &name))?;
    runner.info.engine.change_linked_server(&name, |server| {
        let before = server.logins.len();
        server.logins.retain(|login| login.local != local);
        if server.logins.len() == before {
            let shown = local_name.as_deref().unwrap_or("(null)");
            return Err(own::no_linked_login("(null)", shown, &server.name));
        }
        Ok(())
    })?;
    ok()
}

/// `sp_serveroption @server, @optname, @optvalue`
pub(super) fn sp_serveroption(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_change(runner, "sp_serveroption", "ALTER ANY LINKED SERVER")?;
    let name = string(args, "server", 0).unwrap_or_default();
    let option = string(args, "optname", 1).unwrap_or_default().to_ascii_lowercase();
    let value = string(args, "optvalue", 2);
    if runner.info.is_own_server(&name) {
        // What is said of the instance itself is kept by nobody: it is asked over no connection.
        return ok();
    }
    runner.fire_event_of("sp_serveroption", event("ALTER_LINKED_SERVER", &name))?;
    runner.info.engine.change_linked_server(&name, |server| set_option(server, &option, value.as_deref()))?;
    ok()
}

fn set_option(server: &mut LinkedServer, option: &str, value: Option<&str>) -> Result<()> {
    const NAME: &str = "sys.sp_serveroption";
    let bad = || errors::invalid_procedure_option(NAME);
    let is = || truth(value.unwrap_or_default(), NAME);
    let seconds = || value.and_then(|v| v.trim().parse::<i32>().ok()).filter(|n| *n >= 0).ok_or_else(bad);
    match option {
        "data access" => server.data_access = is()?,
        "rpc" => server.rpc = is()?,
        "rpc out" => server.rpc_out = is()?,
        "collation compatible" => server.collation_compatible = is()?,
        "use remote collation" => server.use_remote_collation = is()?,
        "lazy schema validation" => server.lazy_schema_validation = is()?,
        "remote proc transaction promotion" => server.promotion = is()?,
        "connect timeout" => server.connect_timeout = seconds()?,
        "query timeout" => server.query_timeout = seconds()?,
        "collation name" => {
            let name = value.filter(|v| !v.is_empty());
            if name.is_some_and(|n| keel_types::Collation::by_name(n).is_none()) {
                return Err(bad());
            }
            server.collation_name = name.map(str::to_owned);
        }
        "name" => server.name = value.filter(|v| !v.is_empty()).ok_or_else(bad)?.to_owned(),
        "pub" | "sub" | "dist" | "dpub" | "system" => {
            let on = is()?;
            server.marks.retain(|mark| mark != option);
            if on {
                server.marks.push(option.to_owned());
            }
        }
        _ => return Err(bad()),
    }
    Ok(())
}

/// `sp_setnetname @server, @netname`: where a server is.
pub(super) fn sp_setnetname(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_change(runner, "sp_setnetname", "ALTER ANY LINKED SERVER")?;
    let name = string(args, "server", 0).unwrap_or_default();
    let place = string(args, "netname", 1).filter(|n| !n.is_empty());
    let place = place.ok_or_else(|| errors::invalid_procedure_option("sys.sp_setnetname"))?;
    Address::read(&place, "")?;
    runner.fire_event_of("sp_setnetname", event("ALTER_LINKED_SERVER", &name))?;
    runner.info.engine.change_linked_server(&name, |server| {
        server.data_source = Some(place);
        Ok(())
    })?;
    ok()
}

/// `sp_testlinkedserver @servername`: an error, or status 0.
pub(super) fn sp_testlinkedserver(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = string(args, "servername", 0).unwrap_or_default();
    let server = runner.info.engine.linked_server(&name)?.asked_by(runner.info)?;
    let mut lease = runner.info.links.lease(runner.info, &server, Purpose::Read)?;
    lease.run(&Request::Batch("SELECT 1"))?;
    ok()
}

/// Columns of catalog procedures, and what these are called by the procedures about linked servers.
const NAMES: [(&str, &str); 12] = [
    ("TABLE_QUALIFIER", "TABLE_CAT"),
    ("TABLE_OWNER", "TABLE_SCHEM"),
    ("PKTABLE_QUALIFIER", "PKTABLE_CAT"),
    ("PKTABLE_OWNER", "PKTABLE_SCHEM"),
    ("FKTABLE_QUALIFIER", "FKTABLE_CAT"),
    ("FKTABLE_OWNER", "FKTABLE_SCHEM"),
    ("PRECISION", "COLUMN_SIZE"),
    ("LENGTH", "BUFFER_LENGTH"),
    ("SCALE", "DECIMAL_DIGITS"),
    ("RADIX", "NUM_PREC_RADIX"),
    ("SEQ_IN_INDEX", "ORDINAL_POSITION"),
    ("COLLATION", "ASC_OR_DESC"),
];

/// Calls a catalog procedure of a linked server and passes its rows on. The first argument here is the server, the others have names.
fn asked(runner: &mut Runner<'_>, args: &[Argument], procedure: &str, names: &[(&str, &str)]) -> Outcome {
    let name = string(args, "table_server", 0).unwrap_or_default();
    let server = runner.info.engine.linked_server(&name)?;
    if !server.data_access {
        return Err(own::not_configured(&server.name, "DATA ACCESS").into());
    }
    let server = server.asked_by(runner.info)?;
    let text = SqlType::NVarChar(keel_types::Length::Limited(384));
    let (mut parameters, mut database): (Vec<RpcParam>, Option<String>) = (Vec::new(), None);
    for (at, (ours, theirs)) in names.iter().enumerate() {
        let value = string(args, ours, at + 1);
        if *ours == "table_catalog" {
            database.clone_from(&value);
            continue;
        }
        if let Some(value) = value.filter(|_| !theirs.is_empty()) {
            parameters.push(parameter(theirs, text, Value::str(value)));
        }
    }
    let schema = Some("sys".to_owned());
    let name =
        RemoteName { database: database.filter(|d| !d.is_empty()), schema, object: procedure.to_owned() };
    let mut lease = runner.info.links.lease(runner.info, &server, Purpose::Read)?;
    lease.ask(&Request::Call(&name.quoted(), &parameters))?;
    let (mut rows, mut failed) = (None, None);
    while let Some(reply) = lease.reply()? {
        match reply {
            Reply::Columns(mut columns) => {
                for column in &mut columns {
                    let renamed = NAMES.iter().find(|(theirs, _)| column.name.eq_ignore_ascii_case(theirs));
                    column.name =
                        renamed.map_or_else(|| column.name.clone(), |(_, ours)| SmolStr::new_static(ours));
                }
                runner.sink.columns(&columns);
                rows = Some(0);
            }
            Reply::Row(row) => {
                rows = rows.map(|n| n + 1);
                runner.sink.row(&row).map_err(|_| errors::cancelled())?;
            }
            Reply::Message(e) if e.severity > 10 => failed = Some(crate::linked::links::theirs(e)),
            _ => {}
        }
    }
    drop(lease);
    if rows.is_some() {
        runner.done_statement(rows, command::SELECT);
    }
    match failed {
        Some(e) => Err(e.into()),
        None => ok(),
    }
}

/// `sp_tables_ex @table_server, @table_name, @table_schema, @table_catalog, @table_type, @fUsePattern`
pub(super) fn sp_tables_ex(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let names = [
        ("table_name", "@table_name"),
        ("table_schema", "@table_owner"),
        ("table_catalog", ""),
        ("table_type", "@table_type"),
    ];
    asked(runner, args, "sp_tables", &names)
}

/// `sp_columns_ex @table_server, @table_name, @table_schema, @table_catalog, @column_name, @ODBCVer`
pub(super) fn sp_columns_ex(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let names = [
        ("table_name", "@table_name"),
        ("table_schema", "@table_owner"),
        ("table_catalog", ""),
        ("column_name", "@column_name"),
    ];
    if string(args, "table_name", 1).is_none() {
        let all = Argument {
            name: "@table_name".into(),
            value: Some(Value::str("%")),
            ty: SqlType::SYSNAME,
            output: false,
            table: None,
            cursor: None,
        };
        return asked(runner, &[args, &[all]].concat(), "sp_columns", &names);
    }
    asked(runner, args, "sp_columns", &names)
}

/// `sp_primarykeys @table_server, @table_name, @table_schema, @table_catalog`
pub(super) fn sp_primarykeys(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let names = [("table_name", "@table_name"), ("table_schema", "@table_owner"), ("table_catalog", "")];
    asked(runner, args, "sp_pkeys", &names)
}

/// `sp_indexes @table_server, @table_name, @table_schema, @table_db, @index_name, @is_unique`
pub(super) fn sp_indexes(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let renamed: Vec<Argument> = args
        .iter()
        .map(|arg| match arg.name.trim_start_matches('@') {
            name if name.eq_ignore_ascii_case("table_db") => {
                Argument { name: "@table_catalog".into(), ..arg.clone() }
            }
            _ => arg.clone(),
        })
        .collect();
    let names = [
        ("table_name", "@table_name"),
        ("table_schema", "@table_owner"),
        ("table_catalog", ""),
        ("index_name", "@index_name"),
        ("is_unique", "@is_unique"),
    ];
    asked(runner, &renamed, "sp_statistics", &names)
}

/// `sp_foreignkeys @table_server, @pktab_name, @pktab_schema, @pktab_catalog, @fktab_name, @fktab_schema, @fktab_catalog`
pub(super) fn sp_foreignkeys(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let catalog = string(args, "pktab_catalog", 3).or_else(|| string(args, "fktab_catalog", 6));
    let mut renamed: Vec<Argument> = Vec::new();
    let given = [("pktab_name", 1), ("pktab_schema", 2), ("fktab_name", 4), ("fktab_schema", 5)];
    let text = |name: &str, value: String| Argument {
        name: format!("@{name}").into(),
        value: Some(Value::str(value)),
        ty: SqlType::SYSNAME,
        output: false,
        table: None,
        cursor: None,
    };
    renamed.push(text("table_server", string(args, "table_server", 0).unwrap_or_default()));
    for (name, at) in given {
        renamed.extend(string(args, name, at).map(|value| text(name, value)));
    }
    renamed.extend(catalog.map(|value| text("table_catalog", value)));
    let names = [
        ("pktab_name", "@pktable_name"),
        ("pktab_schema", "@pktable_owner"),
        ("fktab_name", "@fktable_name"),
        ("fktab_schema", "@fktable_owner"),
        ("table_catalog", ""),
    ];
    asked(runner, &renamed, "sp_fkeys", &names)
}

/// `sp_catalogs @server_name`: its databases.
pub(super) fn sp_catalogs(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let name = string(args, "server_name", 0).unwrap_or_default();
    let server = runner.info.engine.linked_server(&name)?;
    if !server.data_access {
        return Err(own::not_configured(&server.name, "DATA ACCESS").into());
    }
    let server = server.asked_by(runner.info)?;
    let mut lease = runner.info.links.lease(runner.info, &server, Purpose::Read)?;
    let answer = lease
        .run(&Request::Batch("SELECT name, CONVERT(nvarchar(254), NULL) FROM sys.databases ORDER BY name"))?;
    drop(lease);
    let columns = [
        ("CATALOG_NAME", SqlType::SYSNAME),
        ("DESCRIPTION", SqlType::NVarChar(keel_types::Length::Limited(254))),
    ];
    runner.result_set(&columns, answer.rows())?;
    ok()
}
