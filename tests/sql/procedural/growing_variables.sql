-- Variables of max types that are added to again and again: what they have is the same as if each step had copied it.
declare @s varchar(max) = replicate(cast('ab' as varchar(max)), 1000), @i int = 0, @last int
while @i < 100
begin
  set @i += 1
  set @s += cast(@i as varchar(10)) + ';'
  set @last = @i * 2
end
select len(@s) as length, right(@s, 20) as the_end, left(@s, 4) as the_start, @last as last
GO
-- Read between the steps: by a condition, another variable, a statement, itself.
declare @s nvarchar(max) = replicate(cast(N'ж' as nvarchar(max)), 1500), @t nvarchar(max), @n int = 0
while len(@s) < 1510
begin
  set @s = @s + N'я' + N'ю'
  if @n % 2 = 0 set @t = @s
  set @n += len(@s)
end
select len(@s) as length, len(@t) as copied, right(@s, 4) as the_end, @n as n
set @s += @s
select len(@s) as doubled
set @s = @s + left(@s, 2) + right(@s, 1)
print right(@s, 5)
set @t += @s
set @s += @t
select len(@s) as s, len(@t) as t
GO
-- Two that grow side by side, and one that gets another value on the way.
declare @a varchar(max) = replicate(cast('a' as varchar(max)), 2000), @b varbinary(max) = 0x01, @i int = 0
set @b = cast(replicate(cast('b' as varchar(max)), 2000) as varbinary(max))
while @i < 40
begin
  set @i += 1
  set @a += 'x'
  set @b += 0x7a7b
  if @i = 20 set @a = 'again'
  if @i = 30 select @b = cast('short' as varbinary(max))
end
select @a as a, cast(@b as varchar(100)) as b
GO
-- What fails in the middle leaves the variable as it was.
declare @s varchar(max) = replicate(cast('s' as varchar(max)), 2000), @zero int = 0
set @s += 'one'
begin try
  set @s = @s + 'two' + cast(1 / @zero as varchar(10))
end try
begin catch
  select error_number() as number, len(@s) as length, right(@s, 4) as the_end
end catch
set @s += 'three'
select len(@s) as length, right(@s, 9) as the_end
GO
-- NULL makes it NULL, and it stays so.
declare @s varchar(max) = replicate(cast('s' as varchar(max)), 2000), @none varchar(10)
set @s += 'one'
set @s += 'two' + @none
select len(@s) as length
set @s += 'three'
select len(@s) as length
set concat_null_yields_null off
GO
declare @s varchar(max) = replicate(cast('s' as varchar(max)), 2000), @none varchar(10)
set @s += @none
set @s += 'x'
select len(@s) as length
GO
set concat_null_yields_null on
GO
-- Over rows, in their order; what else reads the variable sees each step.
declare @s nvarchar(max) = replicate(cast(N's' as nvarchar(max)), 2000), @other nvarchar(max) = N'', @count int = 0
select @s += cast(n as nvarchar(10)) + N',', @count += 1 from (values (1), (2), (3), (4)) t (n) order by n
select len(@s) as length, right(@s, 9) as the_end, @count as rows
select @s = @s + cast(n as nvarchar(10)), @other = right(@s, 3) from (values (5), (6), (7)) t (n) order by n
select right(@s, 5) as the_end, @other as seen
select @s = @s + N'a', @s = @s + N'b' from (values (1), (2)) t (n)
select right(@s, 5) as the_end
GO
-- A row that fails: those before it count.
declare @s varchar(max) = replicate(cast('s' as varchar(max)), 2000)
begin try
  select @s += cast(10 / (3 - n) as varchar(10)) from (values (1), (2), (3), (4)) t (n) order by n
end try
begin catch
  select error_number() as number
end catch
select right(@s, 4) as the_end
GO
-- Into a procedure and out of it.
create procedure grow @text varchar(max) output as
begin
  declare @i int = 0
  while @i < 3 begin set @text += 'y'; set @i += 1 end
end
GO
declare @s varchar(max) = replicate(cast('s' as varchar(max)), 2000)
set @s += 'x'
exec grow @s output
set @s += 'z'
select len(@s) as length, right(@s, 6) as the_end
create table kept (s varchar(max))
insert kept values (@s)
set @s += '!'
update kept set s = s + @s
select len(s) as length, right(s, 6) as the_end from kept
GO
-- A loop over a cursor.
declare @s varchar(max) = replicate(cast('s' as varchar(max)), 2000), @n int
declare c cursor local for select n from (values (1), (2), (3)) t (n) order by n
open c
fetch next from c into @n
while @@fetch_status = 0
begin
  set @s += cast(@n as varchar(10))
  fetch next from c into @n
end
select len(@s) as length, right(@s, 4) as the_end
GO
