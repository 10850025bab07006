//! T-SQL text through the parser. An expression that it takes is printed and taken again.

use keel_parser::keyword::Kw;
use keel_parser::lexer::Tok;
use keel_parser::{
    ParseOptions, lexer, parse_batch, parse_expr, parse_parameters, parse_type, split_go, to_text,
};

/// Reads the bytes as a script, a batch, an expression, a type and a list of parameters.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for quoted_identifier in [true, false] {
        let _ = lexer::tokenize(&text, quoted_identifier);
        if let Err(error) = parse_batch(&text, ParseOptions { quoted_identifier }) {
            assert!(error.line >= 1, "errors have lines");
        }
    }
    for batch in split_go(&text) {
        assert!(text.contains(batch.text));
    }
    let _ = parse_parameters(&text);
    expression(&text);
    for piece in text.split([';', ',', '\n']).filter(|piece| piece.len() < text.len()).take(50) {
        expression(piece);
    }
    if let Ok(ty) = parse_type(&text) {
        let printed = to_text::type_text(&ty);
        let again = parse_type(&printed).expect("a printed type is a type");
        assert_eq!(to_text::type_text(&again), printed);
    }
}

/// The printed form is a fixed point: it reads as what prints the same.
fn expression(text: &str) {
    let Ok(expr) = parse_expr(text) else { return };
    // Printed is what constraints store, and those have no subqueries.
    let tokens = lexer::tokenize(text, true).unwrap_or_default();
    if tokens.iter().any(|token| token.tok == Tok::Kw(Kw::SELECT)) {
        return;
    }
    let printed = to_text::to_text(&expr);
    match parse_expr(&printed) {
        Ok(again) => assert_eq!(to_text::to_text(&again), printed, "printed from {text}"),
        // Only nesting may be too much: printing adds parentheses.
        Err(error) => assert_eq!(error.number, 191, "{error}: {printed} printed from {text}"),
    }
}
