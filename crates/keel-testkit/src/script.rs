//! A script: what to run, in which session, in which order.
//!
//! ```text
//! create table t (a int)            batches end at GO, as in the product's tools
//! GO
//! -- session a:                     from here on in session a (it connects when first named)
//! begin tran; update t set a = 1
//! -- session b waits:               the next batch is started and must wait for a lock
//! update t set a = 2
//! -- session a:
//! commit
//! -- session b resumes:             now it must be done; its answer is shown here
//! -- restart:                       the power is cut and the engine opened again
//! ```
//!
//! Batches before the first directive run in the session `main`. Comments are part of the batch that follows and
//! appear in the transcript, so that it reads as prose.

use keel_parser::split_go;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run a batch and show its answer.
    Run {
        /// Session.
        session: String,
        /// Batch text.
        text: String,
        /// Times to run it (the number behind GO).
        count: u32,
    },
    /// Start a batch that waits.
    Start {
        /// Session.
        session: String,
        /// Batch text.
        text: String,
    },
    /// Show the answer of a batch that waited.
    Resume {
        /// Session.
        session: String,
    },
    /// Cut the power and open the engine again.
    Restart,
}

/// The session of batches before the first directive.
pub const MAIN: &str = "main";

enum Directive {
    Session(String),
    Waits(String),
    Resumes(String),
    Restart,
}

/// `-- session a:`, `-- session a waits:`, `-- session a resumes:`, `-- restart:`
fn directive(line: &str) -> Option<Directive> {
    let rest = line.trim().strip_prefix("--")?.trim().strip_suffix(':')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        ["restart"] => Some(Directive::Restart),
        ["session", name] => Some(Directive::Session((*name).to_owned())),
        ["session", name, "waits"] => Some(Directive::Waits((*name).to_owned())),
        ["session", name, "resumes"] => Some(Directive::Resumes((*name).to_owned())),
        _ => None,
    }
}

/// Cuts a script into its steps.
#[must_use]
pub fn parse(script: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut session = MAIN.to_owned();
    let mut waits = false;
    let mut section = String::new();
    for line in script.split_inclusive('\n') {
        let Some(directive) = directive(line) else {
            section.push_str(line);
            continue;
        };
        batches(&mut steps, &std::mem::take(&mut section), &session, std::mem::take(&mut waits));
        match directive {
            Directive::Session(name) => session = name,
            Directive::Waits(name) => {
                session = name;
                waits = true;
            }
            Directive::Resumes(name) => steps.push(Step::Resume { session: name }),
            Directive::Restart => {
                steps.push(Step::Restart);
                session = MAIN.to_owned();
            }
        }
    }
    batches(&mut steps, &section, &session, waits);
    steps
}

fn batches(steps: &mut Vec<Step>, section: &str, session: &str, mut waits: bool) {
    for batch in split_go(section) {
        let (session, text) = (session.to_owned(), batch.text.trim_matches(['\n', '\r']).to_owned());
        if std::mem::take(&mut waits) {
            steps.push(Step::Start { session, text });
        } else {
            steps.push(Step::Run { session, text, count: batch.count });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_and_batches() {
        let run = |session: &str, text: &str, count| Step::Run {
            session: session.into(),
            text: text.into(),
            count,
        };
        let script = "-- about\nselect 1\nGO 2\nselect 2\n-- session a:\nselect 3\n-- session b waits:\nselect 4\nGO\n\
                      select 5\n-- session b resumes:\n-- restart:\nselect 6\n";
        assert_eq!(
            parse(script),
            [
                run("main", "-- about\nselect 1", 2),
                run("main", "select 2", 1),
                run("a", "select 3", 1),
                Step::Start { session: "b".into(), text: "select 4".into() },
                run("b", "select 5", 1),
                Step::Resume { session: "b".into() },
                Step::Restart,
                run("main", "select 6", 1),
            ]
        );
    }
}
