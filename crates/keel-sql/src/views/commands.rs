//! What kind of statement a text is, in the words of `sys.dm_exec_requests.command`: the verb, with its object where it defines
//! something, cut to 16 characters as in the product (`UPDATE STATISTIC`).

use keel_parser::lexer::{Tok, tokenize};

/// As many characters as a command has.
const CHARS_MAX: usize = 16;
/// As much of a text is looked at.
const BYTES_MAX: usize = 4_096;

/// The command of a statement, or of the first one of a batch.
pub(super) fn command_of(text: &str) -> String {
    let words = outer_words(&text[..text.floor_char_boundary(BYTES_MAX)]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let name = match *words.as_slice() {
        [verb @ ("CREATE" | "ALTER" | "DROP"), ref rest @ ..] => format!("{verb} {}", kind_of(rest)),
        ["WITH", ref rest @ ..] => {
            of_rows(rest.iter().copied().find(|w| DML.contains(w)).unwrap_or("SELECT"), rest)
        }
        ["INSERT" | "BULK", "BULK" | "INSERT", ..] => "BULK INSERT".to_owned(),
        ["UPDATE", "STATISTICS", ..] => "UPDATE STATISTICS".to_owned(),
        ["TRUNCATE", ..] => "TRUNCATE TABLE".to_owned(),
        ["DBCC", what, ..] => consistency(what).to_owned(),
        // As the product has it: RESTORE VERIFYON.
        [verb @ ("BACKUP" | "RESTORE"), what, ..] => format!("{verb} {what}"),
        [verb @ ("BEGIN" | "COMMIT" | "ROLLBACK" | "SAVE"), ..] => format!("{verb} TRANSACTION"),
        [verb @ ("OPEN" | "CLOSE" | "FETCH" | "DEALLOCATE"), ..] => format!("{verb} CURSOR"),
        ["IF" | "WHILE", ..] => "CONDITIONAL".to_owned(),
        ["EXEC" | "EXECUTE", ..] => "EXECUTE".to_owned(),
        ["USE", ..] => "USE DATABASE".to_owned(),
        [verb @ ("GRANT" | "DENY" | "REVOKE" | "KILL" | "PRINT" | "RAISERROR" | "WAITFOR" | "DBCC"), ..] => {
            verb.to_owned()
        }
        [verb, ref rest @ ..] if DML.contains(&verb) => of_rows(verb, rest),
        // A batch may begin with a procedure's name.
        [name, ..] if name.starts_with("SP_") || name.starts_with("XP_") => "EXECUTE".to_owned(),
        _ => "SELECT".to_owned(),
    };
    name.chars().take(CHARS_MAX).collect()
}

/// Verbs that a WITH may stand in front of.
const DML: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"];

fn of_rows(verb: &str, rest: &[&str]) -> String {
    let into = rest.iter().position(|w| *w == "INTO");
    let from = rest.iter().position(|w| *w == "FROM");
    let into = verb == "SELECT" && into.is_some_and(|at| from.is_none_or(|from| at < from));
    if into { "SELECT INTO" } else { verb }.to_owned()
}

/// The kind of object behind CREATE, ALTER and DROP.
fn kind_of<'w>(words: &[&'w str]) -> &'w str {
    let modifiers = [
        "OR",
        "ALTER",
        "UNIQUE",
        "CLUSTERED",
        "NONCLUSTERED",
        "COLUMNSTORE",
        "PRIMARY",
        "SPATIAL",
        "EXTERNAL",
    ];
    match words.iter().copied().find(|w| !modifiers.contains(w)) {
        Some("PROC") => "PROCEDURE",
        Some("XML") if words.contains(&"INDEX") => "INDEX",
        Some(kind) => kind,
        None => "",
    }
}

/// What DBCC does.
fn consistency(what: &str) -> &'static str {
    match what {
        "CHECKDB" | "CHECKTABLE" | "CHECKFILEGROUP" => "DBCC TABLE CHECK",
        "CHECKALLOC" => "DBCC ALLOC CHECK",
        "SHRINKDATABASE" | "SHRINKFILE" => "DbccFilesCompact",
        _ => "DBCC",
    }
}

/// The words outside of parentheses, in capitals; names in brackets and quotes are none. Of a text that was cut in the middle of a
/// literal or comment: what stands between spaces.
fn outer_words(text: &str) -> Vec<String> {
    let Ok(tokens) = tokenize(text, true) else {
        return text.split_ascii_whitespace().map(str::to_ascii_uppercase).collect();
    };
    let (mut words, mut depth) = (Vec::new(), 0_u32);
    for token in tokens {
        match token.tok {
            Tok::LParen => depth += 1,
            Tok::RParen => depth = depth.saturating_sub(1),
            Tok::Word | Tok::Kw(_) if depth == 0 => {
                words.push(text[token.start as usize..token.end as usize].to_ascii_uppercase());
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::command_of;

    #[test]
    fn statements_have_the_names_of_the_product() {
        for (text, command) in [
            ("select 1", "SELECT"),
            ("/* a */ -- b\n  SELECT a INTO #t FROM x", "SELECT INTO"),
            ("select (select 1) from x", "SELECT"),
            ("with c as (select 1 a) delete c", "DELETE"),
            ("with c(a) as (select 1) select a into t from c", "SELECT INTO"),
            ("insert t select 1", "INSERT"),
            ("insert bulk t (a int)", "BULK INSERT"),
            ("bulk insert t from 'x'", "BULK INSERT"),
            ("update statistics t", "UPDATE STATISTIC"),
            ("create unique clustered index i on t(a)", "CREATE INDEX"),
            ("create primary xml index i on t(a)", "CREATE INDEX"),
            ("create or alter proc p as select 1", "CREATE PROCEDURE"),
            ("alter table t add a int", "ALTER TABLE"),
            ("alter availability group [g] failover", "ALTER AVAILABILI"),
            ("drop table if exists t", "DROP TABLE"),
            ("truncate table t", "TRUNCATE TABLE"),
            ("dbcc checkdb('x')", "DBCC TABLE CHECK"),
            ("restore verifyonly from disk = 'x'", "RESTORE VERIFYON"),
            ("backup database d to disk = 'x'", "BACKUP DATABASE"),
            ("if exists (select 1) print 'a'", "CONDITIONAL"),
            ("exec p", "EXECUTE"),
            ("sp_who", "EXECUTE"),
            ("commit", "COMMIT TRANSACTI"),
            ("declare @a int = 1", "SELECT"),
            ("", "SELECT"),
            ("update statistics t with 'unfinished", "UPDATE STATISTIC"),
        ] {
            assert_eq!(command_of(text), command, "{text}");
        }
    }
}
