-- session other:
create database shop
GO
use shop
create table item (id int primary key, name nvarchar(40))
insert item values (1, N'rope'), (2, N'sail')
GO
create procedure named @id int, @name nvarchar(40) = N'none' output as
  select id, name from item where id = @id
  select @name = name from item where id = @id
  print 'looked'
  return @id * 10
GO
create procedure wrong as raiserror('no', 16, 1)
  select 1 as after
GO
-- session main:
declare @rc int, @n nvarchar(40)
exec @rc = there.shop.dbo.named @id = 2, @name = @n output
select @rc as rc, @n as name
exec there.shop.dbo.named 1
GO
-- an error goes to the client in its place; one that is caught does not
exec there.shop.dbo.wrong
select @@error as error
begin try exec there.shop.dbo.wrong end try
begin catch select error_number() as number, error_message() as message end catch
GO
-- texts
exec ('select name from shop.dbo.item where id = ?', 2) at there
declare @id int = 1, @out nvarchar(40)
exec ('select ? = name from shop.dbo.item where id = ?', @out output, @id) at there
select @out as name
exec ('select 1; print ''said''; select 2') at there
GO
-- INSERT … EXEC of both
create table #got (id int, name nvarchar(40))
insert #got exec there.shop.dbo.named 1
insert #got exec ('select id, name from shop.dbo.item where id > ?', 1) at there
select * from #got
GO
-- a name in a variable, and this server's own name
declare @p nvarchar(100) = N'there.shop.dbo.named'
exec @p 2
exec NODE1.master.dbo.sp_executesql N'select 1 as here'
GO
-- errors
exec there.shop.dbo.nothing
GO
exec ('select ?', 1, 2) at there
GO
exec nowhere.shop.dbo.named 1
GO
exec ('select 1') at nowhere
GO
exec sp_serveroption 'there', 'rpc out', 'false'
GO
exec there.shop.dbo.named 1
GO
exec ('select 1') at there
GO
-- a synonym of a procedure; functions and definitions there
exec sp_serveroption 'there', 'rpc out', 'true'
GO
create database here
GO
use here
create synonym find for there.shop.dbo.named
exec find 2
GO
select * from there.shop.dbo.f(1) x
GO
drop table there.shop.dbo.item
GO
create table there.shop.dbo.other (n int)
GO
-- what is called the same here is left alone
create database shop
GO
create table shop.dbo.item (id int)
insert shop.dbo.item values (1)
GO
create function dbo.f (@x int) returns int as begin return 1 end
GO
drop table there.shop.dbo.item
GO
truncate table there.shop.dbo.item
GO
alter table there.shop.dbo.item add n int
GO
select there.here.dbo.f(1)
GO
select * from shop.dbo.item
GO
