//! Rows by the rules of section 4.2.3. Each depends on the seed, its table and its key alone.

use super::Scale;
use super::words::{
    COLORS, CONTAINERS_1, CONTAINERS_2, INSTRUCTIONS, MODES, NATIONS, PRIORITIES, REGIONS, SEGMENTS, TYPES_1,
    TYPES_2, TYPES_3, one, scribble, sentence,
};
use crate::Cell;
use fastrand::Rng;
use time::macros::date;

/// A day as [`Cell::Date`] has it: days since 1970-01-01.
#[must_use]
pub const fn day(of: time::Date) -> i32 {
    of.to_julian_day() - date!(1970 - 01 - 01).to_julian_day()
}

/// The day that a [`Cell::Date`] is.
#[must_use]
pub fn date_of(day: i32) -> time::Date {
    let epoch = date!(1970 - 01 - 01);
    epoch.checked_add(time::Duration::days(day.into())).unwrap_or(epoch)
}

/// The first day on which there are orders.
pub const FIRST_DAY: i32 = day(date!(1992 - 01 - 01));
/// The day that the database is as of: what was received by then was accepted or returned, what was shipped by then is final.
pub const CURRENT_DAY: i32 = day(date!(1995 - 06 - 17));
/// The last day of all; an order is at most [`DAYS_BEFORE_END`] before it, so that everything of it has arrived by then.
pub const LAST_DAY: i32 = day(date!(1998 - 12 - 31));
/// See [`LAST_DAY`].
pub const DAYS_BEFORE_END: i32 = 151;

/// Tables, for seeds.
#[derive(Clone, Copy)]
enum Of {
    Supplier = 1,
    Part,
    PartSupp,
    Customer,
    Order,
}

/// A generator for one row.
fn row_rng(seed: u64, of: Of, key: i64) -> Rng {
    // Neighbouring keys must not give neighbouring streams.
    let mixed = (key as u64 ^ (of as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Rng::with_seed(seed ^ mixed ^ (mixed >> 29))
}

fn text(of: impl Into<String>) -> Cell {
    Cell::Text(of.into())
}

/// Of an account, in hundredths.
fn balance(rng: &mut Rng) -> Cell {
    Cell::Decimal(rng.i64(-99_999..=999_999), 2)
}

/// Its first two digits are the nation's (section 4.2.2.9).
fn phone(rng: &mut Rng, nation: usize) -> Cell {
    let (area, exchange, number) = (rng.u32(100..1000), rng.u32(100..1000), rng.u32(1000..10_000));
    text(format!("{}-{area}-{exchange}-{number}", nation + 10))
}

/// All of `region`.
#[must_use]
pub fn regions() -> Vec<Vec<Cell>> {
    let row =
        |(key, name): (usize, &&str)| vec![Cell::Int(key as i64), text(*name), text("one of five regions")];
    REGIONS.iter().enumerate().map(row).collect()
}

/// All of `nation`.
#[must_use]
pub fn nations() -> Vec<Vec<Cell>> {
    let row = |(key, (name, region)): (usize, &(&str, usize))| {
        vec![Cell::Int(key as i64), text(*name), Cell::Int(*region as i64), text("one of 25 nations")]
    };
    NATIONS.iter().enumerate().map(row).collect()
}

/// In each lot of so many suppliers one has complaints of customers, and another is recommended.
const SUPPLIERS_OF_A_KIND: i64 = 2_000;

/// What customers say about a supplier, if something.
fn said_by_customers(scale: Scale, seed: u64, key: i64) -> Option<&'static str> {
    let lot = (key - 1) / SUPPLIERS_OF_A_KIND;
    let first = lot * SUPPLIERS_OF_A_KIND + 1;
    let size = SUPPLIERS_OF_A_KIND.min(scale.suppliers() - first + 1);
    let mut rng = row_rng(seed, Of::Supplier, -1 - lot);
    let (bad, good) = (rng.i64(0..size), rng.i64(0..size));
    match key - first {
        at if at == bad => Some("Complaints"),
        at if at == good => Some("Recommends"),
        _ => None,
    }
}

/// One of `supplier`, by key from 1.
#[must_use]
pub fn supplier(scale: Scale, seed: u64, key: i64) -> Vec<Cell> {
    let rng = &mut row_rng(seed, Of::Supplier, key);
    let nation = rng.usize(0..NATIONS.len());
    let address = scribble(rng, 10, 40);
    let (phone, balance) = (phone(rng, nation), balance(rng));
    let mut comment = sentence(rng, 25, 100).to_owned();
    if let Some(word) = said_by_customers(scale, seed, key) {
        let between = rng.usize(1..=comment.len() - "CustomerComplaints".len());
        let said = format!("Customer{}{word}", &comment[..between]);
        comment.replace_range(..said.len(), &said);
    }
    let name = format!("Supplier#{key:09}");
    vec![Cell::Int(key), text(name), text(address), Cell::Int(nation as i64), phone, balance, text(comment)]
}

/// Price of one piece of a part, in hundredths.
#[must_use]
pub fn retail_price(part: i64) -> i64 {
    90_000 + part / 10 % 20_001 + 100 * (part % 1_000)
}

/// One of `part`, by key from 1.
#[must_use]
pub fn part(seed: u64, key: i64) -> Vec<Cell> {
    let rng = &mut row_rng(seed, Of::Part, key);
    let mut words = rng.choose_multiple(COLORS.iter().copied(), 5);
    rng.shuffle(&mut words);
    let maker = rng.u8(1..=5);
    let brand = format!("Brand#{maker}{}", rng.u8(1..=5));
    let kind = format!("{} {} {}", one(rng, &TYPES_1), one(rng, &TYPES_2), one(rng, &TYPES_3));
    let size = rng.i64(1..=50);
    let container = format!("{} {}", one(rng, &CONTAINERS_1), one(rng, &CONTAINERS_2));
    vec![
        Cell::Int(key),
        text(words.join(" ")),
        text(format!("Manufacturer#{maker}")),
        text(brand),
        text(kind),
        Cell::Int(size),
        text(container),
        Cell::Decimal(retail_price(key), 2),
        text(sentence(rng, 5, 22)),
    ]
}

/// The supplier of a part that has it as its `nth` of four, from 0: spread over all suppliers, and never the same twice.
#[must_use]
pub fn supplier_of(scale: Scale, part: i64, nth: i64) -> i64 {
    let suppliers = scale.suppliers();
    // The specification's step; where there are too few suppliers for it (below a factor of 0.024), within what keeps four apart.
    let step = suppliers / 4 + (part - 1) / suppliers % (suppliers / 12).max(1);
    (part + nth * step) % suppliers + 1
}

/// The four of `partsupp` that a part has.
#[must_use]
pub fn part_suppliers(scale: Scale, seed: u64, part: i64) -> Vec<Vec<Cell>> {
    let rng = &mut row_rng(seed, Of::PartSupp, part);
    let row = |nth| {
        vec![
            Cell::Int(part),
            Cell::Int(supplier_of(scale, part, nth)),
            Cell::Int(rng.i64(1..=9_999)),
            Cell::Decimal(rng.i64(100..=100_000), 2),
            text(sentence(rng, 49, 198)),
        ]
    };
    (0..4).map(row).collect()
}

/// One of `customer`, by key from 1.
#[must_use]
pub fn customer(seed: u64, key: i64) -> Vec<Cell> {
    let rng = &mut row_rng(seed, Of::Customer, key);
    let nation = rng.usize(0..NATIONS.len());
    vec![
        Cell::Int(key),
        text(format!("Customer#{key:09}")),
        text(scribble(rng, 10, 40)),
        Cell::Int(nation as i64),
        phone(rng, nation),
        balance(rng),
        text(one(rng, &SEGMENTS)),
        text(sentence(rng, 29, 116)),
    ]
}

/// Key of the order with a number from 1: the first eight of each 32 keys are those that are loaded (`lot` 0), the next eight
/// those that refreshes insert (`lot` 1), the others stay free (section 4.2.3).
#[must_use]
pub fn order_key(number: i64, lot: i64) -> i64 {
    let (eights, rest) = ((number - 1) / 8, (number - 1) % 8);
    eights * 32 + lot * 8 + rest + 1
}

/// An order with its lines.
pub struct Order {
    /// Of `orders`.
    pub row: Vec<Cell>,
    /// Of `lineitem`.
    pub lines: Vec<Vec<Cell>>,
    /// Total price, in hundredths.
    pub total: i64,
    /// Extended prices of its lines together, in hundredths.
    pub extended: i64,
}

/// The order with a number from 1, of a lot: see [`order_key`].
#[must_use]
pub fn order(scale: Scale, seed: u64, number: i64, lot: i64) -> Order {
    let key = order_key(number, lot);
    let rng = &mut row_rng(seed, Of::Order, key);
    let day = rng.i32(FIRST_DAY..=LAST_DAY - DAYS_BEFORE_END);
    // A third of the customers have no orders.
    let customer = loop {
        let customer = rng.i64(1..=scale.customers());
        if customer % 3 != 0 || scale.customers() < 3 {
            break customer;
        }
    };
    let (mut total, mut extended, mut open) = (0, 0, 0);
    let lines: Vec<Vec<Cell>> = (1..=rng.i64(1..=7))
        .map(|number| {
            let line = line(scale, rng, key, number, day);
            total += line.total;
            extended += line.extended;
            open += usize::from(line.open);
            line.row
        })
        .collect();
    let status = match open {
        0 => "F",
        n if n == lines.len() => "O",
        _ => "P",
    };
    let row = vec![
        Cell::Int(key),
        Cell::Int(customer),
        text(status),
        Cell::Decimal(total, 2),
        Cell::Date(day),
        text(one(rng, &PRIORITIES)),
        text(format!("Clerk#{:09}", rng.i64(1..=scale.clerks()))),
        Cell::Int(0),
        text(sentence(rng, 19, 78)),
    ];
    Order { row, lines, total, extended }
}

struct Line {
    row: Vec<Cell>,
    total: i64,
    extended: i64,
    open: bool,
}

fn line(scale: Scale, rng: &mut Rng, order: i64, number: i64, ordered: i32) -> Line {
    let part = rng.i64(1..=scale.parts());
    let supplier = supplier_of(scale, part, rng.i64(0..4));
    let quantity = rng.i64(1..=50);
    let extended = quantity * retail_price(part);
    let (discount, tax) = (rng.i64(0..=10), rng.i64(0..=8));
    let shipped = ordered + rng.i32(1..=121);
    let committed = ordered + rng.i32(30..=90);
    let received = shipped + rng.i32(1..=30);
    let returned = match received <= CURRENT_DAY {
        true => one(rng, &["R", "A"]),
        false => "N",
    };
    let open = shipped > CURRENT_DAY;
    let row = vec![
        Cell::Int(order),
        Cell::Int(part),
        Cell::Int(supplier),
        Cell::Int(number),
        Cell::Decimal(quantity * 100, 2),
        Cell::Decimal(extended, 2),
        Cell::Decimal(discount, 2),
        Cell::Decimal(tax, 2),
        text(returned),
        text(if open { "O" } else { "F" }),
        Cell::Date(shipped),
        Cell::Date(committed),
        Cell::Date(received),
        text(one(rng, &INSTRUCTIONS)),
        text(one(rng, &MODES)),
        text(sentence(rng, 10, 43)),
    ];
    // Cut to hundredths after each step, so that the server's sum can be the same to the last digit.
    let total = extended * (100 - discount) / 100 * (100 + tax) / 100;
    Line { row, total, extended, open }
}

#[cfg(test)]
mod tests;
