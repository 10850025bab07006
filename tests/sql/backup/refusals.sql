-- What is refused, with the product's numbers; and what a file says of itself.
create database d
GO
-- A file that is not there, a set that is not there.
restore database e from disk = 'none.bak'
restore headeronly from disk = 'none.bak'
GO
backup database d to disk = 'd.bak' with retaindays = 3
restore database e from disk = 'd.bak' with file = 7
-- It is to be kept for three days.
begin try backup database d to disk = 'd.bak' with init end try begin catch print 'kept' end catch
backup database d to disk = 'd.bak' with init, skip
restore verifyonly from disk = 'd.bak' with file = 2
backup database d to disk = 'd.bak' with format
GO
-- Directories are made, by a procedure or by the way.
exec master.dbo.xp_create_subdir '/backups/of/d'
backup database d to disk = '/backups/of/d/full/d.bak'
exec xp_create_subdir
-- Not among the instance's own files.
backup database d to disk = '/data/master/x' with format
backup database d to disk = '../master/x' with format
backup database nothing to disk = 'd.bak'
backup database tempdb to disk = 'd.bak'
restore database master from disk = 'd.bak' with replace
backup log d to disk = 'd.trn'
alter database d set recovery simple
backup log d to disk = 'd.trn'
backup database d to disk = 'a.bak', disk = 'b.bak'
backup database d to tape = 'x'
backup database d to somewhere
restore database e from disk = 'd.bak' with differential
backup database d to disk = 'd.bak' with nonsense
restore database e from disk = 'd.bak' with move 'x' to 'y'
restore database e from disk = 'd.bak' with recovery, norecovery
restore log e from disk = 'd.bak'
GO
-- CATCH gets the second of the two errors, and nothing is said before.
begin try
    backup database nothing to disk = 'd.bak'
end try
begin catch
    select error_number() as number, error_severity() as severity, error_message() as message
end catch
GO
-- Who may.
create login keeper with password = 'Keep-4-ever'
create login other with password = 'Keep-4-ever'
GO
use d
create user keeper
alter role db_backupoperator add member keeper
create user other
GO
execute as user = 'other'
backup database d to disk = 'd.bak'
restore database d from disk = 'd.bak' with replace
revert
execute as user = 'keeper'
backup database d to disk = 'keeper.bak'
revert
GO
use master
GO
execute as login = 'keeper'
restore filelistonly from disk = 'keeper.bak'
restore database f from disk = 'keeper.bak'
revert
GO
alter server role dbcreator add member keeper
GO
execute as login = 'keeper'
restore database f from disk = 'keeper.bak'
revert
GO
-- Into the void: it counts as a backup.
backup database d to disk = 'NUL' with copy_only
GO
GO
-- What fails leaves no file behind that was not there.
backup log master to disk = 'never.trn'
GO
create database brief
backup log brief to disk = 'never.trn'
GO
restore headeronly from disk = 'never.trn'
GO
drop database brief
