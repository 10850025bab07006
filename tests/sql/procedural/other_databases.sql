-- A procedure of the system runs in the database that its name says, and the session stays where it is.
create database shop
GO
create table shop.dbo.item (id int primary key, name nvarchar(20))
create table here (a int)
GO
exec shop.sys.sp_executesql N'select db_name() as db, object_id(''dbo.item'') - object_id(''dbo.item'') as found, object_id(''dbo.here'') as here'
declare @p nvarchar(100) = N'[shop].sys.sp_executesql', @n int
exec @p N'insert item values (@a, N''rope''); select @n = count(*) from item', N'@a int, @n int output', 1, @n output
select @n as n, db_name() as db
exec shop..sp_executesql N'use tempdb; select db_name() as db'
select db_name() as db
GO
exec shop.dbo.sp_rename 'item.name', 'title', 'COLUMN'
exec shop.dbo.sp_columns 'item'
select name from shop.sys.columns where object_id = object_id('shop.dbo.item') order by column_id
GO
-- errors, and a transaction over both
begin try
    exec shop.sys.sp_executesql N'select nope from item'
end try
begin catch
    select error_number() as number, db_name() as db
end catch
begin transaction
exec shop.sys.sp_executesql N'insert item values (2, N''sail''); select @@trancount as n'
rollback
select count(*) as n from shop.dbo.item
exec nowhere.sys.sp_executesql N'select 1'
select db_name() as db
GO
-- where the session is stays in use meanwhile
use shop
exec master.sys.sp_executesql N'drop database shop'
select db_name() as db
use master
GO
-- temporary tables are everywhere
create table #t (a int)
exec tempdb..sp_rename '#t.a', 'b', 'COLUMN'
insert #t (b) values (1)
exec shop.sys.sp_executesql N'select b from #t'
GO
-- who may not be there may not run there
create login low with password = 'Low-Keel-1234'
create user low for login low
GO
execute as login = 'low'
exec shop.sys.sp_executesql N'select db_name() as db'
select db_name() as db
revert
GO
drop user low
drop login low
drop database shop
GO
