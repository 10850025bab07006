-- Table variables as arguments of functions.
create type numbers as table (n int primary key, name varchar(10))
create type others as table (n int)
GO
create function total (@t numbers readonly, @factor int) returns int as
begin
  return (select sum(n) * @factor from @t)
end
GO
create function above (@t numbers readonly, @least int) returns table as
return select n, name from @t where n >= @least
GO
create function doubled (@t dbo.numbers readonly) returns @r table (n int, d int) as
begin
  insert @r select n, n * 2 from @t
  return
end
GO
-- One hands on what it got: inline to inline, scalar to all.
create function top_half (@t numbers readonly) returns table as
return select a.n, dbo.total(@t, 1) as total from above(@t, (select max(n) / 2 from @t)) as a
GO
create function summary (@t numbers readonly) returns varchar(100) as
begin
  declare @copy numbers
  insert @copy select n + 100, name from @t
  return concat(dbo.total(@t, 1), ' ', dbo.total(@copy, 1), ' ', (select sum(d) from doubled(@t)), ' ', (select count(*) from top_half(@t)))
end
GO
declare @x numbers
insert @x values (1, 'one'), (2, 'two'), (5, 'five')
select dbo.total(@x, 10) as total, dbo.summary(@x) as summary
select * from above(@x, 2)
select * from doubled(@x)
select * from top_half(@x) order by n
select a.n, b.d from above(@x, 1) as a join doubled(@x) as b on b.n = a.n where dbo.total(@x, a.n) > 8
if dbo.total(@x, 1) = 8 print 'eight'
GO
-- It is looked at when the statement runs; each call of a procedure has its own.
create procedure count_up @upto int as
declare @x numbers, @i int = 1, @said int
while @i <= @upto
begin
  insert @x values (@i, 'n')
  set @said = dbo.total(@x, 1)
  print @said
  set @i += 1
end
GO
exec count_up 3
exec count_up 2
GO
create procedure handed @t numbers readonly as
select dbo.total(@t, 2) as total
select n from above(@t, 2)
GO
declare @x numbers
insert @x values (3, 'three')
exec handed @x
delete @x
exec handed @x
exec handed
select dbo.total(default, 1) as nothing
GO
-- What is no table, or one of another type.
declare @x others, @y table (n int, name varchar(10))
select dbo.total(@x, 1) as n
GO
declare @y table (n int, name varchar(10))
select * from above(@y, 1)
GO
declare @i int = 1
select dbo.total(@i, 1) as n
GO
select dbo.total(1, 1) as n
GO
select dbo.total(@nowhere, 1) as n
GO
declare @x numbers
select dbo.total(@x) as n
GO
-- READONLY is said of all of them, and of nothing else; and it is meant.
create function bad (@t numbers) returns int as begin return 1 end
GO
create procedure bad @i int readonly as print 'x'
GO
create procedure changes @t numbers readonly as
insert @t values (1, 'x')
GO
declare @x numbers
exec changes @x
GO
