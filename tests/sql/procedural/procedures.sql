-- Nested calls, recursion, dynamic SQL, temp tables across scopes, return codes.
create procedure fact @n int, @r bigint output as
begin
  if @n <= 1 begin set @r = 1 return 0 end
  declare @m int = @n - 1, @s bigint
  exec fact @m, @s output
  set @r = @n * @s
  return @@nestlevel
end
GO
declare @r bigint, @rc int
exec @rc = fact 10, @r output
select @r as r, @rc as rc
GO
create procedure forever as exec forever
GO
exec forever
GO
create procedure uses_temp as begin create table #inner (a int); insert #inner values (1); insert #outer select a + 1 from #inner end
GO
create table #outer (a int)
exec uses_temp
select * from #outer
select * from #inner
GO
declare @sql nvarchar(200) = N'select @p * 2 as d; set @o = @p + 1', @x int
exec sp_executesql @sql, N'@p int, @o int output', @p = 21, @o = @x output
select @x as x
GO
exec ('declare @h int = 3 select @h as h')
exec ('select * from nope')
print 'goes on'
GO
create procedure defaults @a int, @b varchar(10) = 'def', @c int = null as select @a as a, @b as b, @c as c
GO
exec defaults 1
exec defaults 1, default, 3
exec defaults @c = 3, @a = 1
exec defaults @a = 1, @nope = 2
GO
exec defaults 1, @b = 'x', 2
GO
exec defaults 'abc'
GO
create procedure fails as begin select 1 as one; select 1 / 0 as zero; select 2 as two; return 5 end
GO
declare @rc int
exec @rc = fails
select @rc as rc
GO
declare @name sysname = 'defaults'
exec @name 7
GO
create procedure counts as begin set nocount on; declare @t table (a int); insert @t values (1), (2); select a from @t end
GO
exec counts
GO
drop procedure fact, forever, uses_temp, defaults, fails, counts
