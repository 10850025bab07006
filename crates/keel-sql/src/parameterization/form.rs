//! The text with parameters: what views, plans, the Query Store and plan guides have of a statement whose literals have become these.

use super::shape::Shape;
use super::{Choice, Mode};
use keel_parser::lexer::Tok;
use std::fmt::Write as _;

/// A text with parameters in the place of literals, and their declarations.
pub struct Form {
    /// `SELECT * FROM [t] WHERE [a]=@1`
    pub text: String,
    /// `@1 int`
    pub declarations: String,
}

impl Form {
    /// A text whose literals of this choice are parameters. Parameters of the simple kind are numbered from 1, words are capitals and names in
    /// brackets; of the forced kind from 0, words are small and there is a space between any two tokens (`sp_get_query_template`).
    pub fn of(shape: &Shape<'_>, mode: Mode, choice: &Choice) -> Form {
        let first = if mode == Mode::Simple { 1 } else { 0 };
        let (mut text, mut declarations) = (String::new(), String::new());
        let mut before = None;
        let mut types =
            shape.literals.iter().zip(&choice.parameters).filter(|(_, is)| **is).map(|(l, _)| l.ty);
        for (token, raw, parameter) in shape.with_parameters(&choice.parameters) {
            if before.is_some_and(|before| mode == Mode::Forced || is_apart(before, token.tok)) {
                text.push(' ');
            }
            before = Some(token.tok);
            if let Some(slot) = parameter {
                let ty = types.next().expect("each parameter stands for a literal");
                let number = slot + first;
                let comma = if declarations.is_empty() { "" } else { "," };
                let _ = write!(declarations, "{comma}@{number} {ty}");
                let _ = write!(text, "@{number}");
                continue;
            }
            match (mode, token.tok) {
                (Mode::Simple, Tok::Kw(word)) => text.push_str(word.text()),
                (Mode::Forced, Tok::Kw(word)) => text.push_str(&word.text().to_lowercase()),
                (Mode::Simple, Tok::Word) if choice.names.contains(&token.start) => {
                    let _ = write!(text, "[{raw}]");
                }
                _ => text.push_str(raw),
            }
        }
        Form { text, declarations }
    }
}

/// Whether there is a space between two tokens of the simple kind.
fn is_apart(before: Tok, now: Tok) -> bool {
    use Tok::{Comma, Dot, Eq, Ge, Gt, LParen, Le, Lt, RParen, Semi};
    let tight = |tok| matches!(tok, Comma | Dot | Eq | Lt | Gt | Le | Ge);
    !(tight(before) || tight(now) || before == LParen || matches!(now, LParen | RParen | Semi))
}
