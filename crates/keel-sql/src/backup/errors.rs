//! The product's errors of BACKUP and RESTORE.

use keel_types::SqlError;

type E = Box<SqlError>;

crate::errors::error_functions! {
    /// The second of two: what is over.
    terminating(what) = 3013, 16, 1, "{what} is terminating abnormally.";
    /// Within a transaction.
    in_transaction() = 3021, 16, 0, "Cannot perform a backup or restore operation within a transaction.";
    /// The session uses the database to be restored.
    used_here(statement, name) = 3102, 16, 1, "{statement} cannot process database '{name}' because it is in use by this session. It is recommended that the master database be used when performing this operation.";
    /// Of a database snapshot.
    not_a_snapshot() = 3002, 16, 1, "Cannot BACKUP or RESTORE a database snapshot.";
    /// master, reverted.
    not_of_master() = 3139, 16, 1, "Restore to snapshot is not allowed with the master database.";
    /// Others do.
    in_use() = 3101, 16, 1, "Exclusive access could not be obtained because the database is in use.";
    /// A member of a group.
    in_group(name) = 3104, 16, 1, "RESTORE cannot operate on database '{name}' because it is configured for database mirroring or has joined an availability group. If you intend to restore the database, use ALTER DATABASE to remove mirroring or to remove the database from its availability group.";
    /// It waits for log, and is read meanwhile.
    standby(name) = 3036, 16, 1, "The database \"{name}\" is in warm-standby state (set by executing RESTORE WITH STANDBY) and cannot be backed up until the entire restore sequence is completed.";
    /// A backup that would have to be noted on a secondary.
    on_secondary() = 3059, 16, 1, "This BACKUP or RESTORE command is not supported on a database mirror or secondary replica.";
    /// RESTORE without permission.
    may_not_restore(name) = 3110, 14, 1, "User does not have permission to RESTORE database '{name}'.";
    /// tempdb and the like.
    not_this_database(name) = 3147, 16, 1, "Backup and restore operations are not allowed on database {name}.";
    /// RESTORE … WITH RECOVERY of a database that is open.
    already_recovered() = 3153, 16, 1, "The database is already fully recovered.";
    /// Another database has the name.
    other_database(name) = 3154, 16, 4, "The backup set holds a backup of a database other than the existing '{name}' database.";
    /// Work done since the last backup would be lost.
    tail_not_backed_up(name) = 3159, 16, 1, "The tail of the log for the database \"{name}\" has not been backed up. Use BACKUP LOG WITH NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH REPLACE or WITH STOPAT clause of the RESTORE statement to just overwrite the contents of the log.";
    /// The device cannot be opened.
    cannot_open(device, detail) = 3201, 16, 1, "Cannot open backup device '{device}'. Operating system error {detail}.";
    /// An object is there, and FORMAT is not said.
    object_exists(url) = 3271, 16, 1, "A nonrecoverable I/O error occurred on file \"{url}:\" The file {url} exists on the remote endpoint, and WITH FORMAT was not specified. Backup cannot proceed.";
    /// Writing failed.
    cannot_write(device, detail) = 3202, 16, 1, "Write on \"{device}\" failed: {detail}";
    /// Reading failed.
    cannot_read(device, detail) = 3203, 16, 1, "Read on \"{device}\" failed: {detail}";
    /// A differential backup before any full one.
    no_differential_base(name) = 3035, 16, 1, "Cannot perform a differential backup for database \"{name}\", because a current database backup does not exist. Perform a full database backup by reissuing BACKUP DATABASE, omitting the WITH DIFFERENTIAL option.";
    /// Of master.
    full_of_master_only() = 3024, 16, 0, "You can only perform a full backup of the master database. Use BACKUP DATABASE to back up the entire master database.";
    /// A differential backup that does not fit.
    not_the_base() = 3136, 16, 3, "This differential backup cannot be restored because the database has not been restored to the correct earlier state.";
    /// A logical device.
    no_device(name) = 3206, 16, 1, "Backup device '{name}' does not exist. To view existing backup devices, use the sys.backup_devices catalog view. To create a new backup device use either sp_addumpdevice or SQL Server Management Studio.";
    /// sp_dropdevice of one that is not there.
    device_missing(name) = 15_012, 16, 1, "The device '{name}' does not exist. Use sys.backup_devices to show available devices.";
    /// sp_addumpdevice under a name that is taken.
    device_exists(name) = 15_026, 16, 1, "Logical device '{name}' already exists.";
    /// sp_addumpdevice of another kind.
    device_kind(kind) = 15_044, 16, 1, "The type, '{kind}', is an unknown backup device type. Use the type 'disk' or 'tape'.";
    /// More than the product takes.
    too_many_devices() = 3205, 16, 2, "Too many backup devices specified for backup or restore; only 64 are allowed.";
    /// A file of a set of other size.
    other_families(device, formatted, wanted) = 3231, 16, 1, "The media loaded on \"{device}\" is formatted to support {formatted} media families, but {wanted} media families are expected according to the backup device specification.";
    /// Some of several files.
    families_missing(families, given) = 3132, 16, 1, "The media set has {families} media families but only {given} are provided. All members must be provided.";
    /// A file of no set, or of another one.
    not_of_several(device) = 3258, 16, 1, "The volume on the device \"{device}\" is not part of a multiple family media set. BACKUP WITH FORMAT can be used to form a new media set.";
    /// One file of a set twice.
    family_twice(device, number, other) = 3227, 16, 1, "The backup media on \"{device}\" is part of media family {number} which has already been processed on \"{other}\". Ensure that backup devices are correctly specified. For tape devices, ensure that the correct volumes are loaded.";
    /// MOVE of what is not in the set.
    no_logical_file(file, name) = 3234, 16, 2, "Logical file '{file}' is not part of database '{name}'. Use RESTORE FILELISTONLY to list the logical file names.";
    /// The file is no backup.
    incorrectly_formed(device) = 3241, 16, 0, "The media family on device '{device}' is incorrectly formed. SQL Server cannot process this media family.";
    /// The first log backup before any full one.
    no_full_backup() = 4214, 16, 1, "BACKUP LOG cannot be performed because there is no current database backup.";
    /// A log backup on a secondary whose primary does not hear of it; the file is good, and the next one overlaps it.
    not_noted(name) = 35296, 16, 1, "Log backup for database \"{name}\" on secondary replica failed because the new backup information could not be committed on primary database. Check the database status in the SQL Server error log of the server instance that is hosting the current primary replica. If the primary database is participating in the availability group, retry the operation.";
    /// RESTORE LOG of a database that is not there.
    nothing_to_roll(name) = 3118, 16, 1, "The database \"{name}\" does not exist. RESTORE can only create a database when restoring either a full backup or a file backup of the primary file.";
    /// RESTORE LOG of a database that is not being restored.
    not_rolling() = 3117, 16, 1, "The log or differential backup cannot be restored because no files are ready to rollforward.";
    /// RESTORE DATABASE from a log backup, and the other way round.
    other_kind(file, device, by) = 3135, 16, 1, "The backup set in file '{file}' on device '{device}' was created by {by} and cannot be used for this restore operation.";
    /// Log in between is missing.
    log_too_recent(first, end) = 4305, 16, 1, "The log in this backup set begins at LSN {first}, which is too recent to apply to the database. An earlier log backup that includes LSN {end} can be restored.";
    /// All of it is there already.
    log_too_early(last, end) = 4326, 16, 1, "The log in this backup set terminates at LSN {last}, which is too early to apply to the database. A more recent log backup that includes LSN {end} can be restored.";
    /// The two have gone different ways.
    other_path() = 4330, 16, 1, "This backup set cannot be applied because it is on a recovery path that is inconsistent with the database. The recovery path is the sequence of data and log backups that have brought the database to a particular recovery point. Find a compatible backup to restore, or restore the rest of the database to match a recovery point within this backup set, which will restore the database to a different point in time.";
    /// MIRROR TO more than three times.
    too_many_mirrors() = 3214, 16, 1, "Too many backup mirrors are specified. Only 3 are allowed.";
    /// MIRROR TO with more or fewer devices than TO.
    mirror_differs(one, other) = 3212, 16, 1, "The mirror device \"{one}\" and the mirror device \"{other}\" have different device specifications.";
    /// MIRROR TO of what is empty.
    mirrors_need_format() = 3215, 16, 1, "Use WITH FORMAT to create a new mirrored backup set.";
    /// Not all mirrors of a set, or of several.
    mirrors_differ() = 3240, 16, 1, "Backup to mirrored media sets requires all mirrors to append. Provide all members of the set, or reformat a new media set.";
    /// Of what is encrypted with it.
    no_private_key(name) = 33101, 16, 1, "Cannot use certificate '{name}', because its private key is not present or it is not protected by the database master key. SQL Server requires the ability to automatically access the private key of the certificate used for this operation.";
    /// What it is encrypted with is not here.
    no_certificate_of(thumbprint) = 33111, 16, 3, "Cannot find server certificate with thumbprint '{thumbprint}'.";
    /// STOPATMARK = 'lsn:…' that is none.
    no_such_lsn() = 4334, 16, 1, "The named mark does not identify a valid LSN.";
    /// STOPAT before what is there.
    stop_passed() = 4335, 16, 1, "The specified STOPAT time is too early. All or part of the database is already rolled forward beyond that point.";
    /// STOPAT before the end of a full backup.
    stop_too_early() = 4338, 16, 1, "The STOPAT clause specifies a point too early to allow this backup set to be restored. Choose a different stop point or use RESTORE DATABASE WITH RECOVERY to recover at the current point.";
    /// A log backup of a database without a log chain.
    simple_recovery() = 4208, 16, 1, "The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the recovery model using ALTER DATABASE.";
    /// FILE = n.
    no_set(n, device) = 4038, 16, 1, "Cannot find file ID {n} on device '{device}'.";
    /// INIT over a set that is to be kept.
    not_expired(device, date) = 4030, 16, 1, "The medium on device '{device}' expires on {date} and cannot be overwritten.";
    /// What the system says while a database is restored.
    os_error(detail, path) = 3634, 16, 1, "The operating system returned the error '{detail}' while attempting 'RestoreContainer::ValidateTargetForCreation' on '{path}'.";
    /// The set does not check out.
    damaged(detail) = 3189, 16, 1, "Damage to the backup set was detected. {detail}";
    /// WITH CREDENTIAL is for those with the account's key.
    credential_has_signature() = 3225, 16, 1, "Use of WITH CREDENTIAL syntax is not valid for credentials containing a Shared Access Signature.";
    /// BLOCKSIZE.
    block_size() = 3253, 16, 1, "The block size parameter must supply a value that is a power of 2.";
    /// An option's value.
    bad_value(option) = 3217, 16, 1, "Invalid value specified for {option} parameter.";
    /// An option that the statement does not have.
    no_option(name, statement) = 155, 15, 1, "'{name}' is not a recognized {statement} option.";
    /// An option that this statement does not have, but the other.
    not_for_this(option) = 3032, 16, 2, "One or more of the options ({option}) are not supported for this statement. Review the documentation for supported options.";
    /// Two options that exclude each other.
    conflicting(a, b) = 3032, 16, 2, "One or more of the options ({a}, {b}) are not supported for this statement. Review the documentation for supported options.";
}
