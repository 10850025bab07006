//! Rows that come and go under a few keys, each of one owner who remembers what it was told: in a table with several indexes, a heap, and a
//! system-versioned table. Whatever way it looks, it finds what it has written.

use super::clients::{Crew, Worker, leads};
use super::tables::SLOTS;
use keel_workload::{CallError, Cell, Connection};
use std::collections::BTreeMap;

/// Owners of one table.
pub(super) const OWNERS: i64 = 4;
/// How the rows of each table are come by.
pub(super) const WAYS: [&[&str]; 3] =
    [&["INDEX(1)", "INDEX(by_owner)", "INDEX(by_v)"], &["INDEX(0)", "INDEX(by_k)"], &["INDEX(1)"]];

/// What one owner knows.
pub(super) struct Owner {
    table: usize,
    number: i64,
    rows: BTreeMap<i64, i64>,
    /// What a change it was told nothing of has left, or has not: before and after.
    doubt: BTreeMap<i64, [Option<i64>; 2]>,
}

impl Owner {
    pub(super) fn new(n: i64) -> Owner {
        let table = usize::try_from(n).unwrap_or_default() % WAYS.len();
        Owner { table, number: n / WAYS.len() as i64 % OWNERS, rows: BTreeMap::new(), doubt: BTreeMap::new() }
    }

    /// One transaction, and two looks.
    pub(super) fn step(&mut self, crew: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
        if !self.doubt.is_empty() {
            self.settle(crew, w)?;
        }
        // One that changes nothing succeeds with a secondary too, which may be behind.
        if !self.change(w)? && !leads(w.session) {
            return Err(CallError::Lost("this is not the primary".into()));
        }
        self.look(crew, w)?;
        self.look(crew, w)
    }

    /// Finds out what became of changes in doubt, under locks: who made them may be committing still.
    fn settle(&mut self, crew: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
        if !leads(w.session) {
            return Err(CallError::Lost("this is not the primary".into()));
        }
        let sql = format!(
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT k, v FROM dbo.slots{} WITH (REPEATABLEREAD) WHERE owner = {}",
            self.table, self.number
        );
        let there: BTreeMap<i64, i64> = pairs(&w.session.query(&sql)?).into_iter().collect();
        for (k, either) in std::mem::take(&mut self.doubt) {
            let found = there.get(&k).copied();
            if !either.contains(&found) {
                crew.violation(&format!(
                    "slots{}: {k} was to be one of {either:?} and is {found:?}",
                    self.table
                ));
            }
            self.note(k, found);
        }
        Ok(())
    }

    fn note(&mut self, k: i64, v: Option<i64>) {
        match v {
            Some(v) => self.rows.insert(k, v),
            None => self.rows.remove(&k),
        };
    }

    /// Inserts, updates and deletes at random keys or side by side. Whether there were any.
    fn change(&mut self, w: &mut Worker<'_>) -> Result<bool, CallError> {
        let table = self.table;
        let (mut changes, mut sql) = (BTreeMap::new(), String::new());
        let (first, side_by_side, clears) = (w.below(SLOTS), w.dice.bool(), w.dice.u8(0..3) == 0);
        for n in 0..[1, 1, 3, 20, 100][w.dice.usize(0..5)] {
            let at = if side_by_side { (first + n) % SLOTS } else { w.below(SLOTS) };
            let (k, v) = (at / OWNERS * OWNERS + self.number, w.below(1_000_000));
            let there = self.rows.contains_key(&k);
            if changes.contains_key(&k) || clears && !there {
                continue;
            }
            changes.insert(k, (!there || !clears && w.dice.bool()).then_some(v));
            sql.push_str(&match (there, changes[&k]) {
                (true, Some(v)) => format!("UPDATE dbo.slots{table} SET v = {v} WHERE k = {k}; "),
                (true, None) => format!("DELETE dbo.slots{table} WHERE k = {k}; "),
                (false, _) => self.insert(k, v, w),
            });
        }
        if w.dice.u8(0..5) == 0 {
            let owner = self.number;
            sql.push_str(&format!(
                "SAVE TRANSACTION s; DELETE dbo.slots{table} WHERE owner = {owner} AND k % 3 = 0; UPDATE dbo.slots{table} SET v = -1 WHERE owner = {owner}; \
                 ROLLBACK TRANSACTION s; "
            ));
        }
        if w.dice.u8(0..3) == 0 {
            sql.push_str(&self.mistake(w));
        }
        let level = w.pick(&["READ COMMITTED", "SNAPSHOT", "SERIALIZABLE"]);
        let (begin, end) = (w.begin(level), w.end());
        for (k, v) in &changes {
            self.doubt.insert(*k, [self.rows.get(k).copied(), *v]);
        }
        let any = !changes.is_empty();
        match w.session.execute(&format!("{begin}{sql}{end}")) {
            Ok(()) if end == "COMMIT" => changes.into_iter().for_each(|(k, v)| self.note(k, v)),
            Ok(()) => {}
            Err(CallError::Retry(text)) => {
                self.doubt.clear();
                return Err(CallError::Retry(text));
            }
            Err(error) => return Err(error),
        }
        self.doubt.clear();
        Ok(any)
    }

    /// A statement that fails half way, and leaves nothing; where nothing is in its way it is taken back.
    fn mistake(&self, w: &mut Worker<'_>) -> String {
        let (table, owner, at) = (self.table, self.number, w.below(SLOTS));
        let own = format!("dbo.slots{table} WHERE owner = {owner}");
        let fails = format!("1 / IIF(k >= {at}, 0, 1)");
        let statement = match w.below(5) {
            0 => format!("UPDATE dbo.slots{table} SET v = v + {fails} WHERE owner = {owner}"),
            1 => format!("DELETE {own} AND {fails} = 1"),
            2 => {
                // Keys that are free, until one that is not; a heap has no such keys.
                let there = if table == 1 { "1 / IIF(k >= 100000, 1, 0)" } else { "1" };
                format!(
                    "INSERT dbo.slots{table} (k, owner, v) SELECT k, owner, v FROM (SELECT k + IIF(k < {at}, 100000, 0) AS k, owner, v FROM {own}) s WHERE \
                     {there} = 1"
                )
            }
            3 => format!(
                "DECLARE @gone TABLE (k tinyint); DELETE dbo.slots{table} OUTPUT deleted.k INTO @gone WHERE owner = {owner}"
            ),
            _ => format!(
                "MERGE dbo.slots{table} t USING (SELECT k FROM {own} UNION ALL SELECT MAX(k) FROM {own}) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v + 1;"
            ),
        };
        format!(
            "SET XACT_ABORT OFF; SAVE TRANSACTION m; BEGIN TRY {statement}; ROLLBACK TRANSACTION m END TRY BEGIN CATCH IF XACT_STATE() = -1 THROW END CATCH; \
             SET XACT_ABORT ON; "
        )
    }

    fn insert(&self, k: i64, v: i64, w: &mut Worker<'_>) -> String {
        let (table, owner) = (self.table, self.number);
        match table {
            2 => format!("INSERT dbo.slots2 (k, owner, v) VALUES ({k}, {owner}, {v}); "),
            _ => {
                let length = if table == 0 && w.below(6) == 0 { w.below(12_000) } else { w.below(200) };
                format!(
                    "INSERT dbo.slots{table} VALUES ({k}, {owner}, {v}, REPLICATE(CONVERT(varchar(max), 'z'), {length})); "
                )
            }
        }
    }

    /// Some of its rows, come by in some way.
    fn look(&self, crew: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
        let way = w.pick(WAYS[self.table]);
        let hint = w.pick(&["", ", UPDLOCK", ", READCOMMITTEDLOCK", ", REPEATABLEREAD", ", SERIALIZABLE"]);
        let (from, order) = (w.below(SLOTS), w.pick(&["ASC", "DESC"]));
        let (to, top) = (from + [5, 50, 500, SLOTS][w.dice.usize(0..4)], [7, 1_000_000][w.dice.usize(0..2)]);
        let sql = format!(
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT TOP ({top}) k, v FROM dbo.slots{} WITH ({way}{hint}) WHERE owner = {} AND k >= {from} \
             AND k < {to} ORDER BY k {order}",
            self.table, self.number
        );
        let found = pairs(&w.session.query(&sql)?);
        let mut wanted: Vec<(i64, i64)> = self.rows.range(from..to).map(|(k, v)| (*k, *v)).collect();
        if order == "DESC" {
            wanted.reverse();
        }
        wanted.truncate(top);
        if found != wanted {
            crew.violation(&format!("{sql} gave {found:?}, its owner has written {wanted:?}"));
        }
        Ok(())
    }

    /// With nobody at work: all of its rows, come by in each way.
    pub(super) fn check(&mut self, crew: &Crew<'_>, session: &mut dyn Connection) -> Result<(), CallError> {
        let mut dice = crew.dice(0);
        self.settle(crew, &mut Worker { session, dice: &mut dice })?;
        for way in WAYS[self.table] {
            let sql = format!(
                "SELECT k, v FROM dbo.slots{} WITH ({way}) WHERE owner = {} ORDER BY k",
                self.table, self.number
            );
            let (found, wanted) =
                (pairs(&session.query(&sql)?), self.rows.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>());
            if found != wanted {
                let odd: Vec<_> = found.iter().filter(|row| !wanted.contains(row)).collect();
                let lost: Vec<_> = wanted.iter().filter(|row| !found.contains(row)).collect();
                crew.violation(&format!(
                    "{sql}: its owner never wrote {odd:?} and has written {lost:?}, {} rows",
                    found.len()
                ));
            }
        }
        Ok(())
    }
}

fn pairs(rows: &[Vec<Cell>]) -> Vec<(i64, i64)> {
    let pair = |row: &Vec<Cell>| match row[..] {
        [Cell::Int(k), Cell::Int(v)] => Some((k, v)),
        _ => None,
    };
    rows.iter().filter_map(pair).collect()
}

/// Consumers of a queue: they pass over what others hold and take the first few, from some key on.
pub(super) fn consume(_: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
    let (begin, from, other) = (w.begin("READ COMMITTED"), w.below(SLOTS), w.below(SLOTS));
    w.session.execute(&format!(
        "{begin}DECLARE @k int; SELECT TOP (1) @k = k FROM dbo.slots0 WITH (UPDLOCK, READPAST) WHERE k >= {from} ORDER BY k; DELETE TOP (3) dbo.slots0 WITH \
         (READPAST) WHERE k >= {other}; ROLLBACK"
    ))
}
