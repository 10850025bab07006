//! RESTORE HEADERONLY, FILELISTONLY, LABELONLY and VERIFYONLY: what a file holds.

use super::history::{self, flags};
use super::media::{Labelled, Media};
use super::options::Options;
use crate::errors as sql_errors;
use crate::hadr::lsn::value as lsn;
use crate::run::Runner;
use crate::views::{BIG, BIT, DATE, GUID, INT, NULL, SMALL, TINY, bit, date, int, machine_of, text};
use keel_node::backup::{Family, verify};
use keel_parser::ast::RestoreKind;
use keel_query::SessionInfo as _;
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};

type Columns = &'static [(&'static str, SqlType)];

const fn n(length: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(length))
}
const LSN: SqlType = SqlType::Numeric { precision: 25, scale: 0 };
const SIZE: SqlType = SqlType::Numeric { precision: 20, scale: 0 };

#[rustfmt::skip]
const HEADER: Columns = &[
    ("BackupName", n(128)), ("BackupDescription", n(255)), ("BackupType", TINY), ("ExpirationDate", DATE), ("Compressed", BIT),
    ("Position", SMALL), ("DeviceType", TINY), ("UserName", n(128)), ("ServerName", n(128)), ("DatabaseName", n(128)),
    ("DatabaseVersion", INT), ("DatabaseCreationDate", DATE), ("BackupSize", SIZE), ("FirstLSN", LSN), ("LastLSN", LSN),
    ("CheckpointLSN", LSN), ("DatabaseBackupLSN", LSN), ("BackupStartDate", DATE), ("BackupFinishDate", DATE), ("SortOrder", SMALL),
    ("CodePage", SMALL), ("UnicodeLocaleId", INT), ("UnicodeComparisonStyle", INT), ("CompatibilityLevel", TINY),
    ("SoftwareVendorId", INT), ("SoftwareVersionMajor", INT), ("SoftwareVersionMinor", INT), ("SoftwareVersionBuild", INT),
    ("MachineName", n(128)), ("Flags", INT), ("BindingID", GUID), ("RecoveryForkID", GUID), ("Collation", n(128)),
    ("FamilyGUID", GUID), ("HasBulkLoggedData", BIT), ("IsSnapshot", BIT), ("IsReadOnly", BIT), ("IsSingleUser", BIT),
    ("HasBackupChecksums", BIT), ("IsDamaged", BIT), ("BeginsLogChain", BIT), ("HasIncompleteMetaData", BIT),
    ("IsForceOffline", BIT), ("IsCopyOnly", BIT), ("FirstRecoveryForkID", GUID), ("ForkPointLSN", LSN), ("RecoveryModel", n(60)),
    ("DifferentialBaseLSN", LSN), ("DifferentialBaseGUID", GUID), ("BackupTypeDescription", n(60)), ("BackupSetGUID", GUID),
    ("CompressedBackupSize", BIG), ("Containment", TINY), ("KeyAlgorithm", n(32)),
    ("EncryptorThumbprint", SqlType::VarBinary(Length::Limited(20))), ("EncryptorType", n(32)),
    ("LastValidRestoreTime", DATE), ("TimeZone", n(32)), ("CompressionAlgorithm", n(32)),
];

#[rustfmt::skip]
const FILES: Columns = &[
    ("LogicalName", n(128)), ("PhysicalName", n(260)), ("Type", SqlType::Char(1)), ("FileGroupName", n(128)), ("Size", SIZE),
    ("MaxSize", SIZE), ("FileId", BIG), ("CreateLSN", LSN), ("DropLSN", LSN), ("UniqueId", GUID), ("ReadOnlyLSN", LSN),
    ("ReadWriteLSN", LSN), ("BackupSizeInBytes", BIG), ("SourceBlockSize", INT), ("FileGroupId", INT), ("LogGroupGUID", GUID),
    ("DifferentialBaseLSN", LSN), ("DifferentialBaseGUID", GUID), ("IsReadOnly", BIT), ("IsPresent", BIT),
    ("TDEThumbprint", SqlType::VarBinary(Length::Limited(32))), ("SnapshotUrl", n(360)),
];

#[rustfmt::skip]
const LABEL: Columns = &[
    ("MediaName", n(128)), ("MediaSetId", GUID), ("FamilyCount", INT), ("FamilySequenceNumber", INT), ("MediaFamilyId", GUID),
    ("MediaSequenceNumber", INT), ("MediaLabelPresent", TINY), ("MediaDescription", n(255)), ("SoftwareName", n(128)),
    ("SoftwareVendorId", INT), ("MediaDate", DATE), ("MirrorCount", INT), ("IsCompressed", BIT),
];

impl Runner<'_> {
    pub(super) fn show_media(&mut self, kind: RestoreKind, media: &Media, options: &Options) -> Result<()> {
        match kind {
            RestoreKind::HeaderOnly => {
                let sets = media.sets()?;
                let asked = |n: usize| options.file.is_none_or(|file| usize::try_from(file) == Ok(n));
                let rows =
                    sets.iter().zip(1..).filter(|(_, n)| asked(*n)).map(|(set, n)| header_row(media, set, n));
                self.result_set(HEADER, &rows.collect::<Vec<_>>())
            }
            RestoreKind::FileListOnly => self.result_set(FILES, &file_rows(&media.set(options.file)?)),
            RestoreKind::LabelOnly => {
                let row = match media.families.first() {
                    Some((family, _)) => family_row(family),
                    None => label_row(&media.set(None)?),
                };
                self.result_set(LABEL, &[row])
            }
            _ => self.verify_set(media, options),
        }
    }

    fn verify_set(&mut self, media: &Media, options: &Options) -> Result<()> {
        let mut found = media.set(options.file)?;
        self.unlock(&mut found)?;
        let mut told = 0;
        let checked = verify(&*media.file, &found.set, &mut |done, of| {
            self.say_progress(options.stats, &mut told, done, of)
        });
        if let Err(e) = checked {
            return Err(if self.info.cancelled() { sql_errors::cancelled() } else { media.not_read(e) });
        }
        let file = options.file.unwrap_or(1);
        self.report(&SqlError::new(3262, 0, 1, format!("The backup set on file {file} is valid.")));
        Ok(())
    }
}

fn header_row(media: &Media, found: &Labelled, position: usize) -> Vec<Value> {
    let l = &found.label;
    let words = |of: &Option<String>| of.as_ref().map_or(NULL, |s| text(s.as_str()));
    let expires = if l.expires == 0 { NULL } else { date(l.expires) };
    let family = Value::Guid(l.family);
    let mut row = vec![
        words(&l.name),
        words(&l.description),
        int(match l.kind() {
            "L" => 2,
            "I" => 5,
            _ => 1,
        }),
        expires,
        bit(l.compressed),
    ];
    let device = history::device_type(&media.device);
    row.extend([int(position as i64), device, text(l.user.as_str()), text(l.server.as_str())]);
    row.extend([text(l.database.as_str()), int(957), date(l.created), history::number(l.bytes)]);
    row.extend([
        lsn(l.first),
        lsn(l.last),
        lsn(l.checkpoint),
        l.full_before(),
        date(l.started),
        date(l.finished),
    ]);
    row.extend([int(52), int(0), int(1033), int(196_609), int(l.compatibility), int(4608), int(16), int(0)]);
    row.extend([int(1000), text(machine_of(&l.server)), int(flags(l)), family.clone(), family.clone()]);
    row.extend([text(l.collation.as_str()), family.clone(), bit(false), bit(false), bit(l.read_only)]);
    row.extend([
        bit(l.single_user),
        bit(true),
        bit(false),
        bit(l.begins_chain),
        bit(false),
        bit(false),
        bit(l.copy_only),
    ]);
    let kind = match l.kind() {
        "L" => "Transaction Log",
        "I" => "Database Differential",
        _ => "Database",
    };
    row.extend([family, NULL, text(l.recovery.as_str())]);
    row.extend(l.base_shown());
    row.extend([text(kind), Value::Guid(l.set)]);
    row.extend([int(l.stored as i64), int(0)]);
    row.extend(history::encryption(l));
    row.extend([date(l.finished), NULL]);
    row.push(if l.compressed { text("LZ4") } else { NULL });
    row
}

/// The two files that `sys.master_files` shows of a database.
fn file_rows(found: &Labelled) -> Vec<Vec<Value>> {
    let l = &found.label;
    let rows = found.set.content.seed().map_or(0, |seed| seed.bytes);
    // Of a differential one what is in it is less than what the file has.
    let (logged, changed) = if l.differential {
        let logged = l.last - l.first;
        (logged, l.bytes.saturating_sub(logged))
    } else {
        (l.bytes.saturating_sub(rows), rows)
    };
    let file = |name: String, kind: &str, group: Value, (bytes, stored): (u64, u64), id: i64| {
        let physical = format!("{name}.{}", if kind == "D" { "mdf" } else { "ldf" });
        let mut row = vec![text(name), text(physical), text(kind), group, history::number(bytes)];
        row.extend([
            history::number(35_184_372_080_640),
            int(id),
            history::number(0),
            NULL,
            Value::Guid(l.family),
            NULL,
            NULL,
        ]);
        row.extend([int(stored as i64), int(4096), int(i64::from(kind == "D")), NULL]);
        row.extend(if kind == "D" { l.base_shown() } else { [NULL, NULL] });
        let of_database = l.encryption.as_ref().filter(|e| e.by_database);
        let thumbprint = of_database.map_or(NULL, |e| Value::bytes(e.thumbprint.clone()));
        row.extend([bit(false), bit(true), thumbprint, NULL]);
        row
    };
    vec![
        file(l.file_name().to_owned(), "D", text("PRIMARY"), (rows, changed), 1),
        file(format!("{}_log", l.file_name()), "L", NULL, (logged, logged), 2),
    ]
}

fn label_row(found: &Labelled) -> Vec<Value> {
    let l = &found.label;
    let set = Value::Guid(l.set);
    let mut row = vec![NULL, set.clone(), int(1), int(1), set, int(1), int(0), NULL, text("Evenkeel")];
    row.extend([int(4608), date(l.started), int(1 + i64::from(l.mirrors)), bit(l.compressed)]);
    row
}

/// Of one of several files, which may be alone here: what it says of itself.
fn family_row(family: &Family) -> Vec<Value> {
    let set = Value::Guid(family.set);
    let mut row =
        vec![NULL, set.clone(), int(family.families), int(family.number), set, int(1), int(0), NULL];
    let finished = if family.finished == 0 { NULL } else { date(family.finished) };
    row.extend([text("Evenkeel"), int(4608), finished, int(1), NULL]);
    row
}
