-- A batch that names columns which are not there does nothing; all of them are told of.
create table t (a int)
GO
insert t values (1)
select nope from t
insert t (b) values (2)
select t.c, x.a from t x
select * from not_there_yet where d = 1
GO
select count(*) as n from t
select @@error as not_of_that_batch
GO
select nope from t; print 'not said'
GO
select @@error as e
GO
begin transaction
update t set a = 1
delete t where nope = 1
commit
GO
select @@trancount as n
GO
-- a branch that is never taken counts, TRY catches nothing of its own batch
if 1 = 0 select nope from t
print 'not said'
GO
begin try
    insert t values (3)
    select nope from t
end try
begin catch
    print 'not caught'
end catch
GO
-- what is not there yet may come
begin try
    insert t values (4)
    select nope from not_there
end try
begin catch
    print 'not caught either'
end catch
GO
exec ('create table comes (d int)')
select d from comes
GO
create table here (e int)
select e from here
alter table here add f int
select f from here
GO
select count(*) as n from t
GO
-- dynamic text by itself; who catches it catches the first
insert t values (5)
exec ('insert t values (6); select nope from t; select none from t')
print concat('goes on ', @@error)
exec sp_executesql N'insert t values (@a); select nope from t', N'@a int', 7
begin try
    exec sp_executesql N'insert t values (@a); select nope from t', N'@a int', 7
end try
begin catch
    select error_number() as number, error_line() as line, xact_state() as state
end catch
select a from t order by a
GO
-- the same batch again, when the column has come
alter table t add nope int
GO
insert t values (1, 2)
select nope from t where nope = 2
GO
alter table t drop column nope
GO
insert t values (1, 2)
select nope from t where nope = 2
GO
set noexec on
GO
print 'nothing'
select nope from t
GO
set noexec off
GO
-- a table that never came: not for the TRY of its own level, but for that of a caller, and of a text's
create procedure misses as
begin try
    select a from nowhere
end try
begin catch
    print 'not in here'
end catch
GO
begin try
    exec misses
    print 'not said'
end try
begin catch
    select error_number() as number, error_procedure() as [procedure], error_line() as line
end catch
exec misses
print 'goes on'
begin try
    exec ('select a from nowhere')
end try
begin catch
    select error_number() as number
end catch
begin try
    begin try
        select 1 / 0 as a
    end try
    begin catch
        select a from nowhere
    end catch
end try
begin catch
    print 'not here either'
end catch
