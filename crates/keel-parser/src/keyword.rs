//! The reserved words of T-SQL. Every other word of the language is a name that the grammar recognises in its
//! place, which is why `OFFSET`, `OUTPUT` or `THROW` may name a column. So may `PRECISION`, `DISK`, `DUMP`, `LOAD` and
//! `SECURITYAUDIT`, although the product's list of reserved words has them: its own parser takes them as names, and
//! its JDBC driver relies on the first.

macro_rules! keywords {
    ($($word:ident,)*) => {
        /// A reserved word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "variants are spelled as the words are")]
        #[allow(missing_docs, reason = "the words say it")]
        pub enum Kw { $($word,)* }

        /// All reserved words in ascending order, each with its value.
        const WORDS: &[(&str, Kw)] = &[$((stringify!($word), Kw::$word),)*];
    };
}

keywords! {
    ADD, ALL, ALTER, AND, ANY, AS, ASC, AUTHORIZATION, BACKUP, BEGIN, BETWEEN, BREAK, BROWSE, BULK, BY,
    CASCADE, CASE, CHECK, CHECKPOINT, CLOSE, CLUSTERED, COALESCE, COLLATE, COLUMN, COMMIT, COMPUTE,
    CONSTRAINT, CONTAINS, CONTAINSTABLE, CONTINUE, CONVERT, CREATE, CROSS, CURRENT, CURRENT_DATE,
    CURRENT_TIME, CURRENT_TIMESTAMP, CURRENT_USER, CURSOR, DATABASE, DBCC, DEALLOCATE, DECLARE, DEFAULT,
    DELETE, DENY, DESC, DISTINCT, DISTRIBUTED, DOUBLE, DROP, ELSE, END, ERRLVL, ESCAPE,
    EXCEPT, EXEC, EXECUTE, EXISTS, EXIT, EXTERNAL, FETCH, FILE, FILLFACTOR, FOR, FOREIGN, FREETEXT,
    FREETEXTTABLE, FROM, FULL, FUNCTION, GOTO, GRANT, GROUP, HAVING, HOLDLOCK, IDENTITY, IDENTITYCOL,
    IDENTITY_INSERT, IF, IN, INDEX, INNER, INSERT, INTERSECT, INTO, IS, JOIN, KEY, KILL, LEFT, LIKE,
    LINENO, MERGE, NATIONAL, NOCHECK, NONCLUSTERED, NOT, NULL, NULLIF, OF, OFF, OFFSETS, ON, OPEN,
    OPENDATASOURCE, OPENQUERY, OPENROWSET, OPENXML, OPTION, OR, ORDER, OUTER, OVER, PERCENT, PIVOT, PLAN,
    PRIMARY, PRINT, PROC, PROCEDURE, PUBLIC, RAISERROR, READ, READTEXT, RECONFIGURE,
    REFERENCES, REPLICATION, RESTORE, RESTRICT, RETURN, REVERT, REVOKE, RIGHT, ROLLBACK, ROWCOUNT,
    ROWGUIDCOL, RULE, SAVE, SCHEMA, SELECT, SEMANTICKEYPHRASETABLE,
    SEMANTICSIMILARITYDETAILSTABLE, SEMANTICSIMILARITYTABLE, SESSION_USER, SET, SETUSER, SHUTDOWN, SOME,
    STATISTICS, SYSTEM_USER, TABLE, TABLESAMPLE, TEXTSIZE, THEN, TO, TOP, TRAN, TRANSACTION, TRIGGER,
    TRUNCATE, TRY_CONVERT, TSEQUAL, UNION, UNIQUE, UNPIVOT, UPDATE, UPDATETEXT, USE, USER, VALUES,
    VARYING, VIEW, WAITFOR, WHEN, WHERE, WHILE, WITH, WRITETEXT,
}

/// The longest reserved word; longer words need no search.
const LONGEST: usize = 31;

impl Kw {
    /// The reserved word that `word` spells, in any case.
    #[must_use]
    pub fn lookup(word: &str) -> Option<Kw> {
        if word.len() < 2 || word.len() > LONGEST || !word.is_ascii() {
            return None;
        }
        let mut upper = [0u8; LONGEST];
        let upper = &mut upper[..word.len()];
        upper.copy_from_slice(word.as_bytes());
        upper.make_ascii_uppercase();
        let at = WORDS.binary_search_by(|(w, _)| w.as_bytes().cmp(upper)).ok()?;
        Some(WORDS[at].1)
    }

    /// The word in upper case.
    #[must_use]
    pub fn text(self) -> &'static str {
        WORDS[self as usize].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_and_in_order() {
        for (i, (word, kw)) in WORDS.iter().enumerate() {
            assert!(word.len() <= LONGEST, "{word}");
            assert_eq!(Kw::lookup(&word.to_lowercase()), Some(*kw));
            assert_eq!(kw.text(), *word);
            assert!(i == 0 || WORDS[i - 1].0 < *word, "{word}");
        }
        assert_eq!(Kw::lookup("OFFSET"), None);
    }
}
