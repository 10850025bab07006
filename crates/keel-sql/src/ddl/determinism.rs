//! Whether the text of an expression or module means the same whenever it is asked.

use keel_parser::lexer::{self, Tok};

/// Functions whose value changes by itself, or is the session's.
const CHANGING: [&str; 32] = [
    "getdate",
    "getutcdate",
    "sysdatetime",
    "sysutcdatetime",
    "sysdatetimeoffset",
    "newid",
    "newsequentialid",
    "crypt_gen_random",
    "encryptbypassphrase",
    "session_context",
    // Keys that are there, and that the session has open.
    "key_guid",
    "key_id",
    "key_name",
    "symkeyproperty",
    "cert_id",
    "certproperty",
    "certencoded",
    "certprivatekey",
    "asymkey_id",
    "asymkeyproperty",
    "encryptbykey",
    "decryptbykey",
    "decryptbykeyautocert",
    "decryptbykeyautoasymkey",
    "encryptbycert",
    "decryptbycert",
    "encryptbyasymkey",
    "decryptbyasymkey",
    "signbycert",
    "verifysignedbycert",
    "signbyasymkey",
    "verifysignedbyasymkey",
];

/// A call of a built-in function as the text has it.
pub(crate) struct BuiltinCall<'t> {
    /// Its name as written.
    pub name: &'t str,
    /// Nothing is between the parentheses.
    pub without_arguments: bool,
    /// Line of the text, from 1.
    pub line: u32,
}

/// The calls of functions that are not a schema's.
pub(crate) fn builtin_calls(text: &str) -> Vec<BuiltinCall<'_>> {
    let tokens = lexer::tokenize(text, true).unwrap_or_default();
    let call = |at: usize| {
        let (name, open) = (&tokens[at], tokens.get(at + 1)?);
        let of_schema = at > 0 && tokens[at - 1].tok == Tok::Dot;
        if name.tok != Tok::Word || open.tok != Tok::LParen || of_schema {
            return None;
        }
        let without_arguments = tokens.get(at + 2).is_some_and(|t| t.tok == Tok::RParen);
        let name_text = text.get(name.start as usize..name.end as usize)?;
        Some(BuiltinCall { name: name_text, without_arguments, line: name.line })
    };
    (0..tokens.len()).filter_map(call).collect()
}

impl BuiltinCall<'_> {
    /// Whether it is RAND, which without a seed gives another number each time.
    pub(crate) fn is_rand(&self) -> bool {
        self.name.eq_ignore_ascii_case("rand")
    }

    /// Whether it makes a new uniqueidentifier.
    pub(crate) fn makes_guid(&self) -> bool {
        ["newid", "newsequentialid"].iter().any(|name| self.name.eq_ignore_ascii_case(name))
    }

    fn changes(&self) -> bool {
        self.is_rand() && self.without_arguments
            || CHANGING.iter().any(|name| self.name.eq_ignore_ascii_case(name))
    }
}

/// Whether nothing in the text changes by itself: neither a function nor an `@@` variable.
pub(crate) fn is_deterministic(text: &str) -> bool {
    let tokens = lexer::tokenize(text, true).unwrap_or_default();
    let of_session = |t: &lexer::Token| {
        let raw = text.get(t.start as usize..t.end as usize).unwrap_or_default();
        raw.starts_with("@@") || raw.eq_ignore_ascii_case("current_timestamp")
    };
    !tokens.iter().any(of_session) && !builtin_calls(text).iter().any(BuiltinCall::changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_chance_are_not_deterministic() {
        let check = |text: &str, expected: bool| assert_eq!(is_deterministic(text), expected, "{text}");
        check("[a]+(1)", true);
        check("getdate()", false);
        check("datediff(day,[a],GetDate())", false);
        check("[getdate]", true);
        check("'getdate()'", true);
        check("rand()", false);
        check("rand((5))", true);
        check("@@spid", false);
        check("[dbo].newid()", true);
        check("newid ( )", false);
        check("DecryptByKey([c])", false);
        check("encryptbycert(cert_id('c'),[c])", false);
        check("verifysignedbyasymkey((256),[c],[s])", false);
        check("decryptbypassphrase('p',[c])", true);
    }
}
