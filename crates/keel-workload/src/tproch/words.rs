//! The lists of words that columns are drawn from (section 4.2.2.13), and sentences for comments.

use fastrand::Rng;
use std::sync::OnceLock;

/// `region`, by key.
pub const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// `nation`, by key, each with its region.
pub const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];

/// First word of a part's type: size and market.
pub const TYPES_1: [&str; 6] = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"];
/// Second word: how it was finished.
pub const TYPES_2: [&str; 5] = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"];
/// Third word: of what.
pub const TYPES_3: [&str; 5] = ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"];
/// First word of a container.
pub const CONTAINERS_1: [&str; 5] = ["SM", "LG", "MED", "JUMBO", "WRAP"];
/// Second word of a container.
pub const CONTAINERS_2: [&str; 8] = ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"];
/// Market segments of customers.
pub const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"];
/// Priorities of orders.
pub const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
/// What is to be done on delivery.
pub const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
/// Ways of shipping.
pub const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

/// Words of parts' names.
#[rustfmt::skip]
pub const COLORS: [&str; 92] = [
    "almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched", "blue", "blush", "brown", "burlywood",
    "burnished", "chartreuse", "chiffon", "chocolate", "coral", "cornflower", "cornsilk", "cream", "cyan", "dark", "deep", "dim",
    "dodger", "drab", "firebrick", "floral", "forest", "frosted", "gainsboro", "ghost", "goldenrod", "green", "grey", "honeydew",
    "hot", "indian", "ivory", "khaki", "lace", "lavender", "lawn", "lemon", "light", "lime", "linen", "magenta", "maroon",
    "medium", "metallic", "midnight", "mint", "misty", "moccasin", "navajo", "navy", "olive", "orange", "orchid", "pale",
    "papaya", "peach", "peru", "pink", "plum", "powder", "puff", "purple", "red", "rose", "rosy", "royal", "saddle", "salmon",
    "sandy", "seashell", "sienna", "sky", "slate", "smoke", "snow", "spring", "steel", "tan", "thistle", "tomato", "turquoise",
    "violet", "wheat", "white", "yellow",
];

/// First words that query 13 looks for in comments of orders, and then others. An order's comment holds a given one of the first
/// four and, behind it, a given one of [`THINGS`]' first four in about one of a hundred cases.
pub const KINDS: [&str; 15] = [
    "special", "pending", "unusual", "express", "regular", "quiet", "final", "bold", "careful", "even",
    "quick", "silent", "slow", "early", "late",
];
/// Second words that query 13 looks for, and then others.
pub const THINGS: [&str; 20] = [
    "packages",
    "requests",
    "accounts",
    "deposits",
    "ships",
    "harbours",
    "cargoes",
    "ledgers",
    "invoices",
    "sails",
    "anchors",
    "carriers",
    "clerks",
    "parcels",
    "pilots",
    "orders",
    "crews",
    "tides",
    "warehouses",
    "lanterns",
];
const DEEDS: [&str; 10] = [
    "wait for",
    "follow",
    "overtake",
    "look after",
    "stand behind",
    "agree with",
    "wake",
    "lift",
    "count",
    "pass",
];

/// Bytes of sentences that comments are cut from.
const POOL_BYTES: usize = 1 << 20;

/// Sentences, always the same.
fn pool() -> &'static str {
    static POOL: OnceLock<String> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut rng = Rng::with_seed(0x7e_a7);
        let mut pool = String::with_capacity(POOL_BYTES + 80);
        while pool.len() < POOL_BYTES {
            let words: [&str; 5] = [
                one(&mut rng, &KINDS),
                one(&mut rng, &THINGS),
                one(&mut rng, &DEEDS),
                one(&mut rng, &KINDS),
                one(&mut rng, &THINGS),
            ];
            pool.push_str(&words.join(" "));
            pool.push_str(". ");
        }
        pool
    })
}

/// One of a list, each as likely.
pub fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(0..of.len())]
}

/// A comment of a length between the two.
pub fn sentence(rng: &mut Rng, low: usize, high: usize) -> &'static str {
    let (pool, length) = (pool(), rng.usize(low..=high));
    let at = rng.usize(0..pool.len() - length);
    // The pool is ASCII, so any cut is between letters.
    &pool[at..at + length]
}

/// Letters, digits and a few signs, of a length between the two (section 4.2.2.7).
pub fn scribble(rng: &mut Rng, low: usize, high: usize) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789, ";
    let length = rng.usize(low..=high);
    let mut out = String::with_capacity(length + 10);
    while out.len() < length {
        // Ten signs of six bits from each random number.
        let mut bits = rng.u64(..);
        for _ in 0..10 {
            out.push(char::from(SIGNS[(bits & 63) as usize]));
            bits >>= 6;
        }
    }
    out.truncate(length);
    out
}
