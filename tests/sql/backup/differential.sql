-- A differential backup holds what has changed since the last full one, and is restored over it.
create database shop
GO
use shop
create table orders (n int primary key, note varchar(400), doc varchar(max))
create table lines (n int identity primary key, orders int, what char(200) default 'line')
insert orders (n, note, doc) select value, replicate('n', 300), case when value % 100 = 0 then replicate(cast('d' as varchar(max)), 20000) end from generate_series(1, 4000)
GO
use master
-- There must be a full one, and not one that is only a copy.
backup database shop to disk = 'shop.dif' with differential
backup database shop to disk = 'copy.bak' with copy_only
backup database shop to disk = 'shop.dif' with differential
backup database master to disk = 'shop.dif' with differential
backup log shop to disk = 'shop.dif' with differential
restore database shop from disk = 'copy.bak' with differential
GO
select differential_base_lsn, differential_base_guid, differential_base_time from shop.sys.database_files
GO
backup database shop to disk = 'shop.bak' with name = 'the full one'
GO
select f.type_desc, base = case when f.differential_base_guid = b.backup_set_uuid and f.differential_base_lsn = b.checkpoint_lsn and f.differential_base_time = b.backup_finish_date then 'the full one' end
from sys.master_files f left join msdb.dbo.backupset b on b.name = 'the full one' where f.database_id = db_id('shop') order by f.file_id
GO
update shop.dbo.orders set note = 'changed' where n = 2000
insert shop.dbo.lines (orders) values (1), (2)
GO
backup database shop to disk = 'shop.dif' with differential, checksum, name = 'a little', description = 'after the first hour'
backup database shop to disk = 'shop.dif' with differential, copy_only, compression, stats = 50
GO
-- It is small, refers to the full one, and moves nothing.
select b.name, b.type, b.is_copy_only, full_one = case when b.differential_base_guid = f.backup_set_uuid then f.name end, refers = case when b.differential_base_lsn = f.checkpoint_lsn and b.database_backup_lsn = f.checkpoint_lsn then 'yes' end,
    small = case when b.backup_size * 20 < f.backup_size then 'yes' end, m.physical_device_name
from msdb.dbo.backupset b join msdb.dbo.backupmediafamily m on m.media_set_id = b.media_set_id cross join (select * from msdb.dbo.backupset where name = 'the full one') f where b.type = 'I' order by b.backup_set_id
GO
use shop
GO
select case when modified_extent_page_count between 1 and allocated_extent_page_count / 4 then 'few' end as changed from sys.dm_db_file_space_usage
GO
use master
GO
-- What the file says of itself.
restore verifyonly from disk = 'shop.dif' with file = 2
restore verifyonly from disk = 'shop.dif' with file = 3
GO
create table #header (BackupName nvarchar(128), BackupDescription nvarchar(255), BackupType smallint, ExpirationDate datetime, Compressed bit, Position smallint, DeviceType tinyint, UserName nvarchar(128),
    ServerName nvarchar(128), DatabaseName nvarchar(128), DatabaseVersion int, DatabaseCreationDate datetime, BackupSize numeric(20,0), FirstLSN numeric(25,0), LastLSN numeric(25,0), CheckpointLSN numeric(25,0),
    DatabaseBackupLSN numeric(25,0), BackupStartDate datetime, BackupFinishDate datetime, SortOrder smallint, CodePage smallint, UnicodeLocaleId int, UnicodeComparisonStyle int, CompatibilityLevel tinyint,
    SoftwareVendorId int, SoftwareVersionMajor int, SoftwareVersionMinor int, SoftwareVersionBuild int, MachineName nvarchar(128), Flags int, BindingID uniqueidentifier, RecoveryForkID uniqueidentifier,
    Collation nvarchar(128), FamilyGUID uniqueidentifier, HasBulkLoggedData bit, IsSnapshot bit, IsReadOnly bit, IsSingleUser bit, HasBackupChecksums bit, IsDamaged bit, BeginsLogChain bit, HasIncompleteMetaData bit,
    IsForceOffline bit, IsCopyOnly bit, FirstRecoveryForkID uniqueidentifier, ForkPointLSN numeric(25,0), RecoveryModel nvarchar(60), DifferentialBaseLSN numeric(25,0), DifferentialBaseGUID uniqueidentifier,
    BackupTypeDescription nvarchar(60), BackupSetGUID uniqueidentifier, CompressedBackupSize bigint, Containment tinyint, KeyAlgorithm nvarchar(32), EncryptorThumbprint varbinary(20), EncryptorType nvarchar(32),
    LastValidRestoreTime datetime, TimeZone nvarchar(32), CompressionAlgorithm nvarchar(32))
insert #header exec ('restore headeronly from disk = ''shop.bak''')
insert #header exec ('restore headeronly from disk = ''shop.dif''')
select d.Position, d.BackupType, d.BackupTypeDescription, d.BackupName, d.BackupDescription, d.IsCopyOnly, d.Compressed, base = case when d.DifferentialBaseGUID = f.BackupSetGUID then 'the full one' end,
    lsns = case when d.DifferentialBaseLSN = f.CheckpointLSN and d.DatabaseBackupLSN = f.CheckpointLSN and d.FirstLSN <= d.CheckpointLSN and d.CheckpointLSN <= d.LastLSN and d.CheckpointLSN > f.LastLSN then 'in order' end
from #header d left join #header f on f.BackupType = 1 and d.BackupType = 5 order by d.BackupType, d.Position
GO
create table #files (LogicalName nvarchar(128), PhysicalName nvarchar(260), Type char(1), FileGroupName nvarchar(128), Size numeric(20,0), MaxSize numeric(20,0), FileId bigint, CreateLSN numeric(25,0), DropLSN numeric(25,0),
    UniqueId uniqueidentifier, ReadOnlyLSN numeric(25,0), ReadWriteLSN numeric(25,0), BackupSizeInBytes bigint, SourceBlockSize int, FileGroupId int, LogGroupGUID uniqueidentifier, DifferentialBaseLSN numeric(25,0),
    DifferentialBaseGUID uniqueidentifier, IsReadOnly bit, IsPresent bit, TDEThumbprint varbinary(32), SnapshotUrl nvarchar(360))
insert #files exec ('restore filelistonly from disk = ''shop.dif''')
select LogicalName, Type, part = case when BackupSizeInBytes < Size then 'a part' else 'all' end, base = case when DifferentialBaseLSN = (select CheckpointLSN from #header where BackupType = 1) then 'the full one' end from #files
GO
-- restart:
-- More happens: tables go and come, and then the log.
drop table shop.dbo.lines
create table shop.dbo.parts (n int primary key)
insert shop.dbo.parts values (1)
delete shop.dbo.orders where n between 100 and 3000
backup database shop to disk = 'later.dif' with differential, init
insert shop.dbo.parts values (2)
backup log shop to disk = 'shop.trn' with init
GO
restore database copy from disk = 'later.dif'
restore database shop from disk = 'later.dif'
restore database copy from disk = 'shop.bak' with norecovery
restore log copy from disk = 'later.dif'
-- restart:
restore database copy from disk = 'later.dif' with norecovery
select state_desc from sys.databases where name = 'copy'
-- What is newer is not taken back.
restore database copy from disk = 'shop.dif' with file = 1, norecovery
restore log copy from disk = 'shop.trn'
GO
select orders = count(*), rows_sum = sum(n), docs = sum(isnull(len(doc), 0)) from copy.dbo.orders
select orders = count(*), rows_sum = sum(n), docs = sum(isnull(len(doc), 0)) from shop.dbo.orders
select n from copy.dbo.parts order by n
select name from copy.sys.tables order by name
dbcc checkdb (copy) with no_infomsgs
-- The copy has had no full backup.
backup database copy to disk = 'copy.dif' with differential
select destination_database_name, restore_type, recovery from msdb.dbo.restorehistory order by restore_history_id
GO
-- Recovered with it, in one step; two different ones over one full backup.
restore database one from disk = 'shop.bak' with norecovery
restore database one from disk = 'shop.dif' with file = 2, recovery
restore database two from disk = 'shop.bak' with norecovery
restore database two from disk = 'later.dif' with stats = 50
select one = (select count(*) from one.dbo.orders), two = (select count(*) from two.dbo.orders), changed = (select note from one.dbo.orders where n = 2000), lines = (select count(*) from one.dbo.lines)
restore database one from disk = 'later.dif'
backup log one to disk = 'one.trn'
GO
-- It refers to the newest full one; the older one does not fit, unless log has brought it that far.
backup database shop to disk = 'second.bak' with init
backup log shop to disk = 'shop.trn'
insert shop.dbo.parts values (3)
backup database shop to disk = 'second.dif' with init, differential
backup log shop to disk = 'shop.trn'
restore database three from disk = 'shop.bak' with norecovery
restore database three from disk = 'second.dif' with norecovery
restore database three from disk = 'later.dif' with norecovery
restore database three from disk = 'second.dif' with norecovery
restore log three from disk = 'shop.trn' with file = 1, norecovery
restore log three from disk = 'shop.trn' with file = 2, norecovery
restore database three from disk = 'second.dif' with norecovery
restore log three from disk = 'shop.trn' with file = 3
restore database four from disk = 'second.bak' with norecovery
restore database four from disk = 'later.dif' with norecovery
restore database four from disk = 'second.dif'
select n from three.dbo.parts order by n
select n from four.dbo.parts order by n
GO
-- In the simple recovery model, which has no log backups, it is the way between two full ones.
create database simple
alter database simple set recovery simple
GO
create table simple.dbo.t (n int primary key)
backup database simple to disk = 'simple.bak'
insert simple.dbo.t values (1)
checkpoint
backup database simple to disk = 'simple.bak' with differential
truncate table simple.dbo.t
insert simple.dbo.t values (7)
backup database simple to disk = 'simple.bak' with differential
drop database simple
restore database simple from disk = 'simple.bak' with norecovery
restore database simple from disk = 'simple.bak' with file = 3
select n from simple.dbo.t
GO
