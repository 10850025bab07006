-- TRY/CATCH, RAISERROR, THROW, XACT_ABORT, doomed transactions, savepoints.
create table t (id int primary key)
GO
begin try
  insert t values (1)
  insert t values (1)
  print 'not reached'
end try
begin catch
  select error_number() as n, error_severity() as sev, error_state() as st, error_line() as line, error_message() as msg, error_procedure() as p
end catch
select error_number() as outside
GO
raiserror ('plain %s %d %5.2s|', 16, 3, 'text', 7, 'abc')
raiserror ('info', 10, 1)
raiserror ('%i%%', 5, 1, 50)
print 'goes on'
GO
throw 50001, 'thrown', 2
print 'not reached'
GO
begin try
  throw 50001, 'inner', 2
end try
begin catch
  print 'caught ' + error_message();
  throw
end catch
GO
throw
GO
throw 100, 'too small', 1
GO
begin tran
insert t values (2)
save tran s
insert t values (3)
rollback tran s
insert t values (4)
commit
select id from t order by id
GO
begin tran
begin tran
select @@trancount as two
commit
select @@trancount as one
rollback
select @@trancount as zero
GO
commit
GO
rollback
GO
-- A statement that fails does not end the batch; what came before stays.
insert t values (10)
insert t values (1)
insert t values (11)
select id from t where id >= 10 order by id
GO
set xact_abort on
begin tran
insert t values (20)
insert t values (1)
print 'not reached'
GO
select @@trancount as n, count(*) as gone from t where id = 20
set xact_abort on
begin try
  begin tran
  insert t values (30)
  insert t values (1)
end try
begin catch
  select xact_state() as doomed
  begin try
    insert t values (31)
  end try
  begin catch
    print error_message()
  end catch
  if xact_state() = -1 rollback
end catch
set xact_abort off
select count(*) as gone from t where id >= 30
GO
begin tran
insert t values (40)
select cast('x' as int)
GO
select @@trancount as n
if @@trancount > 0 rollback
GO
create procedure p as begin begin tran; insert t values (50) end
GO
exec p
select @@trancount as n
rollback
GO
drop procedure p
drop table t
