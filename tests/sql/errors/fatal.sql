-- RAISERROR from severity 19 takes WITH LOG, and that takes the permission; from severity 20 the session ends, caught or not.
create login plain with password = 'Plain-Keel-12'; create table t (a int)
GO
raiserror('unlogged', 19, 1)
raiserror('logged', 19, 2) with log
print 'the batch goes on'
GO
execute as login = 'plain'
raiserror('not his', 16, 1) with log
print 'this one too'
revert
GO
-- A severity below none is the message's own.
raiserror(15097, -1, -1); raiserror(15600, -1, -1, 'mysp'); raiserror('own', -1, -1)
print 'still here'
GO
-- session doomed:
begin transaction; insert t values (1)
begin try raiserror('the end', 20, 3) with log end try
begin catch print 'not reached' end catch
print 'not reached'
-- session main:
select count(*) as rows_left from t
