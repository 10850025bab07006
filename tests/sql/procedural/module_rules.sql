-- What views, functions and triggers may not say is told when they are made.
create table t (a int, b int)
GO
create view v as select a, b + 1 from t
GO
create view v as select a, b A from t
GO
create view v (x, x) as select a, b from t
GO
create view v as select a from t order by a
GO
create view v as select a from t union select b from t order by 1
GO
create view v as select top 10 a from t order by a
GO
alter view v as select a from t order by a offset 0 rows
GO
alter view v (x) as select a, b from t
GO
alter view v (x, y, z) as select a, b from t
GO
alter view v (x, y) as select a, b + 1 from t
GO
create table #temp (a int)
GO
create view w as select a from #temp
GO
drop table #temp
drop view v
GO
-- Inline functions.
create function dbo.f () returns table as return select a, b + 1 from t
GO
create function dbo.f () returns table as return select a, b a from t
GO
create function dbo.f () returns table as return select a from t order by a
GO
create function dbo.f () returns table as return select newid() n
GO
-- Functions end with RETURN, return nothing to the client and leave everything as it is.
create function dbo.g () returns int as begin declare @x int = 1 end
GO
create function dbo.g (@x int) returns int as begin if @x > 1 return 1 else return 2 end
GO
create function dbo.g () returns int as
begin
  select 1
  return 1
end
GO
create function dbo.g () returns int as
begin
  print 'a'
  insert t values (1, 2)
  update t set a = 1
  exec ('select 1')
  return rand() * 5
end
GO
create function dbo.g () returns int as begin begin try declare @x int end try begin catch end catch return 1 end
GO
create function dbo.g () returns int as begin return end
GO
create function dbo.g () returns @r table (a int) as begin return 1 end
GO
create function dbo.g (@n int) returns @r table (a int) as
begin
  declare @x int
  insert @r values (@n)
  select @x = max(a) from @r
  update r set a = @x + 1 from @r r
  while @n > 0 begin insert @r values (@n) set @n -= 1 end
  return
end
GO
select a from dbo.g(2)
drop function dbo.g
GO
-- RETURNS NULL ON NULL INPUT does not run the function.
create function dbo.h (@x int, @y int) returns int with returns null on null input as begin return isnull(@x, 5) + isnull(@y, 7) end
GO
select dbo.h(1, 2) a, dbo.h(null, 2) b, dbo.h(1, null) c
declare @r int = 1, @q int
exec @r = dbo.h null, 2
exec @q = dbo.h 3, 4
select @r r, @q q
select null_on_null_input from sys.sql_modules where object_id = object_id('h')
drop function dbo.h
GO
-- Triggers know the columns of their table.
create trigger tr on t after insert as select nosuch from inserted
GO
create trigger tr on t after insert as
if update(nosuch) return
select i.a, d.b from inserted i join deleted d on d.a = i.a
GO
create trigger tr on t after insert, update as
if update(a) or update([b]) select i.a, d.b from inserted i left join deleted d on d.a = i.a
GO
insert t values (1, 2)
drop table t
GO
GO
-- Modules are made and dropped where one is.
create view master.dbo.v as select 1 as a
GO
create procedure master..p as select 1 as a
GO
drop function master.dbo.f
GO
-- A constant is not given back.
exec sp_executesql N'select @a as a', N'@a int output', 5 output
GO
-- EXEC puts strings and variables together, nothing else.
declare @a int = 1
exec ('select ' + str(@a))
GO
set statistics nonsense on
GO
select 1 as a option (expand)
