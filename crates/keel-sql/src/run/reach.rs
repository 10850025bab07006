//! How far an error reaches when no TRY block stops it.

use keel_types::SqlError;

/// What an error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The statement.
    Statement,
    /// The procedure or dynamic batch; its caller goes on.
    Program,
    /// The batch; the transaction stays open.
    Batch,
    /// The batch, and the transaction is rolled back (inside TRY: doomed).
    Transaction,
    /// The connection.
    Session,
}

/// Which statement raised the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Any but the two below.
    Statement,
    /// RAISERROR: never reaches further than itself, whatever XACT_ABORT says.
    RaisError,
    /// THROW: ends the batch.
    Throw,
}

impl Reach {
    /// By the product's habits.
    #[must_use]
    pub fn of(e: &SqlError, xact_abort: bool, origin: Origin) -> Reach {
        if e.severity >= 20 {
            return Reach::Session;
        }
        let own = match origin {
            Origin::RaisError => return Reach::Statement,
            Origin::Throw => Reach::Batch,
            Origin::Statement => Reach::of_number(e.number, e.state),
        };
        if xact_abort && e.severity > 10 { Reach::Transaction } else { own }
    }

    fn of_number(number: i32, state: u8) -> Reach {
        match number {
            // Deadlock victim, update conflicts, no memory, no log, too much processor time.
            1205 | 3960 | 3961 | 9002 | 701 | 10_961 => Reach::Transaction,
            // Conversions of values.
            235 | 241 | 244 | 245 | 248 | 289 | 293 | 295 | 8114 | 8169 => Reach::Transaction,
            // What there is already: an object, a type, two rows of one key.
            219 | 1505 | 2714 => Reach::Transaction,
            // Texts that are no JSON, or not as the path wants it.
            13607..=13609 => Reach::Transaction,
            // Transaction ended in a trigger, doomed transaction at the end of a batch.
            3609 | 3616 | 3998 => Reach::Transaction,
            // Nesting too deep, misuse of INSERT EXEC.
            217 | 3915 | 8164 => Reach::Transaction,
            213 if state == 7 => Reach::Transaction,
            // What compiling a statement finds.
            102 | 105 | 137 | 156 | 170 | 195 | 207 | 208 | 209 | 1087 | 4104 | 4121 => Reach::Program,
            _ => Reach::Statement,
        }
    }
}
