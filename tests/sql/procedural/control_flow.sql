-- IF, WHILE, GOTO, variables, PRINT.
declare @i int = 0, @s varchar(20) = ''
while 1 = 1
begin
  set @i += 1
  if @i = 2 continue
  if @i > 4 break
  set @s = @s + cast(@i as varchar(2))
end
print @s
select @i as i, @s as s
GO
declare @n int
if @n = 1 print 'one' else if @n is null print 'null' else print 'other'
GO
declare @k int = 0
again:
set @k += 1
if @k < 3 goto again
print 'k = ' + cast(@k as varchar(5))
GO
goto nowhere
GO
declare @a int
declare @a int
GO
set @undeclared = 1
GO
select @x = 1
GO
declare @a int = 1, @b int = @a
GO
declare @v int
select @v = n from (values (1), (2), (3)) t (n) order by n
select @v as last
select @v = n from (values (9)) t (n) where n = 0
select @v as unchanged
set @v = (select n from (values (9)) t (n) where n = 0)
select @v as nulled
GO
print 1 + 1
print N'text'
print null
GO
return
print 'never'
GO
if exists (select 1) begin print 'a' print 'b' end
waitfor delay '00:00:00.001'
begin try select 1 / 0 as x end try begin catch print error_message() end catch
GO
declare @t table (id int primary key, v varchar(5))
insert @t values (1, 'a'), (2, 'b')
update @t set v = 'c' where id = 2
delete @t where id = 1
select * from @t
insert @t values (2, 'dup')
GO
select * from @t
declare @i int = 1
waitfor delay @i
GO
declare @s nvarchar(20) = N'soon'
waitfor delay @s
GO
