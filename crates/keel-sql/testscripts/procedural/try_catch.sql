-- Errors inside TRY go to CATCH; the ERROR_ functions tell about them.
begin try
    select 1 / 0 as x
    print 'not reached'
end try
begin catch
    select error_number() as n, error_severity() as s, error_state() as st, error_line() as l, error_message() as m
end catch
print 'after'
GO
-- RAISERROR and THROW
begin try
    raiserror('custom %s %d', 16, 3, 'text', 42)
end try
begin catch
    print error_message()
    begin try
        throw
    end try
    begin catch
        print 'rethrown: ' + error_message()
    end catch
end catch
GO
raiserror('info only', 10, 1) with nowait
raiserror('an error', 16, 1)
print 'still running'
select @@error as e
GO
throw 50001, 'thrown', 7
print 'not reached'
GO
-- Statement errors do not end a batch, conversion errors do.
select 1/0
print 'goes on'
select cast('x' as int)
print 'not reached'
GO
-- An error in a procedure called within TRY
create procedure fails as begin select 1/0; print 'unreachable in try' end
GO
begin try
    exec fails
end try
begin catch
    select error_procedure() as p, error_line() as l
end catch
exec fails
GO
-- XACT_ABORT dooms
create table t (a int primary key)
insert into t values (1)
GO
set xact_abort on
begin try
    begin tran
    insert into t values (2)
    insert into t values (1)
end try
begin catch
    select xact_state() as x, @@trancount as t
    begin try
        commit
    end try
    begin catch
        print error_message()
    end catch
    rollback
end catch
select count(*) as n from t
set xact_abort off
GO
-- A doomed transaction at the end of a batch
begin try
    begin tran
    insert into t values (5)
    select cast('abc' as int)
end try
begin catch
    print 'caught'
    select xact_state() as x
end catch
GO
select count(*) as n, @@trancount as t from t
