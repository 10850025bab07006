//! Collations by their names: which there are, and what a name says.
//!
//! A [`Collation`] is a number into the table of all names, with what comparison asks at every string beside it. The
//! numbers hold within a process only: catalogs keep names (see [`Collation`]'s `Serialize`).
//!
//! ```text
//!   Japanese_XJIS_140 _ CI _ AS _ KS _ WS _ VSS _ UTF8        SQL_Latin1_General _ CP1 _ CI _ AS
//!   family, version     case accent kana width             sort order    code page
//! ```

use super::families::{FAMILIES, Family, SQL_NAMES};
use super::library;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// How strings compare.
///
/// In catalogs it stands as its name; one whose keys come from the library's tables has their version behind a stroke
/// (`Japanese_CI_AS/49`), and a catalog that has another version there is not read: its indexes are in another order.
/// The four that were there first keep the words they had.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation {
    id: u16,
    pub(super) order: Order,
    flags: u8,
}

/// Who says what comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Order {
    /// The weights of this crate.
    Own,
    /// Code points.
    CodePoint,
    /// The library's rules for a locale.
    Library,
}

const CASE: u8 = 1;
const ACCENT: u8 = 2;
const KANA: u8 = 4;
const WIDTH: u8 = 8;
/// Supplementary characters count as one.
const SUPPLEMENTARY: u8 = 16;
const VARIATION: u8 = 32;
const UTF8: u8 = 64;
/// `_BIN`, not `_BIN2`.
const OLD_BINARY: u8 = 128;

/// What there is to know of a name.
struct Entry {
    name: &'static str,
    lcid: u32,
    page: u16,
    version: u8,
    sort_id: u8,
    locale: &'static str,
    listed: bool,
    collation: Collation,
}

/// Names of the first four, and the words that stand for them in catalogs.
const FIRST: [(&str, &str); 4] = [
    ("SQL_Latin1_General_CP1_CI_AS", "Latin1CiAs"),
    ("Latin1_General_BIN2", "Bin2"),
    ("SQL_Latin1_General_CP1_CS_AS", "Latin1CsAs"),
    ("Latin1_General_CI_AI", "Latin1CiAi"),
];

static ALL: LazyLock<Vec<Entry>> = LazyLock::new(all);
static BY_NAME: LazyLock<HashMap<String, u16>> =
    LazyLock::new(|| (0u16..).zip(ALL.iter()).map(|(i, e)| (e.name.to_ascii_lowercase(), i)).collect());

/// Code pages by the sort orders of the `SQL_` names: asked at every value that is sent.
static PAGES_OF_SORTS: LazyLock<[u16; 256]> = LazyLock::new(|| {
    let mut pages = [super::pages::LATIN1; 256];
    ALL.iter().filter(|e| e.sort_id != 0).for_each(|e| pages[usize::from(e.sort_id)] = e.page);
    pages
});

fn all() -> Vec<Entry> {
    let mut entries = Vec::with_capacity(5800);
    for f in FAMILIES {
        of_family(f, &mut entries);
    }
    for n in SQL_NAMES {
        let (head, tail) = n.name.split_at(n.name.find("_CP").expect("every one names its code page"));
        let page = tail[3..].split('_').next().and_then(|p| p.parse().ok()).expect("a number follows CP");
        // Ours is the order of the names that SQL Server installs by default.
        let own = page == 1 && head.starts_with("SQL_Latin1_General");
        let mut flags = if n.name.ends_with("_AI") { 0 } else { ACCENT };
        if tail.contains("_CS") {
            flags |= CASE;
        }
        let order = match tail {
            t if t.ends_with("_BIN2") => Order::CodePoint,
            t if t.ends_with("_BIN") => Order::CodePoint,
            _ if own => Order::Own,
            _ => Order::Library,
        };
        if order == Order::CodePoint {
            flags = if tail.ends_with("_BIN") { OLD_BINARY } else { 0 };
        }
        entries.push(Entry {
            name: n.name,
            lcid: n.lcid,
            page: if page == 1 { 1252 } else { page },
            version: 0,
            sort_id: n.sort_id,
            locale: n.locale,
            listed: n.listed,
            collation: Collation { id: 0, order, flags },
        });
    }
    for (at, (name, _)) in FIRST.iter().enumerate() {
        let found = entries.iter().position(|e| e.name == *name).expect("the first four are names");
        entries.swap(at, found);
    }
    for (id, e) in (0u16..).zip(&mut entries) {
        e.collation.id = id;
    }
    entries
}

/// Every name that begins with a family.
fn of_family(f: &Family, entries: &mut Vec<Entry>) {
    let mut push = |tail: String, order: Order, flags: u8| {
        let name: &'static str = Box::leak(format!("{}_{tail}", f.name).into_boxed_str());
        entries.push(Entry {
            name,
            lcid: f.lcid,
            page: if flags & UTF8 != 0 { 65001 } else { f.page },
            version: f.version,
            sort_id: 0,
            locale: f.locale,
            listed: f.listed,
            collation: Collation { id: 0, order, flags },
        });
    };
    push("BIN".into(), Order::CodePoint, OLD_BINARY);
    push("BIN2".into(), Order::CodePoint, 0);
    // From 140 on all have supplementary characters, and say whether variation selectors count.
    let kinds: &[(&str, u8)] = match f.version {
        0 => &[("", 0)],
        3 => &[
            ("", SUPPLEMENTARY),
            ("_VSS", SUPPLEMENTARY | VARIATION),
            ("_UTF8", SUPPLEMENTARY | UTF8),
            ("_VSS_UTF8", SUPPLEMENTARY | VARIATION | UTF8),
        ],
        _ => &[("", 0), ("_SC", SUPPLEMENTARY), ("_SC_UTF8", SUPPLEMENTARY | UTF8)],
    };
    for (kind, more) in kinds {
        for styles in 0..16u8 {
            let word = |bit: u8, with: &'static str, without: &'static str| {
                if styles & bit != 0 { with } else { without }
            };
            let tail = format!(
                "{}{}{}{}{kind}",
                word(CASE, "CS_", "CI_"),
                word(ACCENT, "AS", "AI"),
                word(KANA, "_KS", ""),
                word(WIDTH, "_WS", "")
            );
            // Keys of this one are in databases since before the library was there.
            let own = f.name == "Latin1_General" && tail == "CI_AI";
            push(tail, if own { Order::Own } else { Order::Library }, styles | more);
        }
    }
    if f.name == "Latin1_General_100" {
        push("BIN2_UTF8".into(), Order::CodePoint, UTF8);
    }
}

impl Collation {
    /// `SQL_Latin1_General_CP1_CI_AS`: case-insensitive, accent-sensitive; the default.
    pub const LATIN1_CI_AS: Collation = Collation { id: 0, order: Order::Own, flags: ACCENT };
    /// `Latin1_General_BIN2`: by code point.
    pub const BIN2: Collation = Collation { id: 1, order: Order::CodePoint, flags: 0 };
    /// `SQL_Latin1_General_CP1_CS_AS`: case- and accent-sensitive.
    pub const LATIN1_CS_AS: Collation = Collation { id: 2, order: Order::Own, flags: CASE | ACCENT };
    /// `Latin1_General_CI_AI`: neither.
    pub const LATIN1_CI_AI: Collation = Collation { id: 3, order: Order::Own, flags: 0 };

    /// Finds a collation by name, in any case; `None` for what is not one.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Collation> {
        BY_NAME.get(&name.to_ascii_lowercase()).map(|id| ALL[usize::from(*id)].collation)
    }

    /// All that `sys.fn_helpcollations` shows, by name.
    #[must_use]
    pub fn listed() -> Vec<Collation> {
        let mut all: Vec<&Entry> = ALL.iter().filter(|e| e.listed).collect();
        all.sort_by_key(|e| e.name);
        all.into_iter().map(|e| e.collation).collect()
    }

    /// The code page in which a client that describes its text so sends it.
    #[must_use]
    pub fn page_of_wire(info: u32, sort_id: u8) -> u16 {
        let lcid = info & 0xF_FFFF;
        if info & 1 << 26 != 0 {
            return super::pages::UTF8;
        }
        if sort_id != 0 {
            return PAGES_OF_SORTS[usize::from(sort_id)];
        }
        let families = || FAMILIES.iter().filter(|f| f.page != 0);
        let exact = families().find(|f| f.lcid == lcid);
        let near = || families().find(|f| f.lcid & 0x3FF == lcid & 0x3FF);
        exact.or_else(near).map_or(super::pages::LATIN1, |f| f.page)
    }

    fn entry(self) -> &'static Entry {
        &ALL[usize::from(self.id)]
    }

    /// The name shown in metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match FIRST.get(usize::from(self.id)) {
            Some((name, _)) => name,
            None => self.entry().name,
        }
    }

    /// The code page of `char` and `varchar`; 0 when only national types can have the collation.
    #[must_use]
    pub fn code_page(self) -> u16 {
        if self.id == 0 { 1252 } else { self.entry().page }
    }

    /// The Windows locale.
    #[must_use]
    pub fn lcid(self) -> u32 {
        self.entry().lcid
    }

    /// 0 to 4 for 80, 90, 100, 140 and 160.
    #[must_use]
    pub fn version(self) -> u8 {
        self.entry().version
    }

    /// The number of the sort order of a `SQL_` name; 0 for the others.
    #[must_use]
    pub fn sort_id(self) -> u8 {
        self.entry().sort_id
    }

    pub(super) fn locale(self) -> &'static str {
        self.entry().locale
    }

    pub(super) const fn number(self) -> usize {
        self.id as usize
    }

    /// How many numbers there are.
    pub(super) fn count() -> usize {
        ALL.len()
    }

    /// Whether code points decide.
    #[must_use]
    pub const fn is_binary(self) -> bool {
        matches!(self.order, Order::CodePoint)
    }

    /// Whether upper and lower case are the same letter.
    #[must_use]
    pub const fn ignores_case(self) -> bool {
        !self.is_binary() && self.flags & CASE == 0
    }

    /// Whether ASCII text is compared by this crate's primary weights alone.
    #[inline]
    pub(super) const fn folds_ascii(self) -> bool {
        matches!(self.order, Order::Own) && self.flags & CASE == 0
    }

    pub(super) const fn has_accents(self) -> bool {
        self.flags & ACCENT != 0
    }

    pub(super) const fn has_case(self) -> bool {
        self.flags & CASE != 0
    }

    pub(super) const fn has_kana(self) -> bool {
        self.flags & KANA != 0
    }

    pub(super) const fn has_width(self) -> bool {
        self.flags & WIDTH != 0
    }

    pub(super) const fn has_variations(self) -> bool {
        self.flags & VARIATION != 0
    }

    /// Whether anything counts that the library does not tell apart by itself.
    pub(super) const fn has_kinds(self) -> bool {
        self.flags & (KANA | WIDTH | VARIATION) != 0
    }

    /// `COLLATIONPROPERTY`'s comparison style: what does not count, as Windows numbers it.
    #[must_use]
    pub const fn comparison_style(self) -> u32 {
        const WINDOWS: [(u8, u32); 4] = [(CASE, 1), (ACCENT, 2), (KANA, 0x1_0000), (WIDTH, 0x2_0000)];
        if self.is_binary() {
            return 0;
        }
        let (mut style, mut i) = (0, 0);
        while i < WINDOWS.len() {
            if self.flags & WINDOWS[i].0 == 0 {
                style |= WINDOWS[i].1;
            }
            i += 1;
        }
        style
    }

    /// The first four of the five bytes that describe it to clients, as a number: locale, what is ignored, version.
    #[must_use]
    pub fn wire_info(self) -> u32 {
        let flags = if self.is_binary() {
            if self.flags & OLD_BINARY != 0 { 1 << 24 } else { 1 << 25 }
        } else {
            let ignored = [CASE, ACCENT, KANA, WIDTH].into_iter().zip([20, 21, 22, 23]);
            ignored.filter(|(flag, _)| self.flags & flag == 0).map(|(_, bit)| 1u32 << bit).sum()
        };
        let utf8 = if self.flags & UTF8 != 0 { 1 << 26 } else { 0 };
        self.lcid() | flags | utf8 | u32::from(self.version()) << 28
    }

    /// `sys.fn_helpcollations`' words for it.
    #[must_use]
    pub fn description(self) -> String {
        let e = self.entry();
        let (family, _) = e.name.rsplit_once("_BIN").unwrap_or_else(|| {
            let at = e.name.find("_CI_").or_else(|| e.name.find("_CS_")).unwrap_or(e.name.len());
            (&e.name[..at], "")
        });
        let family = family.strip_prefix("SQL_").map_or(family, |f| f.split("_CP").next().unwrap_or(f));
        let mut text = family.replace('_', "-");
        if self.is_binary() {
            text += if self.flags & OLD_BINARY != 0 {
                ", binary sort"
            } else {
                ", binary code point comparison sort"
            };
        } else {
            for (flag, what) in [(CASE, "case"), (ACCENT, "accent"), (KANA, "kanatype"), (WIDTH, "width")] {
                let sensitive = if self.flags & flag != 0 { "sensitive" } else { "insensitive" };
                text += &format!(", {what}-{sensitive}");
            }
            if self.flags & SUPPLEMENTARY != 0 {
                text += ", supplementary characters";
            }
            if e.version == 3 {
                let sensitive = if self.has_variations() { "sensitive" } else { "insensitive" };
                text += &format!(", variation selector {sensitive}");
            }
        }
        if self.flags & UTF8 != 0 {
            text += ", UTF8";
        }
        if e.sort_id != 0 {
            text += &format!(
                " for Unicode Data, SQL Server Sort Order {} on Code Page {} for non-Unicode Data",
                e.sort_id, e.page
            );
        }
        text
    }
}

impl Default for Collation {
    fn default() -> Collation {
        Collation::LATIN1_CI_AS
    }
}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Collation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match FIRST.get(usize::from(self.id)) {
            Some((_, word)) => serializer.serialize_str(word),
            None if self.order == Order::Library => {
                serializer.collect_str(&format_args!("{}/{}", self.name(), library::DATA_VERSION))
            }
            None => serializer.serialize_str(self.name()),
        }
    }
}

impl<'de> Deserialize<'de> for Collation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Collation, D::Error> {
        use serde::de::Error;
        let word = String::deserialize(deserializer)?;
        if let Some(at) = FIRST.iter().position(|(_, w)| *w == word) {
            return Ok(ALL[at].collation);
        }
        let (name, version) = match word.split_once('/') {
            Some((name, version)) => (name, Some(version)),
            None => (&*word, None),
        };
        let found = Collation::by_name(name)
            .ok_or_else(|| D::Error::custom(format_args!("unknown collation '{name}'")))?;
        let made = (found.order == Order::Library).then(|| library::DATA_VERSION.to_string());
        if version != made.as_deref() {
            return Err(D::Error::custom(format_args!(
                "indexes under '{name}' were made with version {} of the library's tables, this is version {}",
                version.unwrap_or("0"),
                library::DATA_VERSION
            )));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_four_are_what_their_constants_say() {
        let constants =
            [Collation::LATIN1_CI_AS, Collation::BIN2, Collation::LATIN1_CS_AS, Collation::LATIN1_CI_AI];
        for (constant, entry) in constants.iter().zip(ALL.iter()) {
            assert_eq!(*constant, entry.collation);
            assert_eq!(constant.name(), entry.name);
        }
    }

    #[test]
    fn as_many_as_the_product_has() {
        assert_eq!(Collation::listed().len(), 5508);
        assert_eq!(BY_NAME.len(), ALL.len());
    }

    #[test]
    fn a_name_says_what_it_is() {
        let check = |name: &str, lcid: u32, page: u16, style: u32, version: u8, info: u32, sort: u8| {
            let c = Collation::by_name(name).unwrap();
            assert_eq!(c.name().to_ascii_lowercase(), name.to_ascii_lowercase());
            assert_eq!(
                (c.lcid(), c.code_page(), c.comparison_style(), c.version(), c.wire_info(), c.sort_id()),
                (lcid, page, style, version, info, sort),
                "{name}"
            );
        };
        check("SQL_Latin1_General_CP1_CI_AS", 1033, 1252, 196_609, 0, 0x00D0_0409, 52);
        check("sql_latin1_general_cp1_cs_as", 1033, 1252, 196_608, 0, 0x00C0_0409, 51);
        check("Latin1_General_BIN2", 1033, 1252, 0, 0, 0x0200_0409, 0);
        check("Japanese_BIN", 1041, 932, 0, 0, 0x0100_0411, 0);
        check("Latin1_General_100_CI_AS_SC_UTF8", 1033, 65001, 196_609, 2, 0x24D0_0409, 0);
        check("Latin1_General_100_BIN2_UTF8", 1033, 65001, 0, 2, 0x2600_0409, 0);
        check("Japanese_XJIS_140_CS_AI_KS_WS_VSS", 1041, 932, 2, 3, 0x3020_0411, 0);
        check("German_PhoneBook_CS_AS_KS_WS", 66567, 1252, 0, 0, 0x0001_0407, 0);
        check("Turkish_CI_AS", 1055, 1254, 196_609, 0, 0x00D0_041F, 0);
        check("Indic_General_90_CI_AS", 1081, 0, 196_609, 1, 0x10D0_0439, 0);
        check("SQL_Polish_CP1250_CS_AS", 1045, 1250, 196_608, 0, 0x00C0_0415, 87);
        check("SQL_Latin1_General_CP850_BIN", 1033, 850, 0, 0, 0x0100_0409, 40);
        for wrong in
            ["Klingon_CI_AS", "Latin1_General_CI", "Japanese_CI_AS_SC", "Latin1_General_CI_AS_UTF8", ""]
        {
            assert_eq!(Collation::by_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn words_for_people() {
        let check = |name: &str, text: &str| {
            assert_eq!(Collation::by_name(name).unwrap().description(), text);
        };
        check(
            "SQL_Latin1_General_CP1_CI_AS",
            "Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive for Unicode \
             Data, SQL Server Sort Order 52 on Code Page 1252 for non-Unicode Data",
        );
        check("Albanian_BIN", "Albanian, binary sort");
        check("Japanese_90_BIN2", "Japanese-90, binary code point comparison sort");
        check(
            "Thai_100_CS_AI_WS_SC_UTF8",
            "Thai-100, case-sensitive, accent-insensitive, kanatype-insensitive, width-sensitive, supplementary \
             characters, UTF8",
        );
    }

    #[test]
    fn catalogs_keep_names() {
        let check = |name: &str, json: &str| {
            let c = Collation::by_name(name).unwrap();
            assert_eq!(serde_json::to_string(&c).unwrap(), json);
            assert_eq!(serde_json::from_str::<Collation>(json).unwrap(), c);
        };
        // What was written before there were others.
        check("SQL_Latin1_General_CP1_CI_AS", "\"Latin1CiAs\"");
        check("Latin1_General_BIN2", "\"Bin2\"");
        check("SQL_Latin1_General_CP1_CS_AS", "\"Latin1CsAs\"");
        check("Latin1_General_CI_AI", "\"Latin1CiAi\"");
        check("Japanese_BIN", "\"Japanese_BIN\"");
        check("Japanese_CI_AS", "\"Japanese_CI_AS/49\"");
        let read = |json: &str| serde_json::from_str::<Collation>(json).unwrap_err().to_string();
        assert!(read("\"Japanese_CI_AS/48\"").contains("version 48"), "another version's keys are refused");
        assert!(read("\"Japanese_CI_AS\"").contains("version 0"));
        assert!(read("\"Klingon_CI_AS\"").contains("unknown"));
    }
}
