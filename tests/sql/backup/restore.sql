-- A database goes into a file and comes back, under its own name or another, and is a database of its own then.
create database shop
GO
use shop
create table dbo.part (id int identity primary key, name nvarchar(30) unique, price money default 1)
GO
create view cheap as select name from dbo.part where price < 5
GO
create procedure add_part @name nvarchar(30) as insert part (name) values (@name)
GO
insert part (name, price) values (N'bolt', 2), (N'nut', 1), (N'anchor', 90)
create user visitor without login
grant select on cheap to visitor
GO
backup database shop to disk = 'shop.bak' with name = N'first', description = N'three parts', stats = 50
GO
exec add_part N'chain'
begin tran
update part set price = 0 where name = N'anchor'
-- Within a transaction there is no backup.
backup database shop to disk = 'shop.bak'
rollback
backup database shop to disk = N'shop.bak' with compression, copy_only
GO
use master
-- Two sets in one file.
select count(*) as sets from msdb.dbo.backupset where database_name = 'shop'
restore verifyonly from disk = 'shop.bak'
restore verifyonly from disk = 'shop.bak' with file = 2, checksum
restore verifyonly from disk = 'shop.bak' with file = 3
GO
-- Into a table, as scripts that look before they restore do.
create table #files (LogicalName nvarchar(128), PhysicalName nvarchar(260), Type char(1), FileGroupName nvarchar(128), Size numeric(20,0), MaxSize numeric(20,0),
    FileId bigint, CreateLSN numeric(25,0), DropLSN numeric(25,0), UniqueId uniqueidentifier, ReadOnlyLSN numeric(25,0), ReadWriteLSN numeric(25,0),
    BackupSizeInBytes bigint, SourceBlockSize int, FileGroupId int, LogGroupGUID uniqueidentifier, DifferentialBaseLSN numeric(25,0),
    DifferentialBaseGUID uniqueidentifier, IsReadOnly bit, IsPresent bit, TDEThumbprint varbinary(32), SnapshotUrl nvarchar(360))
insert #files exec ('restore filelistonly from disk = ''shop.bak''')
select LogicalName, PhysicalName, Type, FileGroupName, FileId, IsPresent from #files
GO
-- By variables, as maintenance scripts do.
declare @db sysname = N'shop_then', @file nvarchar(260) = N'shop.bak', @from nvarchar(30) = N'shop', @to nvarchar(260) = N'/data/x.mdf'
restore database @db from disk = @file with file = 1, move @from to @to, move 'shop_log' to '/data/x.ldf', nounload, stats = 100
GO
restore database shop_now from disk = 'shop.bak' with file = 2
GO
select id, name, price from shop_then.dbo.part order by id
select id, name, price from shop_now.dbo.part order by id
-- Each is its own: identity goes on, the others do not change.
exec shop_now.dbo.add_part N'rope'
insert shop_then.dbo.part (name) values (N'rope'), (N'tar')
select (select count(*) from shop.dbo.part) as shop, (select count(*) from shop_then.dbo.part) as shop_then, (select count(*) from shop_now.dbo.part) as shop_now
select max(id) as id from shop_then.dbo.part
insert shop_then.dbo.part (name) values (N'bolt')
select name from shop_then.sys.database_principals where name = 'visitor'
select name from shop_then.dbo.cheap order by name
GO
-- Over one that is there: only when that is said, or what is lost does not count.
restore database shop from disk = 'shop.bak' with file = 1
restore database shop_then from disk = 'shop.bak' with file = 1
alter database shop set recovery simple
restore database shop from disk = 'shop.bak' with file = 1
select name from shop.dbo.part order by id
GO
use shop_then
GO
restore database shop_then from disk = 'shop.bak' with replace
GO
use master
GO
restore database shop_then from disk = 'shop.bak' with replace, file = 2
select name from shop_then.dbo.part order by id
GO
-- In two steps.
restore database late from disk = 'shop.bak' with norecovery
select name, state_desc from sys.databases where database_id > 4 order by name
select * from late.dbo.part
GO
use late
GO
restore database late with recovery
select count(*) as parts from late.dbo.part
restore database late with recovery
restore database nowhere with recovery
restore database later from disk = 'shop.bak' with norecovery, file = 2
GO
-- restart:
select name, state_desc from sys.databases where database_id > 4 order by name
select count(*) as parts from late.dbo.part
select count(*) as parts from shop_then.dbo.part
select count(*) as parts from later.dbo.part
restore database later with recovery
select count(*) as parts from later.dbo.part
exec late.dbo.add_part N'sail'
select id, name from late.dbo.part where name = N'sail'
select database_name, name, description, position, type, is_copy_only, has_backup_checksums, recovery_model from msdb.dbo.backupset order by backup_set_id
select destination_database_name, restore_type, [replace], recovery, backup_set_id from msdb.dbo.restorehistory order by restore_history_id
select physical_device_name, device_type from msdb.dbo.backupmediafamily
select media_set_id, is_compressed from msdb.dbo.backupmediaset
GO
exec msdb.dbo.sp_delete_database_backuphistory @database_name = N'late'
select count(*) as restores from msdb.dbo.restorehistory
exec msdb.dbo.sp_delete_backuphistory '2999-01-01'
select count(*) as sets from msdb.dbo.backupset
exec msdb.dbo.sp_delete_backuphistory
GO
