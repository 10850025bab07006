-- Log backups continue each other from a full backup on; a copy is rolled forward with them, to the end or to a point in time.
create database shop
GO
use shop
create table orders (n int primary key, at datetime2 default sysdatetime())
insert orders (n) values (1)
GO
use master
-- Before a full backup there is nothing that the log could continue.
backup log shop to disk = 'shop.trn'
select last_log_backup_lsn from sys.database_recovery_status where database_id = db_id('shop')
backup database shop to disk = 'shop.bak' with copy_only
backup log shop to disk = 'shop.trn'
GO
backup database shop to disk = 'shop.bak' with init
select case when last_log_backup_lsn > 0 then 'the chain has begun' end as chain from sys.database_recovery_status where database_id = db_id('shop')
insert shop.dbo.orders (n) values (2)
backup log shop to disk = 'shop.trn'
create table #points (name varchar(10), at datetime2)
insert shop.dbo.orders (n) values (3)
insert #points values ('good', sysdatetime())
waitfor delay '00:00:00.020'
delete shop.dbo.orders where n = 1
insert #points values ('bad', sysdatetime())
backup log shop to disk = 'shop.trn' with compression, stats = 50
-- Nothing new is a backup, too.
backup log shop to disk = 'shop.trn' with copy_only
insert shop.dbo.orders (n) values (4)
backup log shop to disk = 'shop.trn' with name = 'the last'
GO
select backup_type = h.type, h.begins_log_chain, h.is_copy_only, h.name, f = m.physical_device_name, h.position
from msdb.dbo.backupset h join msdb.dbo.backupmediafamily m on m.media_set_id = h.media_set_id order by backup_set_id
-- Each begins where the one before it ended, a copy taken beside the chain does not move it.
select a.position, b.position, chained = case when a.last_lsn = b.first_lsn then 'yes' else 'no' end
from msdb.dbo.backupset a join msdb.dbo.backupset b on b.backup_set_id > a.backup_set_id and b.first_lsn = a.last_lsn and a.type = 'L'
where b.is_copy_only = 0 and a.last_lsn > a.first_lsn order by 1, 2
GO
-- A copy, rolled forward step by step.
restore database copy from disk = 'shop.bak' with norecovery
restore log copy from disk = 'shop.trn' with file = 2, norecovery
GO
restore log copy from disk = 'shop.trn' with file = 4
GO
restore log copy from disk = 'shop.trn' with file = 1, norecovery
restore log copy from disk = 'shop.trn' with file = 2, norecovery
restore log copy from disk = 'shop.trn' with file = 1, norecovery
GO
select * from copy.dbo.orders
GO
restore log copy from disk = 'shop.trn' with file = 4, recovery
select n from copy.dbo.orders order by n
-- Its log backups go on from there; those of the other one do not continue it.
insert copy.dbo.orders (n) values (20)
backup log copy to disk = 'copy.trn'
restore log copy from disk = 'shop.trn' with file = 4
GO
-- To the moment before the accident.
declare @good datetime2, @text varchar(40), @early varchar(40) = convert(varchar(40), dateadd(hour, -1, sysdatetime()), 126)
select @good = at from #points where name = 'good'
set @text = convert(varchar(40), @good, 126)
restore database saved from disk = 'shop.bak' with norecovery, stopat = @early
restore database saved from disk = 'shop.bak' with norecovery, stopat = @text
restore log saved from disk = 'shop.trn' with file = 1, stopat = @early
restore log saved from disk = 'shop.trn' with file = 1, stopat = @text
select state_desc from sys.databases where name = 'saved'
restore log saved from disk = 'shop.trn' with file = 2, stopat = @text, recovery
select n from saved.dbo.orders order by n
select destination_database_name, restore_type, recovery, stopped = case when stop_at is null then 'no' else 'yes' end from msdb.dbo.restorehistory order by restore_history_id
GO
-- A backup of the log has the points before it, also when nothing is committed any more between the last commit and the backup.
declare @quiet varchar(40) = convert(varchar(40), sysdatetime(), 126)
backup log shop to disk = 'quiet.trn'
insert shop.dbo.orders (n) values (50)
backup log shop to disk = 'quiet.trn'
restore database quiet from disk = 'shop.bak' with norecovery
declare @file int = 1
while @file <= 4 begin restore log quiet from disk = 'shop.trn' with file = @file, stopat = @quiet, norecovery; set @file += 1 end
restore log quiet from disk = 'quiet.trn' with file = 1, stopat = @quiet, recovery
select state_desc from sys.databases where name = 'quiet'
select n from quiet.dbo.orders order by n
drop database quiet
GO
-- What is not of this chain.
restore database other from disk = 'shop.trn' with file = 1
restore log nothing from disk = 'shop.trn'
restore log shop from disk = 'shop.trn'
restore database other from disk = 'shop.bak' with norecovery
restore log other from disk = 'shop.bak'
restore log other from disk = 'shop.trn' with stopat = 'yesterday'
backup database saved to disk = 'saved.bak'
insert saved.dbo.orders (n) values (50)
backup log saved to disk = 'saved.trn'
restore log other from disk = 'saved.trn'
drop database other
GO
-- The log is kept until it is backed up; SIMPLE ends that.
checkpoint
select log_reuse_wait_desc from sys.databases where name = 'copy'
alter database shop set recovery simple
backup log shop to disk = 'shop.trn'
alter database shop set recovery full
backup log shop to disk = 'shop.trn'
backup log shop to disk = 'shop.trn' with norecovery
GO
-- The roles change: the tail of one is the last that the other gets, and then it is the other way round.
create database ship
GO
use ship
create table orders (n int primary key)
insert orders values (1)
GO
backup database ship to disk = 'ship.bak'
backup log ship to disk = 'tail.trn' with norecovery
use master
restore database other_ship from disk = 'ship.bak' with norecovery
insert ship.dbo.orders values (2)
backup log ship to disk = 'tail.trn' with norecovery
GO
select name, state_desc from sys.databases where name like '%ship' order by name
select * from ship.dbo.orders
GO
restore log other_ship from disk = 'tail.trn'
insert other_ship.dbo.orders values (3)
backup log other_ship to disk = 'back.trn' with norecovery
restore log ship from disk = 'back.trn'
select n from ship.dbo.orders order by n
restore database other_ship with recovery
select n from other_ship.dbo.orders order by n
GO
-- Old files go; what is no backup, or newer, stays.
backup database shop to disk = '/old/a.bak'
backup database shop to disk = '/old/b.bak'
backup database shop to disk = '/old/deeper/c.bak'
declare @before varchar(30) = convert(varchar(30), dateadd(day, -1, sysdatetime()), 126), @after varchar(30) = convert(varchar(19), dateadd(day, 1, sysdatetime()), 126)
exec master.dbo.xp_delete_file 0, '/old', 'bak', @before
exec xp_delete_file 0, '/old', 'trn', @after, 1
restore verifyonly from disk = '/old/a.bak'
exec xp_delete_file 0, '/old', 'bak', @after
restore verifyonly from disk = '/old/b.bak'
restore verifyonly from disk = '/old/deeper/c.bak'
exec xp_delete_file 0, '/old', '.BAK', @after, 1
restore verifyonly from disk = '/old/deeper/c.bak'
exec xp_delete_file 0, '/nowhere', 'bak', @after
exec xp_delete_file 0
-- One by its name, however old.
backup database shop to disk = '/old/d.bak'
exec xp_delete_file 0, '/old/d.bak'
restore verifyonly from disk = '/old/d.bak'
exec xp_delete_file 0, '/old/d.bak'
GO
restore verifyonly from disk = 'shop.trn' with file = 2
GO
