//! One terminal: picks a transaction by the specification's mix, its parameters by the specification's
//! distributions, calls it, and keeps what was acknowledged.

use super::{DISTRICTS, Scale, last_name, nurand};
use crate::hist::Histogram;
use crate::{CallError, Cell, Connection};
use fastrand::Rng;
use std::time::{Duration, Instant};

/// The five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 45 %
    NewOrder,
    /// 43 %
    Payment,
    /// 4 %
    Delivery,
    /// 4 %
    OrderStatus,
    /// 4 %
    StockLevel,
}

/// All kinds in the order of [`Totals`] arrays.
pub const KINDS: [Kind; 5] =
    [Kind::NewOrder, Kind::Payment, Kind::Delivery, Kind::OrderStatus, Kind::StockLevel];

impl Kind {
    /// Name as in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new order",
            Kind::Payment => "payment",
            Kind::Delivery => "delivery",
            Kind::OrderStatus => "order status",
            Kind::StockLevel => "stock level",
        }
    }

    fn pick(rng: &mut Rng) -> Kind {
        match rng.u8(0..100) {
            0..45 => Kind::NewOrder,
            45..88 => Kind::Payment,
            88..92 => Kind::Delivery,
            92..96 => Kind::OrderStatus,
            _ => Kind::StockLevel,
        }
    }
}

/// What the server acknowledged, so that it can be asked for after a crash. One per terminal.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Acknowledged new orders as (warehouse, district, order).
    pub orders: Vec<(i64, i64, i64)>,
    /// Sum of acknowledged payments by warehouse number (index 0 unused), in hundredths.
    pub payments: Vec<i64>,
    /// New orders whose fate is unknown, because the connection went before the answer.
    pub orders_in_doubt: u64,
    /// Sum of payments whose fate is unknown, in hundredths.
    pub payments_in_doubt: i64,
}

/// Counts and latencies of one terminal or of many merged.
#[derive(Clone, Default)]
pub struct Totals {
    /// Acknowledged transactions by kind, including new orders rolled back on purpose.
    pub done: [u64; 5],
    /// Latency by kind.
    pub latency: [Histogram; 5],
    /// Retries after deadlock or serialization failure.
    pub retries: u64,
    /// New orders rolled back on purpose (1 %), not counted in NOPM.
    pub rolled_back: u64,
}

impl Totals {
    /// Adds another terminal's.
    pub fn merge(&mut self, other: &Totals) {
        for i in 0..5 {
            self.done[i] += other.done[i];
            self.latency[i].merge(&other.latency[i]);
        }
        self.retries += other.retries;
        self.rolled_back += other.rolled_back;
    }
}

/// One simulated user.
pub struct Terminal {
    rng: Rng,
    scale: Scale,
    home: i64,
    /// What was acknowledged.
    pub ledger: Ledger,
    /// Counts and latencies.
    pub totals: Totals,
}

impl Terminal {
    /// A terminal with its home warehouse, `number` from 0.
    #[must_use]
    pub fn new(number: u64, scale: Scale, seed: u64) -> Terminal {
        let home = number as i64 % scale.warehouses + 1;
        let ledger = Ledger { payments: vec![0; scale.warehouses as usize + 1], ..Ledger::default() };
        Terminal {
            rng: Rng::with_seed(seed ^ (number << 20)),
            scale,
            home,
            ledger,
            totals: Totals::default(),
        }
    }

    /// Runs one transaction, with retries. Returns its kind.
    ///
    /// # Errors
    /// `Lost` when the connection is gone (the ledger then holds the transaction as in doubt), `Refused` when the
    /// server refused what it should not.
    pub fn step(&mut self, connection: &mut dyn Connection) -> Result<Kind, CallError> {
        let kind = Kind::pick(&mut self.rng);
        let arguments = self.arguments(kind);
        let started = Instant::now();
        loop {
            match connection.call(PROCEDURES[kind as usize], &arguments) {
                Ok(row) => {
                    self.totals.latency[kind as usize].record(started.elapsed().as_micros() as u64);
                    self.totals.done[kind as usize] += 1;
                    self.acknowledge(kind, &arguments, row);
                    return Ok(kind);
                }
                Err(CallError::Retry(_)) => self.totals.retries += 1,
                // The one refusal that is asked for: the item that does not exist (section 2.4.1.5).
                Err(CallError::Refused(_)) if kind == Kind::NewOrder && arguments[5] == Cell::Int(1) => {
                    self.totals.latency[kind as usize].record(started.elapsed().as_micros() as u64);
                    self.totals.done[kind as usize] += 1;
                    self.totals.rolled_back += 1;
                    return Ok(kind);
                }
                Err(error) => {
                    self.doubt(kind, &arguments);
                    return Err(error);
                }
            }
        }
    }

    /// How long this user thinks before the next transaction, `mean` on average: distributed as the specification has it,
    /// and at most ten times the mean (section 5.2.5.4).
    pub fn think_time(&mut self, mean: Duration) -> Duration {
        if mean.is_zero() {
            return mean;
        }
        // From above 0 to 1, so that the logarithm exists.
        let share = 1.0 - self.rng.f64();
        mean.mul_f64((-share.ln()).min(10.0))
    }

    fn acknowledge(&mut self, kind: Kind, arguments: &[Cell], row: Option<Vec<Cell>>) {
        match (kind, arguments) {
            (Kind::NewOrder, [Cell::Int(w), _, Cell::Int(d), ..]) => match row.as_deref() {
                Some([Cell::Int(o), ..]) if *o > 0 => self.ledger.orders.push((*w, *d, *o)),
                _ => self.totals.rolled_back += 1,
            },
            (Kind::Payment, [Cell::Int(w), .., Cell::Decimal(amount, _)]) => {
                self.ledger.payments[*w as usize] += amount;
            }
            _ => {}
        }
    }

    fn doubt(&mut self, kind: Kind, arguments: &[Cell]) {
        match (kind, arguments.last()) {
            (Kind::NewOrder, _) => self.ledger.orders_in_doubt += 1,
            (Kind::Payment, Some(Cell::Decimal(amount, _))) => self.ledger.payments_in_doubt += amount,
            _ => {}
        }
    }

    fn arguments(&mut self, kind: Kind) -> Vec<Cell> {
        let (w, d) = (self.home, self.rng.i64(1..=DISTRICTS));
        match kind {
            Kind::NewOrder => {
                let c = nurand(&mut self.rng, 1023, 1, self.scale.customers);
                let lines = self.rng.i64(5..=15);
                let rollback = i64::from(self.rng.u8(0..100) == 0);
                [w, self.scale.warehouses, d, c, lines, rollback].map(Cell::Int).to_vec()
            }
            Kind::Payment => {
                let remote = self.scale.warehouses > 1 && self.rng.u8(0..100) < 15;
                let (c_w, c_d) =
                    if remote { (self.other_warehouse(), self.rng.i64(1..=DISTRICTS)) } else { (w, d) };
                let (c, last) = self.customer();
                let amount = Cell::Decimal(self.rng.i64(100..=500_000), 2);
                vec![Cell::Int(w), Cell::Int(d), Cell::Int(c_w), Cell::Int(c_d), c, last, amount]
            }
            Kind::Delivery => vec![Cell::Int(w), Cell::Int(self.rng.i64(1..=10))],
            Kind::OrderStatus => {
                let (c, last) = self.customer();
                vec![Cell::Int(w), Cell::Int(d), c, last]
            }
            Kind::StockLevel => vec![Cell::Int(w), Cell::Int(d), Cell::Int(self.rng.i64(10..=20))],
        }
    }

    fn other_warehouse(&mut self) -> i64 {
        let w = self.rng.i64(1..self.scale.warehouses);
        if w >= self.home { w + 1 } else { w }
    }

    /// 60 % by last name (number 0), 40 % by number.
    fn customer(&mut self) -> (Cell, Cell) {
        if self.rng.u8(0..100) < 60 {
            let highest = 999.min(self.scale.customers - 1);
            (Cell::Int(0), Cell::Text(last_name(nurand(&mut self.rng, 255, 0, highest))))
        } else {
            (Cell::Int(nurand(&mut self.rng, 1023, 1, self.scale.customers)), Cell::Text(String::new()))
        }
    }
}

const PROCEDURES: [&str; 5] = ["neword", "payment", "delivery", "ostat", "slev"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_think_for_the_mean_on_average_and_never_ten_times_as_long() {
        let mut terminal = Terminal::new(0, Scale::full(1), 1);
        let mean = Duration::from_millis(40);
        let times: Vec<Duration> = (0..10_000).map(|_| terminal.think_time(mean)).collect();
        let average = times.iter().sum::<Duration>() / 10_000;
        assert!(average > mean.mul_f64(0.95) && average < mean.mul_f64(1.05), "{average:?}");
        assert!(times.iter().all(|time| *time <= mean * 10));
        assert_eq!(terminal.think_time(Duration::ZERO), Duration::ZERO);
    }
}
