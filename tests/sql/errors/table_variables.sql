-- A table variable that cannot be made is an error of its batch or module, of which nothing runs.
print 'not reached'
declare @t table (a nosuch)
select * from @t
go
print 'not reached'
declare @t table (a int, a int)
go
declare @t table (a int null primary key)
insert @t values (null)
go
create procedure p as
declare @t table (a nosuch)
select * from @t
go
create function f() returns @t table (a nosuch) as begin return end
go
-- What its columns' types are is known when the batch begins.
create type whole from int
go
declare @t table (a whole primary key, b as a + 1, check (a > 0))
insert @t values (1)
select * from @t
go
