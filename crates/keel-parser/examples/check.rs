//! Reads batches from standard input, each ended by a zero byte, and writes a line for each: number, line and message of
//! its syntax error between tabs, or "ok" and the characters at which statements begin. `tests/grammar` compares them with
//! another parser's.

use keel_parser::{ParseOptions, parse_batch};
use std::io::{BufRead as _, Write as _};

fn main() -> std::io::Result<()> {
    let (input, output) = (std::io::stdin(), std::io::stdout());
    let (mut input, mut output) = (input.lock(), output.lock());
    let mut batch = Vec::new();
    while input.read_until(0, &mut batch)? > 0 {
        let text = String::from_utf8_lossy(batch.strip_suffix(&[0]).unwrap_or(&batch));
        match parse_batch(&text, ParseOptions::default()) {
            Ok(parsed) => {
                let begins =
                    parsed.statements.iter().map(|s| text[..s.span.start as usize].encode_utf16().count());
                writeln!(output, "ok{}", begins.map(|at| format!("\t{at}")).collect::<String>())?;
            }
            Err(e) => {
                let message = e.message.replace(['\n', '\r', '\t'], " ");
                writeln!(output, "{}\t{}\t{message}", e.number, e.line)?;
            }
        }
        output.flush()?;
        batch.clear();
    }
    Ok(())
}
