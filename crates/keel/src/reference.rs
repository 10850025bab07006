//! The reference in `docs/configuration.md`, made from the code: keys and their meaning from the configuration's fields, flags from
//! the command line, defaults from the values themselves, server options from their table. A test compares;
//! `UPDATE_GOLDEN=1 cargo test -p keel --bin keel reference` writes it anew.

use crate::Cli;
use clap::{Arg, Command, CommandFactory};
use keel_server::Config;
use keel_sql::config::OPTIONS;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

const SOURCE: &str = include_str!("../../keel-server/src/config.rs");

/// The public fields of a structure in the source, with what stands above each.
fn fields(structure: &str) -> Vec<(String, String)> {
    let body = SOURCE.split(&format!("pub struct {structure} {{\n")).nth(1).unwrap_or_default();
    let body = body.split("\n}").next().unwrap_or_default();
    let (mut found, mut meaning) = (Vec::new(), Vec::new());
    for line in body.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            meaning.push(text.trim());
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|l| l.split_once(':')) {
            let text = std::mem::take(&mut meaning).join(" ").replace("[`", "`").replace("`]", "`");
            found.push((name.to_owned(), text));
        }
    }
    found
}

/// A value as TOML would have it.
fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "none".into(),
        Some(Value::Array(values)) if values.is_empty() => "none".into(),
        Some(Value::String(text)) if text.is_empty() => "none".into(),
        Some(value) => format!("`{value}`"),
    }
}

/// How an option is spelt on the command line.
fn spelt(arg: &Arg) -> Option<String> {
    let long = arg.get_long().map(|long| format!("--{long}"));
    long.or_else(|| arg.get_short().map(|short| format!("-{short}")))
}

fn serve() -> Command {
    let cli = Cli::command();
    cli.find_subcommand("serve").cloned().expect("`keel serve` is there")
}

/// The flag for a key of the file: the same name, in the singular where it may be repeated.
fn flag(serve: &Command, key: &str) -> Option<String> {
    let same = |arg: &&Arg| arg.get_id() == key || arg.get_id().as_str() == key.trim_end_matches('s');
    serve.get_arguments().find(same).and_then(spelt)
}

fn keys() -> String {
    let serve = serve();
    let defaults = serde_json::to_value(Config::default()).expect("a configuration is data");
    let mut out = String::from("| key in the file | flag | default | meaning |\n| --- | --- | --- | --- |\n");
    for (key, meaning) in fields("Config").iter().filter(|(key, _)| !defaults[key].is_object()) {
        let flag = flag(&serve, key).map_or_else(String::new, |flag| format!("`{flag}`"));
        let _ = writeln!(out, "| `{key}` | {flag} | {} | {meaning} |", shown(defaults.get(key)));
    }
    let rest = serve.get_arguments().filter(|arg| {
        let id = arg.get_id().as_str();
        let keys = fields("Config");
        !keys.iter().any(|(key, _)| key == id || key.trim_end_matches('s') == id) && id != "help"
    });
    for arg in rest {
        let meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "| | `{}` | | {meaning} |", spelt(arg).unwrap_or_default());
    }
    out
}

/// The keys of a table of the file.
fn table(structure: &str, name: &str) -> String {
    let defaults = serde_json::to_value(Config::default()).expect("a configuration is data");
    let mut out = String::from("| key | default | meaning |\n| --- | --- | --- |\n");
    for (key, meaning) in fields(structure) {
        let _ = writeln!(out, "| `{key}` | {} | {meaning} |", shown(defaults[name].get(&key)));
    }
    out
}

fn options() -> String {
    let mut out = String::from(
        "| option | default | from | to | needs a restart | advanced |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for o in OPTIONS {
        let yes = |is: bool| if is { "yes" } else { "" };
        let (restart, advanced) = (yes(!o.dynamic), yes(o.advanced));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {restart} | {advanced} |",
            o.name, o.default, o.minimum, o.maximum
        );
    }
    out
}

/// The commands of the program, with their first line.
fn commands() -> String {
    let mut out = String::from("| command | what it does |\n| --- | --- |\n");
    for command in Cli::command().get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set()) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "| `keel {}` | {about} |", command.get_name());
    }
    out
}

#[test]
fn the_configuration_reference_is_what_the_code_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let parts = [
        ("keys", keys()),
        ("cluster", table("ClusterConfig", "cluster")),
        ("failover cluster", table("FailoverClusterConfig", "failover_cluster")),
        ("server options", options()),
        ("commands", commands()),
    ];
    for (what, content) in parts {
        keel_testkit::golden::generated(&file, what, &content);
    }
}

#[test]
fn every_key_has_a_meaning() {
    for structure in ["Config", "ClusterConfig", "FailoverClusterConfig"] {
        let fields = fields(structure);
        assert!(fields.len() >= 5, "{structure}: {fields:?}");
        assert!(fields.iter().all(|(_, meaning)| meaning.len() > 5), "{fields:?}");
    }
}
