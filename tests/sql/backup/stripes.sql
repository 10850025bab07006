-- A backup to several files: they are one media set.
create database shop
GO
create table shop.dbo.t (a int primary key, s varchar(max))
insert shop.dbo.t select value, replicate(convert(varchar(max), 'x' + convert(varchar(10), value)), 3000) from generate_series(1, 200)
backup database shop to disk = 'a.bak', disk = 'b.bak', disk = 'c.bak'
insert shop.dbo.t values (201, 'more')
backup log shop to disk = 'a.bak', disk = 'b.bak', disk = 'c.bak' with compression
GO
select s.type, s.last_family_number, f.family_sequence_number, right(f.physical_device_name, 5) as device, m.media_family_count
from msdb.dbo.backupset s join msdb.dbo.backupmediafamily f on f.media_set_id = s.media_set_id
join msdb.dbo.backupmediaset m on m.media_set_id = s.media_set_id order by s.backup_set_id, f.family_sequence_number
restore verifyonly from disk = 'c.bak', disk = 'a.bak', disk = 'b.bak' with file = 2
GO
-- All of them, of this set, each once.
restore verifyonly from disk = 'a.bak', disk = 'b.bak'
restore verifyonly from disk = 'a.bak'
restore verifyonly from disk = 'a.bak', disk = 'b.bak', disk = 'a.bak'
backup database shop to disk = 'one.bak'
restore verifyonly from disk = 'a.bak', disk = 'b.bak', disk = 'one.bak'
backup database shop to disk = 'd.bak', disk = 'e.bak'
restore verifyonly from disk = 'a.bak', disk = 'b.bak', disk = 'd.bak'
GO
-- A file of one set is not begun anew for another without FORMAT.
backup database shop to disk = 'a.bak'
backup database shop to disk = 'a.bak', disk = 'b.bak'
backup database shop to disk = 'one.bak', disk = 'new.bak' with init
backup database shop to disk = 'a.bak', disk = 'new1.bak', disk = 'new2.bak'
backup database shop to disk = 'd.bak' with format
restore verifyonly from disk = 'd.bak'
backup database shop to disk = 'e.bak', disk = 'one.bak' with format
backup database shop to disk = 'e.bak', disk = 'one.bak' with init
restore verifyonly from disk = 'one.bak', disk = 'e.bak'
restore verifyonly from disk = 'one.bak', disk = 'e.bak' with file = 2
GO
-- What one of them says by itself.
create table #label (a sysname null, media uniqueidentifier, families int, number int, family uniqueidentifier, b int, c tinyint, d nvarchar(255), software nvarchar(128), e int, f datetime, g int, h bit)
insert #label exec ('restore labelonly from disk = ''b.bak''')
select families, number, software, iif(f is null, 0, 1) as dated from #label
restore headeronly from disk = 'b.bak'
GO
restore database again from disk = 'b.bak', disk = 'a.bak', disk = 'c.bak' with norecovery, move 'shop' to 'x', move 'shop_log' to 'y'
restore log again from disk = 'c.bak', disk = 'b.bak', disk = 'a.bak' with file = 2
select count(*) as n, sum(len(s)) as length, max(a) as last from again.dbo.t
GO
-- Old ones are cleared away, each file by itself.
declare @directory nvarchar(400) = convert(nvarchar(400), serverproperty('InstanceDefaultBackupPath')), @old datetime = dateadd(day, -1, getdate()), @new datetime = dateadd(day, 1, getdate())
exec xp_delete_file 0, @directory, 'bak', @old
restore verifyonly from disk = 'a.bak', disk = 'b.bak', disk = 'c.bak'
exec xp_delete_file 0, @directory, 'bak', @new
restore verifyonly from disk = 'a.bak', disk = 'b.bak', disk = 'c.bak'
GO
declare @i int = 1, @sql nvarchar(max) = N'backup database shop to disk = ''0.bak'''
while @i < 65 select @sql += concat(N', disk = ''', @i, N'.bak'''), @i += 1
exec (@sql)
GO
