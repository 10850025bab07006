-- Loops, jumps, variables.
declare @i int = 0, @s varchar(50) = ''
while @i < 10
begin
    set @i += 1
    if @i = 3 continue
    if @i > 5 break
    set @s = @s + cast(@i as varchar(10)) + ','
end
select @i as i, @s as s
GO
declare @n int
set @n = 1
again:
if @n < 4
begin
    print @n
    set @n = @n + 1
    goto again
end
print 'done'
GO
if exists (select * from sys.objects where name = 'nothing') print 'yes' else print 'no'
GO
declare @a int, @b varchar(10)
select @a = 5, @b = 'five'
select @a a, @b b, @@rowcount r
GO
print @undeclared
GO
goto nowhere
GO
break
GO
declare @x int, @x int
GO
-- dynamic SQL
declare @sql nvarchar(100) = N'select @p + 1 as v; set @q = @p * 2', @out int
exec sp_executesql @sql, N'@p int, @q int output', @p = 20, @q = @out output
select @out as o
exec ('select ' + '42' + ' as answer')
GO
-- recursion
create function fact(@n int) returns int as
begin
    if @n <= 1 return 1
    return @n * dbo.fact(@n - 1)
end
GO
select dbo.fact(5) as f
GO
create procedure down @n int as
begin
    if @n > 0
    begin
        set @n = @n - 1
        exec down @n
    end
    else select @@nestlevel as level
end
GO
exec down 5
GO
exec down 40
GO
-- INSERT EXEC and temp tables
create procedure two_rows as begin select 1, 'a' union all select 2, 'b' end
GO
create table #r (n int, c varchar(5))
insert into #r exec two_rows
select * from #r
insert into #r (n) select 7
select count(*) as n from #r
drop table #r
select * from #r
GO
declare @t table (id int identity primary key, v varchar(10))
insert into @t (v) values ('x'), ('y')
select * from @t
begin tran
insert into @t (v) values ('z')
rollback
select count(*) as kept from @t
GO
select 1 as a, 'x' as b into #copy
select * from #copy
select * into dbo.copy2 from #copy
select * from dbo.copy2
GO
waitfor delay '00:00:00.01'
return
print 'no'
GO
-- cursors
declare @v int, @sum int = 0
declare c cursor for select n from (values (1), (2), (3)) as t(n)
open c
fetch next from c into @v
while @@fetch_status = 0
begin
    set @sum += @v
    fetch next from c into @v
end
close c
deallocate c
select @sum as total
GO
declare s scroll cursor for select n from (values (1), (2), (3)) as t(n) order by n
open s
fetch last from s
fetch prior from s
fetch absolute 1 from s
fetch relative 5 from s
select @@fetch_status as fs
close s
deallocate s
