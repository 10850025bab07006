//! The initial population (section 4.3.3), seeded by table and warehouse so that loaders can work side by side.

use super::{DISTRICTS, Scale, last_name, nurand, schema};
use crate::{CallError, Cell, Connection};
use fastrand::Rng;

/// Rows of one table, for one warehouse where the table has warehouses, with the names of its columns.
pub struct Part {
    /// Table.
    pub table: &'static str,
    /// Warehouse, or 0 for `item`.
    pub warehouse: i64,
}

/// Creates tables, then procedures. Loading comes next ([`load`]), then [`finish`].
///
/// # Errors
/// What the server says.
pub fn create(connection: &mut dyn Connection) -> Result<(), CallError> {
    let dialect = connection.dialect();
    schema::tables(dialect).iter().try_for_each(|sql| connection.execute(sql))
}

/// Makes secondary indexes and procedures once the rows are in.
///
/// # Errors
/// What the server says.
pub fn finish(connection: &mut dyn Connection, scale: Scale) -> Result<(), CallError> {
    let dialect = connection.dialect();
    schema::indexes()
        .iter()
        .chain(&schema::procedures(dialect, scale))
        .try_for_each(|sql| connection.execute(sql))
}

/// All the parts of a population, largest first, for loaders to take one by one.
#[must_use]
pub fn parts(scale: Scale) -> Vec<Part> {
    let mut out = vec![Part { table: "item", warehouse: 0 }];
    for table in
        ["stock", "order_line", "customer", "orders", "history", "new_order", "district", "warehouse"]
    {
        out.extend((1..=scale.warehouses).map(|warehouse| Part { table, warehouse }));
    }
    out
}

/// Loads one part. Returns its number of rows.
///
/// # Errors
/// What the server says.
pub fn load(connection: &mut dyn Connection, part: &Part, scale: Scale, seed: u64) -> Result<u64, CallError> {
    let table_number = schema::TABLE_NAMES.iter().position(|t| *t == part.table).unwrap_or_default() as u64;
    let mut rng = Rng::with_seed(seed ^ (table_number << 32) ^ part.warehouse as u64);
    let w = part.warehouse;
    let mut rows: Box<dyn Iterator<Item = Vec<Cell>>> = match part.table {
        "item" => Box::new((1..=scale.items).map(move |i| item(&mut rng, i))),
        "warehouse" => Box::new(std::iter::once(warehouse(&mut rng, w, scale))),
        "stock" => Box::new((1..=scale.items).map(move |i| stock(&mut rng, w, i))),
        "district" => Box::new((1..=DISTRICTS).map(move |d| district(&mut rng, w, d, scale))),
        "customer" => Box::new(per_district(scale.customers).map(move |(d, c)| customer(&mut rng, w, d, c))),
        "history" => Box::new(per_district(scale.customers).map(move |(d, c)| history(&mut rng, w, d, c))),
        "orders" => Box::new(orders(w, scale, seed).map(|o| o.order)),
        "new_order" => {
            let first_open = scale.customers * 7 / 10 + 1;
            Box::new(
                per_district(scale.customers)
                    .filter(move |(_, o)| *o >= first_open)
                    .map(move |(d, o)| vec![Cell::Int(o), Cell::Int(d), Cell::Int(w)]),
            )
        }
        _ => Box::new(orders(w, scale, seed).flat_map(move |o| order_lines(&mut rng, w, scale, &o))),
    };
    connection.bulk(part.table, columns(part.table), &mut *rows)
}

fn columns(table: &str) -> &'static [&'static str] {
    match table {
        "item" => &["i_id", "i_im_id", "i_name", "i_price", "i_data"],
        "warehouse" => {
            &["w_id", "w_ytd", "w_tax", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"]
        }
        "stock" => &[
            "s_i_id",
            "s_w_id",
            "s_quantity",
            "s_dist_01",
            "s_dist_02",
            "s_dist_03",
            "s_dist_04",
            "s_dist_05",
            "s_dist_06",
            "s_dist_07",
            "s_dist_08",
            "s_dist_09",
            "s_dist_10",
            "s_ytd",
            "s_order_cnt",
            "s_remote_cnt",
            "s_data",
        ],
        "district" => &[
            "d_id",
            "d_w_id",
            "d_ytd",
            "d_tax",
            "d_next_o_id",
            "d_name",
            "d_street_1",
            "d_street_2",
            "d_city",
            "d_state",
            "d_zip",
        ],
        "customer" => &[
            "c_id",
            "c_d_id",
            "c_w_id",
            "c_first",
            "c_middle",
            "c_last",
            "c_street_1",
            "c_street_2",
            "c_city",
            "c_state",
            "c_zip",
            "c_phone",
            "c_since",
            "c_credit",
            "c_credit_lim",
            "c_discount",
            "c_balance",
            "c_ytd_payment",
            "c_payment_cnt",
            "c_delivery_cnt",
            "c_data",
        ],
        "history" => &["h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data"],
        "orders" => {
            &["o_id", "o_d_id", "o_w_id", "o_c_id", "o_entry_d", "o_carrier_id", "o_ol_cnt", "o_all_local"]
        }
        "new_order" => &["no_o_id", "no_d_id", "no_w_id"],
        _ => &[
            "ol_o_id",
            "ol_d_id",
            "ol_w_id",
            "ol_number",
            "ol_i_id",
            "ol_supply_w_id",
            "ol_delivery_d",
            "ol_quantity",
            "ol_amount",
            "ol_dist_info",
        ],
    }
}

/// The population is dated by a constant, so that the same seed gives the same rows on any day.
const LOADED_AT: i64 = 1_700_000_000;

fn per_district(n: i64) -> impl Iterator<Item = (i64, i64)> {
    (1..=DISTRICTS).flat_map(move |d| (1..=n).map(move |i| (d, i)))
}

/// Letters and digits; a random byte chooses one.
const LETTER_OF: [u8; 256] = {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = LETTERS[(byte * LETTERS.len()) >> 8];
        byte += 1;
    }
    table
};

/// Letters and digits, eight from each random number: the servers' speed is measured, not the driver's.
fn text(rng: &mut Rng, low: usize, high: usize) -> String {
    let n = rng.usize(low..=high);
    let mut out = vec![0; n.next_multiple_of(8)];
    for eight in out.chunks_exact_mut(8) {
        for (letter, byte) in eight.iter_mut().zip(rng.u64(..).to_le_bytes()) {
            *letter = LETTER_OF[usize::from(byte)];
        }
    }
    out.truncate(n);
    String::from_utf8(out).expect("letters and digits are ASCII")
}

fn word(rng: &mut Rng, low: usize, high: usize) -> Cell {
    Cell::Text(text(rng, low, high))
}

fn digits(rng: &mut Rng, n: usize) -> String {
    (0..n).map(|_| rng.digit(10)).collect()
}

fn address(rng: &mut Rng) -> [Cell; 5] {
    [
        word(rng, 10, 20),
        word(rng, 10, 20),
        word(rng, 10, 20),
        Cell::Text((0..2).map(|_| rng.uppercase()).collect()),
        Cell::Text(digits(rng, 4) + "11111"),
    ]
}

/// Item and stock data: one in ten holds the word ORIGINAL somewhere.
fn data(rng: &mut Rng) -> Cell {
    let mut s = text(rng, 26, 50);
    if rng.u8(0..10) == 0 {
        let at = rng.usize(0..=s.len() - 8);
        s.replace_range(at..at + 8, "ORIGINAL");
    }
    Cell::Text(s)
}

fn item(rng: &mut Rng, i: i64) -> Vec<Cell> {
    vec![
        Cell::Int(i),
        Cell::Int(rng.i64(1..=10_000)),
        word(rng, 14, 24),
        Cell::Decimal(rng.i64(100..=10_000), 2),
        data(rng),
    ]
}

/// `w_ytd` at the start, in hundredths: 10.00 for each customer.
#[must_use]
pub fn initial_warehouse_ytd(customers: i64) -> i64 {
    DISTRICTS * 1_000 * customers
}

fn warehouse(rng: &mut Rng, w: i64, scale: Scale) -> Vec<Cell> {
    let mut row = vec![
        Cell::Int(w),
        Cell::Decimal(initial_warehouse_ytd(scale.customers), 2),
        Cell::Decimal(rng.i64(0..=2_000), 4),
        word(rng, 6, 10),
    ];
    row.extend(address(rng));
    row
}

fn stock(rng: &mut Rng, w: i64, i: i64) -> Vec<Cell> {
    let mut row = vec![Cell::Int(i), Cell::Int(w), Cell::Int(rng.i64(10..=100))];
    row.extend((0..10).map(|_| word(rng, 24, 24)));
    row.extend([Cell::Int(0), Cell::Int(0), Cell::Int(0), data(rng)]);
    row
}

fn district(rng: &mut Rng, w: i64, d: i64, scale: Scale) -> Vec<Cell> {
    let mut row = vec![
        Cell::Int(d),
        Cell::Int(w),
        Cell::Decimal(1_000 * scale.customers, 2),
        Cell::Decimal(rng.i64(0..=2_000), 4),
        Cell::Int(scale.customers + 1),
        word(rng, 6, 10),
    ];
    row.extend(address(rng));
    row
}

fn customer(rng: &mut Rng, w: i64, d: i64, c: i64) -> Vec<Cell> {
    let last = if c <= 1000 { last_name(c - 1) } else { last_name(nurand(rng, 255, 0, 999)) };
    let mut row = vec![
        Cell::Int(c),
        Cell::Int(d),
        Cell::Int(w),
        word(rng, 8, 16),
        Cell::Text("OE".into()),
        Cell::Text(last),
    ];
    row.extend(address(rng));
    row.extend([
        Cell::Text(digits(rng, 16)),
        Cell::Timestamp(LOADED_AT),
        Cell::Text(if rng.u8(0..10) == 0 { "BC" } else { "GC" }.into()),
        Cell::Decimal(5_000_000, 2),
        Cell::Decimal(rng.i64(0..=5_000), 4),
        Cell::Decimal(-1_000, 2),
        Cell::Decimal(1_000, 2),
        Cell::Int(1),
        Cell::Int(0),
        word(rng, 300, 500),
    ]);
    row
}

fn history(rng: &mut Rng, w: i64, d: i64, c: i64) -> Vec<Cell> {
    vec![
        Cell::Int(c),
        Cell::Int(d),
        Cell::Int(w),
        Cell::Int(d),
        Cell::Int(w),
        Cell::Timestamp(LOADED_AT),
        Cell::Decimal(1_000, 2),
        word(rng, 12, 24),
    ]
}

struct LoadedOrder {
    order: Vec<Cell>,
    district: i64,
    id: i64,
    lines: i64,
    delivered: bool,
}

/// Orders come from a generator of their own, so that `orders` and `order_line` agree when loaded separately.
fn orders(w: i64, scale: Scale, seed: u64) -> impl Iterator<Item = LoadedOrder> {
    let mut rng = Rng::with_seed(seed ^ 0x0bde_0000_0000 ^ w as u64);
    let mut customers: Vec<i64> = Vec::new();
    per_district(scale.customers).map(move |(d, o)| {
        if o == 1 {
            customers = (1..=scale.customers).collect();
            rng.shuffle(&mut customers);
        }
        let lines = rng.i64(5..=15);
        let delivered = o <= scale.customers * 7 / 10;
        let carrier = if delivered { Cell::Int(rng.i64(1..=10)) } else { Cell::Null };
        let order = vec![
            Cell::Int(o),
            Cell::Int(d),
            Cell::Int(w),
            Cell::Int(customers[o as usize - 1]),
            Cell::Timestamp(LOADED_AT),
            carrier,
            Cell::Int(lines),
            Cell::Int(1),
        ];
        LoadedOrder { order, district: d, id: o, lines, delivered }
    })
}

fn order_lines(rng: &mut Rng, w: i64, scale: Scale, order: &LoadedOrder) -> Vec<Vec<Cell>> {
    (1..=order.lines)
        .map(|n| {
            let amount = if order.delivered { 0 } else { rng.i64(1..=999_999) };
            vec![
                Cell::Int(order.id),
                Cell::Int(order.district),
                Cell::Int(w),
                Cell::Int(n),
                Cell::Int(rng.i64(1..=scale.items)),
                Cell::Int(w),
                if order.delivered { Cell::Timestamp(LOADED_AT) } else { Cell::Null },
                Cell::Int(5),
                Cell::Decimal(amount, 2),
                word(rng, 24, 24),
            ]
        })
        .collect()
}
