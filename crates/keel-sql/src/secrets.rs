//! Texts as others may see them: without their passwords. Audits, extended events, Query Stores, plans, deadlock graphs and the views of
//! what sessions run have them so.
//!
//! A text is read by tokens. What follows `PASSWORD =` and its like is replaced, and so are arguments of functions that are passwords. A
//! literal that itself speaks of secrets is a text of its own: what `EXEC`, `sp_executesql` and calls from clients run.

use keel_parser::lexer::{Tok, Token, tokenize};
use keel_query::plan::text::secret_arguments;
use std::borrow::Cow;

/// What stands for a secret.
const STARS: &str = "'******'";
/// Words whose value is a secret.
const SECRETS: [&str; 6] =
    ["PASSWORD", "OLD_PASSWORD", "MEDIAPASSWORD", "KEY_SOURCE", "IDENTITY_VALUE", "SECRET"];
/// Procedures whose arguments are passwords.
const SECRETIVE: [&str; 5] =
    ["sp_addlogin", "sp_password", "sp_setapprole", "sp_addlinkedsrvlogin", "sp_change_users_login"];
/// What every text has in it that one of these words is in; looked for in each text, so there are few, and few begin alike.
const SIGNS: [&str; 12] = [
    "PASSWORD",
    "KEY_SOURCE",
    "IDENTITY_VALUE",
    "SECRET",
    "CRYPT",
    "PWDCOMPARE",
    "SIGNBY",
    "CERTPRIVATEKEY",
    "ADDLOGIN",
    "SETAPPROLE",
    "SRVLOGIN",
    "USERS_LOGIN",
];
/// Texts within texts that are taken apart; a literal further in that speaks of secrets is replaced whole.
const DEPTH_MAX: u32 = 8;
/// What stands for a text that cannot be taken apart.
const UNREADABLE: &str = "-- The text of this event could not be read.\n-- It has been replaced with this comment for security reasons.";

/// A text without its passwords. A note where one of the procedures is called whose arguments are passwords, or where the text speaks of
/// secrets and cannot be taken apart.
#[must_use]
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if !speaks_of_secrets(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(hidden(text, 0).unwrap_or_else(|note| note))
}

/// Whether a text may have a word that this chapter knows anywhere in it.
fn speaks_of_secrets(text: &str) -> bool {
    let bytes = text.as_bytes();
    let stands = |at: usize, sign: &str| {
        bytes.get(at..at + sign.len()).is_some_and(|found| found.eq_ignore_ascii_case(sign.as_bytes()))
    };
    let begins = |sign: &&str, byte: u8| sign.as_bytes().first() == Some(&byte.to_ascii_uppercase());
    bytes.iter().enumerate().any(|(at, byte)| {
        let mut signs = SIGNS.iter().filter(|sign| begins(sign, *byte));
        signs.any(|sign| stands(at, sign))
    })
}

/// The text without its secrets; the note that replaces it whole as the error.
fn hidden(text: &str, depth: u32) -> Result<String, String> {
    let tokens = tokenize(text, true).map_err(|_| UNREADABLE.to_owned())?;
    let words: Vec<&str> = tokens.iter().map(|t| &text[t.start as usize..t.end as usize]).collect();
    // A name alone calls nothing.
    let procedure = match tokens.iter().filter(|t| t.tok != Tok::Eof).count() {
        1 => None,
        _ => tokens.iter().zip(&words).find_map(|(t, word)| secretive(t, word)),
    };
    if let Some(name) = procedure {
        return Err(format!(
            "-- '{name}' was found in the text of this event.\n-- The text has been replaced with this comment for security reasons."
        ));
    }
    let secret = secret_tokens(&tokens, &words);
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for ((token, word), secret) in tokens.iter().zip(&words).zip(secret) {
        let instead = if secret { Some(STARS.to_owned()) } else { literal(token, word, depth) };
        if let Some(instead) = instead {
            out.push_str(&text[copied..token.start as usize]);
            out.push_str(&instead);
            copied = token.end as usize;
        }
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

/// The procedure that an identifier names, if its arguments are passwords.
fn secretive(token: &Token, word: &str) -> Option<&'static str> {
    let name = match token.tok {
        Tok::Word => word,
        Tok::Quoted => word.get(1..word.len().saturating_sub(1))?,
        _ => return None,
    };
    SECRETIVE.into_iter().find(|known| name.eq_ignore_ascii_case(known))
}

/// Which tokens are secrets.
fn secret_tokens(tokens: &[Token], words: &[&str]) -> Vec<bool> {
    // Texts stand in double quotes, too, where QUOTED_IDENTIFIER is off.
    let is_value = |at: usize| match tokens.get(at).map(|t| t.tok) {
        Some(Tok::Str | Tok::NStr | Tok::Binary) => true,
        Some(Tok::Quoted) => words[at].starts_with('"'),
        _ => false,
    };
    let mut secret = vec![false; tokens.len()];
    for (at, word) in words.iter().enumerate() {
        let names = SECRETS.iter().any(|s| word.eq_ignore_ascii_case(s));
        if names && words.get(at + 1) == Some(&"=") && is_value(at + 2) {
            secret[at + 2] = true;
        }
        let arguments = secret_arguments(word);
        let opens = tokens.get(at + 1).is_some_and(|t| matches!(t.tok, Tok::LParen));
        if arguments.is_empty() || !opens {
            continue;
        }
        let (mut depth, mut argument) = (0_usize, 0_usize);
        for (inner, token) in tokens.iter().enumerate().skip(at + 1) {
            match token.tok {
                Tok::LParen => depth += 1,
                Tok::RParen => depth -= 1,
                Tok::Comma if depth == 1 => argument += 1,
                _ if is_value(inner) && arguments.contains(&argument) => secret[inner] = true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    secret
}

/// What stands for a literal that speaks of secrets.
fn literal(token: &Token, word: &str, depth: u32) -> Option<String> {
    if !matches!(token.tok, Tok::Str | Tok::NStr | Tok::Quoted) || !speaks_of_secrets(word) {
        return None;
    }
    let quote = if word.ends_with('"') { '"' } else { '\'' };
    let (prefix, rest) = word.split_once(quote)?;
    let (inner, twice) = (rest.strip_suffix(quote), format!("{quote}{quote}"));
    let (Some(inner), true) = (inner, depth < DEPTH_MAX) else { return Some(STARS.to_owned()) };
    let text = match hidden(&inner.replace(&twice, &quote.to_string()), depth + 1) {
        Ok(text) => text,
        // No statement, and nothing is set in it to anything: a text as any other.
        Err(note) if note == UNREADABLE && !inner.contains(['=', '(']) => return None,
        Err(note) if note == UNREADABLE => return Some(STARS.to_owned()),
        Err(note) => note,
    };
    Some(format!("{prefix}{quote}{}{quote}", text.replace(quote, &twice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions that have passwords among their arguments.
    const FUNCTIONS: [&str; 11] = [
        "ENCRYPTBYPASSPHRASE",
        "DECRYPTBYPASSPHRASE",
        "PWDENCRYPT",
        "PWDCOMPARE",
        "DECRYPTBYKEYAUTOCERT",
        "DECRYPTBYKEYAUTOASYMKEY",
        "DECRYPTBYCERT",
        "DECRYPTBYASYMKEY",
        "SIGNBYCERT",
        "SIGNBYASYMKEY",
        "CERTPRIVATEKEY",
    ];

    #[test]
    fn no_secret_stays() {
        for text in [
            "create login l with password = 'Hush1'",
            "create symmetric key k with key_source = 'Hush1', identity_value = 'Hush1'",
            "create database scoped credential c with identity = 'i', secret = 'Hush1'",
            "exec ('create login l with password = ''Hush1''')",
            "exec sp_executesql N'exec (''create login l with password = ''''Hush1'''''')'",
            "exec ('exec [sp_password] ''a'', ''Hush1''')",
            "select decryptbycert(cert_id('c'), 0x01, N'Hush1'), signbycert(1, 'x', 'Hush1')",
            "select encryptbypassphrase('Hush1', 'x'), certprivatekey(1, 'Hush1', 'Hush1')",
            "select decryptbykeyautocert(cert_id('c'), N'Hush1', x) from t",
            "select 'Hush1' as password, 'never closed",
            "create login l with password = \"Hush1\"",
            "exec (\"create login l with password = 'Hush1'\")",
            "select name from sys.sql_logins where pwdcompare(N'Hush1', password_hash) = 1",
            "restore database d from disk = 'x' with mediapassword = 'Hush1'",
        ] {
            let told = without_secrets(text);
            assert!(!told.contains("Hush1") && !told.is_empty(), "{text}: {told}");
        }
    }

    #[test]
    fn the_rest_of_a_text_stays() {
        for text in [
            "select 1 -- not sp_password",
            "select encryptbypassphrase(@p, 'text')",
            "select 'a''b'",
            "select password, 'label' from t",
            "select [password], \"secret\" from t",
            "select id from log where msg = 'user''s password was reset'",
            "select object_id('sp_password')",
        ] {
            assert_eq!(without_secrets(text), text);
        }
        let text = "exec ('alter login l with password = ''x'', default_database = d')";
        let told = "exec ('alter login l with password = ''******'', default_database = d')";
        assert_eq!(without_secrets(text), told);
    }

    #[test]
    fn every_word_has_a_sign() {
        let mut all = SECRETS.iter().chain(&FUNCTIONS).chain(&SECRETIVE);
        assert!(all.all(|word| speaks_of_secrets(word)));
        assert!(!speaks_of_secrets("select id, price from item where name like N'pass_wor%'"));
    }

    #[test]
    fn every_function_that_is_looked_for_has_a_secret() {
        assert!(FUNCTIONS.iter().all(|name| !secret_arguments(name).is_empty()));
    }
}
