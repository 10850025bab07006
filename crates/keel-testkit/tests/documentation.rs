//! The documentation against what it speaks of: links lead somewhere, and what is generated is what the code and the golden scripts
//! say today. `UPDATE_GOLDEN=1 cargo test -p keel-testkit --test documentation` writes the generated parts anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keel_parser::{ParseOptions, parse_batch};
use keel_testkit::golden;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every Markdown file of the repository, but for what builds and packages brought.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir()
                && !name.starts_with('.')
                && !["target", "node_modules", "third_party"].contains(&name.as_str())
            {
                left.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The text without code: blocks between fences, and between backticks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut out = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let outside = line.split('`').step_by(2);
            outside.for_each(|part| out.push_str(part));
        }
        out.push('\n');
    }
    out
}

/// The targets of links and pictures: what stands in parentheses behind a bracket, and in `src` and `href`.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let after = |mark: &str, end: char| -> Vec<String> {
        let pieces = prose.split(mark).skip(1);
        pieces.filter_map(|rest| Some(rest.split_once(end)?.0.trim().to_owned())).collect()
    };
    [after("](", ')'), after("src=\"", '"'), after("href=\"", '"')].concat()
}

/// The anchors of a document's headings, as the usual renderers make them: lower case, punctuation left out, blanks as hyphens,
/// repeated ones numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        let slug: String =
            kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = seen.entry(slug.clone()).or_default();
        found.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let mut broken = String::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") || target.is_empty() {
                continue;
            }
            let (path, anchor) =
                target.split_once('#').map_or((target.as_str(), None), |(p, a)| (p, Some(a)));
            let file = if path.is_empty() { document.clone() } else { document.parent().unwrap().join(path) };
            let there = file.exists()
                && anchor.is_none_or(|a| {
                    std::fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(a))
                });
            if !there {
                let _ = writeln!(broken, "{}: {target}", document.display());
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{broken}");
}

#[test]
fn anchors_and_targets_are_found() {
    let text = "# A `b`: c, d\n## A b c d\n```\n# no\n[no](no.md)\n```\n[x](y.md#a-b) `[no](no.md)` ![p](p.svg) <img src=\"q.png\">\n";
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["a-b-c-d", "a-b-c-d-1"]);
    assert_eq!(targets(text), ["y.md#a-b", "p.svg", "q.png"]);
}

/// What a golden script shows to work: a batch and whether it was answered with an error.
struct Shown {
    script: String,
    batch: String,
    failed: bool,
}

/// The batches of all transcripts.
fn shown() -> Vec<Shown> {
    let mut all = Vec::new();
    for dir in ["tests/sql", "crates/keel-sql/testscripts"] {
        for file in golden::files(&root().join(dir), "out") {
            let script =
                file.with_extension("sql").strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&file).unwrap();
            let (mut batch, mut failed) = (String::new(), false);
            let mut answered = false;
            for line in text.lines() {
                // A session's name may stand before the sign.
                let asked = line
                    .strip_prefix("> ")
                    .or_else(|| Some(line.split_once("> ")?).filter(|(n, _)| is_name(n)).map(|(_, s)| s));
                match asked {
                    Some(sql) => {
                        if answered {
                            all.push(Shown {
                                script: script.clone(),
                                batch: std::mem::take(&mut batch),
                                failed,
                            });
                            (answered, failed) = (false, false);
                        }
                        batch.push_str(sql);
                        batch.push('\n');
                    }
                    None => {
                        answered = true;
                        failed |= line.starts_with("Msg ");
                    }
                }
            }
            all.push(Shown { script, batch, failed });
        }
    }
    all
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The names of all statements in a batch, nested ones too, in the grammar's words: `CREATE TABLE`.
fn statements(batch: &str) -> BTreeSet<String> {
    let Ok(batch) = parse_batch(batch, ParseOptions::default()) else { return BTreeSet::new() };
    // The tree's printed form names every statement behind `kind: `.
    let tree = format!("{batch:?}");
    let names = tree.split("Statement { kind: ").skip(1);
    let names = names.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
    // What is read as a whole is refused when its turn comes.
    names.filter(|name| *name != "Generic").map(spaced).collect()
}

/// `CreateTable` → `CREATE TABLE`.
fn spaced(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.extend(c.to_uppercase());
    }
    match out.as_str() {
        "RAIS ERROR" => "RAISERROR".into(),
        "WAIT FOR" => "WAITFOR".into(),
        "TRY CATCH" => "TRY … CATCH".into(),
        "BLOCK" => "BEGIN … END".into(),
        "SET VARIABLE" => "SET @variable".into(),
        "SET OPTION" => "SET option".into(),
        "PERMISSION" => "GRANT, DENY, REVOKE".into(),
        "CREATE BINDABLE" => "CREATE DEFAULT, CREATE RULE".into(),
        "COMMIT" => "COMMIT TRANSACTION".into(),
        "ROLLBACK" => "ROLLBACK TRANSACTION".into(),
        "SAVE" => "SAVE TRANSACTION".into(),
        "GOVERNOR" => "RESOURCE POOL, WORKLOAD GROUP, RESOURCE GOVERNOR".into(),
        "AVAILABILITY GROUP" | "CREDENTIAL" | "ENDPOINT" => format!("CREATE, ALTER, DROP {out}"),
        "KEY" => "MASTER KEY, CERTIFICATE, ASYMMETRIC and SYMMETRIC KEY".to_owned(),
        "BROKER" => "CREATE, ALTER, DROP MESSAGE TYPE, CONTRACT, QUEUE, SERVICE, ROUTE".to_owned(),
        "CONVERSATION" => "BEGIN DIALOG, SEND, RECEIVE and other statements of conversations".to_owned(),
        "DROP" => "DROP of other objects".into(),
        "LABEL" => "label:".into(),
        "TRUNCATE" => "TRUNCATE TABLE".into(),
        _ => out,
    }
}

/// Names followed by a parenthesis.
fn calls(batch: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    for c in batch.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '@' {
            word.push(c.to_ascii_uppercase());
        } else {
            if c == '(' && !word.is_empty() {
                found.insert(std::mem::take(&mut word));
            }
            word.clear();
        }
    }
    found
}

/// What the golden scripts show to work, and in which.
#[derive(Default)]
struct Works {
    statements: BTreeMap<String, BTreeSet<String>>,
    functions: BTreeSet<String>,
}

fn works() -> Works {
    let mut works = Works::default();
    for one in shown().into_iter().filter(|one| !one.failed) {
        for statement in statements(&one.batch) {
            works.statements.entry(statement).or_default().insert(one.script.clone());
        }
        let known = |call: &String| keel_types::functions::lookup(call).is_some();
        works.functions.extend(calls(&one.batch).into_iter().filter(known));
    }
    works
}

fn statement_row(statement: &str, script: &str) -> String {
    let name = script.trim_start_matches("tests/sql/").trim_start_matches("crates/keel-sql/testscripts/");
    format!("| {statement} | [{}](../{script}) |", name.trim_end_matches(".sql"))
}

/// New scripts may show more than the table says; what it says must be shown.
#[test]
fn the_table_of_statements_says_what_golden_scripts_show() {
    let works = works();
    let mut content = String::from("| statement | for example in |\n| --- | --- |\n");
    for (statement, scripts) in &works.statements {
        let example = scripts.iter().min_by_key(|script| (script.len(), script.as_str())).unwrap();
        let _ = writeln!(content, "{}", statement_row(statement, example));
    }
    let names: Vec<String> = works.functions.iter().map(|name| format!("`{name}`")).collect();
    let _ = writeln!(content, "\nScalar functions that the scripts call: {}.", names.join(", "));
    let said = golden::generated_part(&root().join("docs/t-sql.md"), "statements", &content);
    let shown: BTreeSet<String> = works
        .statements
        .iter()
        .flat_map(|(statement, scripts)| scripts.iter().map(|script| statement_row(statement, script)))
        .collect();
    let rows: Vec<&str> = said.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 50, "{said}");
    let wrong: Vec<&&str> = rows.iter().filter(|row| !shown.contains(**row)).collect();
    assert!(wrong.is_empty(), "no golden script shows this any more: {wrong:#?}");
    let functions = said.split("call: ").nth(1).unwrap().split('`').skip(1).step_by(2);
    let gone: Vec<&str> = functions.filter(|name| !works.functions.contains(*name)).collect();
    assert!(gone.is_empty(), "no golden script calls {gone:?} any more");
}
