//! Cuts a script into batches at its GO lines, as the product's command-line tools do.
//!
//! GO is a word alone on a line, in any case, optionally followed by a repeat count and a comment. Inside a string,
//! a quoted name or a block comment it is text.

/// One batch of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoBatch<'a> {
    /// The text between two GOs, line breaks included.
    pub text: &'a str,
    /// Line of the script at which the text begins, from 1.
    pub line: u32,
    /// How often to run it: the number behind GO, else 1.
    pub count: u32,
}

/// What the scanner is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    /// A string or quoted name, by its closing byte.
    Quotes(u8),
    /// Block comments nest.
    Comment(u32),
}

/// The batches of a script, in order. A batch that holds nothing but blanks is left out.
#[must_use]
pub fn split_go(script: &str) -> Vec<GoBatch<'_>> {
    let mut batches = Vec::new();
    let (mut inside, mut at, mut line) = (Inside::Code, 0usize, 1u32);
    let (mut batch_start, mut batch_line) = (0usize, 1u32);
    for raw in script.split_inclusive('\n') {
        let next = at + raw.len();
        if inside == Inside::Code
            && let Some(count) = go_count(raw)
        {
            add(&mut batches, &script[batch_start..at], batch_line, count);
            (batch_start, batch_line) = (next, line + 1);
        } else {
            inside = scan_line(raw.as_bytes(), inside);
        }
        line += u32::from(raw.ends_with('\n'));
        at = next;
    }
    add(&mut batches, &script[batch_start..], batch_line, 1);
    batches
}

fn add<'a>(batches: &mut Vec<GoBatch<'a>>, text: &'a str, line: u32, count: u32) {
    if !text.trim().is_empty() {
        batches.push(GoBatch { text, line, count });
    }
}

/// The count of a GO line; `None` if the line is none.
fn go_count(line: &str) -> Option<u32> {
    let line = line.trim();
    if line.len() < 2 || !line.is_char_boundary(2) || !line[..2].eq_ignore_ascii_case("go") {
        return None;
    }
    let rest = line[2..].split("--").next().unwrap_or("");
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) && rest.trim() != ";" {
        return None;
    }
    match rest.trim().trim_end_matches(';').trim() {
        "" => Some(1),
        digits => digits.parse().ok(),
    }
}

fn scan_line(bytes: &[u8], mut inside: Inside) -> Inside {
    let mut i = 0;
    while i < bytes.len() {
        let pair = (bytes[i], bytes.get(i + 1).copied().unwrap_or(0));
        let mut step = 1;
        inside = match (inside, pair) {
            (Inside::Code, (b'-', b'-')) => return inside,
            (Inside::Code, (b'/', b'*')) => {
                step = 2;
                Inside::Comment(1)
            }
            (Inside::Code, (q @ (b'\'' | b'"'), _)) => Inside::Quotes(q),
            (Inside::Code, (b'[', _)) => Inside::Quotes(b']'),
            // A doubled quote closes and opens again, which comes to the same.
            (Inside::Quotes(q), (b, _)) if b == q => Inside::Code,
            (Inside::Comment(n), (b'/', b'*')) => {
                step = 2;
                Inside::Comment(n + 1)
            }
            (Inside::Comment(n), (b'*', b'/')) => {
                step = 2;
                if n == 1 { Inside::Code } else { Inside::Comment(n - 1) }
            }
            (inside, _) => inside,
        };
        i += step;
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<(&str, u32, u32)> {
        split_go(script).into_iter().map(|b| (b.text.trim(), b.line, b.count)).collect()
    }

    #[test]
    fn go_lines_cut_and_count() {
        assert_eq!(
            texts("select 1\nGO\nselect 2\n go 3 -- thrice\n\nselect 3"),
            [("select 1", 1, 1), ("select 2", 3, 3), ("select 3", 5, 1)]
        );
    }

    #[test]
    fn go_inside_text_is_text() {
        let script = "select 'a\nGO\nb' /* \nGO\n*/ as [x\nGO\n]\nGO\n";
        assert_eq!(texts(script).len(), 1);
        assert_eq!(texts("goto x\ngone\nselect go\nGO;\n"), [("goto x\ngone\nselect go", 1, 1)]);
        assert_eq!(texts("-- it's\nGO\nselect 1"), [("-- it's", 1, 1), ("select 1", 3, 1)]);
    }
}
