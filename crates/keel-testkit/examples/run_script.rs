//! Runs a script (a file, or standard input) against a fresh instance and prints its transcript.

use std::io::Read as _;

fn main() -> std::io::Result<()> {
    let script = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(path)?,
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    print!("{}", keel_testkit::sql::run_script(&script));
    Ok(())
}
