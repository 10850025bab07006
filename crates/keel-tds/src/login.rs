//! LOGIN7 (2.2.6.4): who connects, to what, with which options.
//!
//! 94 fixed bytes (36 of numbers, then pairs of offset and length), then the variable data they point to. Offsets count
//! from the start of the message. Before 7.2 the last 8 of the fixed bytes, a new password's place and a long length, are not there.

use crate::bits::bit_set;
use crate::bytes::Reader;
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::features::{self, Feature};
use crate::limits::LOGIN_MESSAGE_BYTES_MAX;
use crate::text;

/// Protocol version 7.0 (SQL Server 7.0), the oldest that is spoken.
pub const TDS_7_0: u32 = 0x7000_0000;
/// Protocol version 7.1 (SQL Server 2000 SP1).
pub const TDS_7_1: u32 = 0x7100_0001;
/// Protocol version 7.2: 64-bit row counts, max types, ALL_HEADERS.
pub const TDS_7_2: u32 = 0x7209_0002;
/// Protocol version 7.3.B: date and time types.
pub const TDS_7_3: u32 = 0x730B_0003;
/// Protocol version 7.4: feature extensions.
pub const TDS_7_4: u32 = 0x7400_0004;
/// Protocol version 8.0: TLS first.
pub const TDS_8_0: u32 = 0x0800_0000;

const FIXED_BYTES: usize = 94;
const FIXED_BYTES_SHORT: usize = 86;

bit_set! {
    /// OptionFlags1.
    OptionFlags1: u8 {
        /// Big-endian client.
        BYTE_ORDER_68000 = 0x01;
        /// EBCDIC client.
        EBCDIC = 0x02;
        /// Do not tolerate bulk loads without logging.
        DUMP_LOAD_OFF = 0x10;
        /// Warn when the database changes.
        USE_DB = 0x20;
        /// Fail when the database cannot be opened.
        DATABASE_FATAL = 0x40;
        /// Warn when the language changes.
        SET_LANG = 0x80;
    }
}

bit_set! {
    /// OptionFlags2.
    OptionFlags2: u8 {
        /// Fail when the language cannot be set.
        LANGUAGE_FATAL = 0x01;
        /// An ODBC-like client: ANSI defaults on.
        ODBC = 0x02;
        /// A replication login.
        USER_REPLICATION = 0x30;
        /// Integrated security.
        INTEGRATED_SECURITY = 0x80;
    }
}

bit_set! {
    /// TypeFlags.
    TypeFlags: u8 {
        /// Use T-SQL.
        TSQL = 0x01;
        /// An OLE DB client.
        OLEDB = 0x10;
        /// Only reads are intended: the login may be routed to a secondary.
        READ_ONLY_INTENT = 0x20;
    }
}

bit_set! {
    /// OptionFlags3.
    OptionFlags3: u8 {
        /// A new password is sent.
        CHANGE_PASSWORD = 0x01;
        /// A user instance is wanted.
        USER_INSTANCE = 0x02;
        /// XML may be sent in binary.
        SEND_YUKON_BINARY_XML = 0x04;
        /// The client can handle unknown collations.
        UNKNOWN_COLLATION_HANDLING = 0x08;
        /// Feature extensions follow.
        EXTENSION = 0x10;
    }
}

/// A LOGIN7 message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// Protocol version, see the constants of this module.
    pub tds_version: u32,
    /// Packet size the client asks for; 0 leaves it to the server.
    pub packet_size: u32,
    /// Version of the client library.
    pub client_version: u32,
    /// Process id of the client.
    pub client_pid: u32,
    /// Connection id (unused).
    pub connection_id: u32,
    /// Option bits.
    pub flags1: OptionFlags1,
    /// Option bits.
    pub flags2: OptionFlags2,
    /// Kind of client and its intent.
    pub type_flags: TypeFlags,
    /// Option bits.
    pub flags3: OptionFlags3,
    /// Minutes west of UTC.
    pub time_zone: i32,
    /// LCID of the client.
    pub client_lcid: u32,
    /// Name of the client machine.
    pub host_name: String,
    /// Login name.
    pub user_name: String,
    /// Password, in the clear here; obfuscated on the wire.
    pub password: String,
    /// Application name.
    pub app_name: String,
    /// Server name as the client was told it.
    pub server_name: String,
    /// Name of the client library.
    pub library_name: String,
    /// Language wanted.
    pub language: String,
    /// Database wanted.
    pub database: String,
    /// Hardware address of the client.
    pub client_id: [u8; 6],
    /// Integrated security data.
    pub sspi: Vec<u8>,
    /// Database file to attach.
    pub attach_file: String,
    /// New password.
    pub change_password: String,
    /// Feature extensions.
    pub features: Vec<Feature>,
}

impl Login {
    /// The version that a message asks for: what else it has depends on it.
    pub fn version(payload: &[u8]) -> Result<u32> {
        let mut r = Reader::new(payload);
        r.u32()?;
        r.u32()
    }

    /// The dialect that the client asks for; one before 7.0 is not a LOGIN7's.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        Dialect::of_version(self.tds_version).unwrap_or(Dialect::V7_0)
    }

    /// From a message payload.
    ///
    /// Valid when: (1) the length field is not more than what arrived and within the limit, (2) every offset and length
    /// pair lies inside it, (3) the feature list, if announced, ends with its terminator.
    pub fn decode(payload: &[u8]) -> Result<Login> {
        let mut r = Reader::new(payload);
        let length = usize::try_from(r.u32()?).map_err(|_| DecodeError::Limit("login length"))?;
        if length > LOGIN_MESSAGE_BYTES_MAX {
            return Err(DecodeError::Limit("login length"));
        }
        let tds_version = r.u32()?;
        let is_long = Dialect::of_version(tds_version).is_some_and(Dialect::has_long_login);
        if length < if is_long { FIXED_BYTES } else { FIXED_BYTES_SHORT } {
            return Err(DecodeError::Malformed("login length"));
        }
        let whole = payload.get(..length).ok_or(DecodeError::Incomplete)?;
        let mut login = Login {
            tds_version,
            packet_size: r.u32()?,
            client_version: r.u32()?,
            client_pid: r.u32()?,
            connection_id: r.u32()?,
            flags1: OptionFlags1(r.u8()?),
            flags2: OptionFlags2(r.u8()?),
            type_flags: TypeFlags(r.u8()?),
            flags3: OptionFlags3(r.u8()?),
            time_zone: r.i32()?,
            client_lcid: r.u32()?,
            ..Login::default()
        };
        login.host_name = string(whole, &mut r)?;
        login.user_name = string(whole, &mut r)?;
        login.password = password(whole, &mut r)?;
        login.app_name = string(whole, &mut r)?;
        login.server_name = string(whole, &mut r)?;
        let extension = (usize::from(r.u16()?), usize::from(r.u16()?));
        login.library_name = string(whole, &mut r)?;
        login.language = string(whole, &mut r)?;
        login.database = string(whole, &mut r)?;
        login.client_id = r.array()?;
        let sspi = (usize::from(r.u16()?), usize::from(r.u16()?));
        login.attach_file = string(whole, &mut r)?;
        if !is_long {
            login.sspi = slice(whole, sspi.0, sspi.1)?.to_vec();
            return Ok(login);
        }
        login.change_password = password(whole, &mut r)?;
        let sspi_long = usize::try_from(r.u32()?).map_err(|_| DecodeError::Limit("SSPI data"))?;

        let sspi_length = if sspi.1 == usize::from(u16::MAX) && sspi_long != 0 { sspi_long } else { sspi.1 };
        login.sspi = slice(whole, sspi.0, sspi_length)?.to_vec();
        if login.flags3.contains(OptionFlags3::EXTENSION) {
            // The extension block is one number: the offset of the feature list.
            let at = Reader::new(slice(whole, extension.0, extension.1)?).u32().map_err(outside)?;
            let list = whole.get(usize::try_from(at).map_err(|_| DecodeError::Limit("feature offset"))?..);
            login.features = features::decode(&mut Reader::new(list.ok_or(outside(()))?)).map_err(outside)?;
        }
        Ok(login)
    }

    /// The message payload. Strings are cut to their 128 characters.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let is_long = self.dialect().has_long_login();
        let mut out = Writer::new(if is_long { FIXED_BYTES } else { FIXED_BYTES_SHORT });
        out.fixed.extend_from_slice(&[0; 4]);
        for n in
            [self.tds_version, self.packet_size, self.client_version, self.client_pid, self.connection_id]
        {
            out.fixed.extend_from_slice(&n.to_le_bytes());
        }
        let features = if is_long { self.features.as_slice() } else { &[] };
        // Whoever had an empty list has none.
        let flags3 = OptionFlags3(self.flags3.0 & !OptionFlags3::EXTENSION.0)
            .with_if(OptionFlags3::EXTENSION, !features.is_empty());
        out.fixed.extend_from_slice(&[self.flags1.0, self.flags2.0, self.type_flags.0, flags3.0]);
        out.fixed.extend_from_slice(&self.time_zone.to_le_bytes());
        out.fixed.extend_from_slice(&self.client_lcid.to_le_bytes());
        out.string(&self.host_name);
        out.string(&self.user_name);
        out.password(&self.password);
        out.string(&self.app_name);
        out.string(&self.server_name);
        let extension_at = out.data.len();
        if features.is_empty() {
            out.pair(0, 0);
        } else {
            out.bytes(&[0; 4]);
        }
        out.string(&self.library_name);
        out.string(&self.language);
        out.string(&self.database);
        out.fixed.extend_from_slice(&self.client_id);
        out.bytes(&self.sspi);
        out.string(&self.attach_file);
        if is_long {
            out.password(&self.change_password);
            out.fixed.extend_from_slice(&[0; 4]);
        }
        if !features.is_empty() {
            let at = u32::try_from(out.fixed_bytes + out.data.len()).expect("a login is small");
            out.data[extension_at..extension_at + 4].copy_from_slice(&at.to_le_bytes());
            features::encode(&mut out.data, features);
        }
        out.finish()
    }
}

/// The two parts of a login as they are written.
struct Writer {
    fixed: Vec<u8>,
    data: Vec<u8>,
    fixed_bytes: usize,
}

impl Writer {
    fn new(fixed_bytes: usize) -> Writer {
        Writer { fixed: Vec::with_capacity(fixed_bytes), data: Vec::new(), fixed_bytes }
    }

    fn pair(&mut self, offset: usize, length: usize) {
        for n in [offset, length] {
            self.fixed.extend_from_slice(&u16::try_from(n).expect("a login is below 64 KB").to_le_bytes());
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.pair(self.fixed_bytes + self.data.len(), bytes.len());
        self.data.extend_from_slice(bytes);
    }

    fn string(&mut self, s: &str) {
        let at = self.data.len();
        let units = text::put_utf16le_limited(&mut self.data, s, 128);
        self.pair(self.fixed_bytes + at, units);
    }

    fn password(&mut self, s: &str) {
        let at = self.data.len();
        self.string(s);
        for b in &mut self.data[at..] {
            *b = b.rotate_left(4) ^ 0xA5;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        assert_eq!(self.fixed.len(), self.fixed_bytes, "the fixed part has a fixed size");
        let total = u32::try_from(self.fixed_bytes + self.data.len()).expect("a login is small");
        self.fixed[..4].copy_from_slice(&total.to_le_bytes());
        self.fixed.extend(self.data);
        self.fixed
    }
}

fn outside<E>(_: E) -> DecodeError {
    DecodeError::Malformed("login offset")
}

fn slice(whole: &[u8], offset: usize, length: usize) -> Result<&[u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    whole.get(offset..offset + length).ok_or(outside(()))
}

fn string(whole: &[u8], r: &mut Reader<'_>) -> Result<String> {
    let (offset, units) = (usize::from(r.u16()?), usize::from(r.u16()?));
    Ok(text::from_utf16le(slice(whole, offset, units * 2)?))
}

fn password(whole: &[u8], r: &mut Reader<'_>) -> Result<String> {
    let (offset, units) = (usize::from(r.u16()?), usize::from(r.u16()?));
    let clear: Vec<u8> = slice(whole, offset, units * 2)?.iter().map(|b| (b ^ 0xA5).rotate_left(4)).collect();
    Ok(text::from_utf16le(&clear))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full() -> Login {
        Login {
            tds_version: TDS_7_4,
            packet_size: 8000,
            client_pid: 12,
            flags1: OptionFlags1::USE_DB | OptionFlags1::DATABASE_FATAL,
            flags2: OptionFlags2::ODBC,
            type_flags: TypeFlags::READ_ONLY_INTENT,
            flags3: OptionFlags3::EXTENSION,
            host_name: "client".into(),
            user_name: "sa".into(),
            password: "Pässwörd😀".into(),
            app_name: "app".into(),
            server_name: "localhost".into(),
            library_name: "lib".into(),
            database: "tpcc".into(),
            client_id: [1, 2, 3, 4, 5, 6],
            features: vec![Feature { id: features::id::UTF8_SUPPORT, data: vec![1] }],
            ..Login::default()
        }
    }

    #[test]
    fn a_login_round_trips() {
        assert_eq!(Login::decode(&full().encode()), Ok(full()));
        let bare = Login { tds_version: TDS_7_4, ..Login::default() };
        assert_eq!(Login::decode(&bare.encode()), Ok(bare));
    }

    #[test]
    fn an_empty_list_of_features_is_none() {
        let bare = Login { features: Vec::new(), ..full() };
        let decoded = Login::decode(&bare.encode()).expect("valid");
        assert!(!decoded.flags3.contains(OptionFlags3::EXTENSION));
    }

    #[test]
    fn an_older_login_is_shorter() {
        for tds_version in [TDS_7_0, TDS_7_1] {
            let login = Login { tds_version, flags3: OptionFlags3::empty(), features: Vec::new(), ..full() };
            let bytes = login.encode();
            let (host_at, name) = (usize::from(u16::from_le_bytes([bytes[36], bytes[37]])), "client");
            assert_eq!(host_at, 86, "the first of the variable data");
            assert_eq!(text::from_utf16le(&bytes[host_at..host_at + 2 * name.len()]), name);
            for end in 0..bytes.len() {
                assert!(Login::decode(&bytes[..end]).is_err(), "cut at {end}");
            }
            assert_eq!(Login::decode(&bytes), Ok(login));
        }
    }

    #[test]
    fn the_password_is_not_readable_on_the_wire() {
        let mut clear = Vec::new();
        text::put_utf16le(&mut clear, &full().password);
        assert!(!full().encode().windows(clear.len()).any(|w| w == clear));
    }

    #[test]
    fn truncated_at_every_byte_is_an_error() {
        let bytes = full().encode();
        for end in 0..bytes.len() {
            assert!(Login::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn flipped_bytes_never_panic(at in 0usize..200, value in any::<u8>()) {
            let mut bytes = full().encode();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = Login::decode(&bytes);
        }
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Login::decode(&bytes);
        }
    }
}
