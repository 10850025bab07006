-- A mirrored media set: each mirror is a whole backup, and the devices of one stand in for those of another.
create database shop
GO
create table shop.dbo.t (n int primary key)
insert shop.dbo.t values (1)
backup database shop to disk = 'a.bak' mirror to disk = 'b.bak'
GO
-- No empty file is left behind.
restore headeronly from disk = 'b.bak'
GO
backup database shop to disk = 'a.bak' mirror to disk = 'b.bak', disk = 'b2.bak' with format
GO
backup database shop to disk = 'a.bak' mirror to disk = 'b.bak' mirror to disk = 'c.bak' mirror to disk = 'd.bak' mirror to disk = 'e.bak' with format
GO
backup database shop to disk = 'a.bak' mirror to disk = 'a.bak' with format
GO
backup database shop to disk = 'a.bak' mirror to disk = 'b.bak' with format
insert shop.dbo.t values (2)
backup log shop to disk = 'a.bak' mirror to disk = 'b.bak'
select f.family_sequence_number, f.physical_device_name, f.mirror from msdb.dbo.backupmediafamily f order by media_set_id, mirror
select mirror_count from msdb.dbo.backupmediaset
restore database copy from disk = 'b.bak' with norecovery
restore log copy from disk = 'a.bak' with file = 2
select n from copy.dbo.t
GO
-- To one of them only: they are no mirrors any more.
backup log shop to disk = 'b.bak'
backup log shop to disk = 'a.bak' mirror to disk = 'b.bak'
GO
-- Two families, two mirrors: one of each is enough.
backup database shop to disk = 'a1.bak', disk = 'a2.bak' mirror to disk = 'b1.bak', disk = 'b2.bak' with format
backup log shop to disk = 'a1.bak', disk = 'a2.bak' mirror to disk = 'b1.bak', disk = 'b2.bak'
restore verifyonly from disk = 'b1.bak', disk = 'a2.bak'
restore database copy from disk = 'a1.bak', disk = 'b2.bak' with replace
select n from copy.dbo.t
