-- Metadata visibility: catalog views and functions show the objects on which a user has a permission, and texts to who may read them.
create database shop
create login clerk with password = 'Clerk-Pass-1'
create login auditor with password = 'Audit-Pass-1'
create login builder with password = 'Build-Pass-1'
GO
use shop
create user clerk
create user auditor
create user builder
GO
create schema hidden
GO
create table dbo.orders (id int identity primary key, total money constraint df_total default 0, note nvarchar(20) check (note <> ''))
create table hidden.salaries (id int primary key, amount money)
create table dbo.columns_only (a int, b int)
create synonym dbo.pay for hidden.salaries
create sequence dbo.numbers
GO
create view dbo.open_orders as select id, total from dbo.orders
GO
create procedure dbo.pay_out as select 'secret recipe' as text
GO
create procedure dbo.take_order as insert dbo.orders (total) values (1)
GO
create trigger dbo.tr_orders on dbo.orders after insert as set nocount on
GO
grant select, insert on dbo.orders to clerk
grant execute on dbo.take_order to clerk
grant select on dbo.open_orders to clerk
grant select on dbo.columns_only(a) to clerk
grant view definition to auditor
alter role db_datareader add member builder
grant create table to builder
grant alter on schema::hidden to builder
GO
execute as user = 'clerk'
select name, type from sys.objects where is_ms_shipped = 0 order by name
select schema_name(schema_id) as s, name from sys.tables order by 1, 2
select object_name(object_id) as o, name from sys.columns where object_id in (select object_id from sys.tables union all select object_id from sys.views) order by 1, column_id
select table_schema, table_name, table_type from information_schema.tables order by 1, 2
select routine_name, routine_definition from information_schema.routines order by 1
select object_name(object_id) as o, definition from sys.sql_modules order by 1
select object_id('hidden.salaries') as salaries, object_id('dbo.pay_out') as pay_out, iif(object_id('dbo.orders') > 0, 1, 0) as orders, iif(object_id('dbo.df_total') > 0, 1, 0) as df
select object_definition(object_id('dbo.take_order')) as d, col_length('hidden.salaries', 'amount') as l, iif(object_id('tempdb..#mine') is null, 1, 0) as none
create table #mine (a int)
select iif(object_id('tempdb..#mine') is null, 0, 1) as mine
select name from sys.schemas where name = 'hidden'
select count(*) as indexes from sys.indexes where object_id = object_id('dbo.orders')
exec sp_tables @table_owner = 'hidden'
exec sp_helptext 'dbo.take_order'
GO
revert
execute as user = 'auditor'
select name, type from sys.objects where is_ms_shipped = 0 order by name
select object_name(object_id) as o, definition from sys.sql_modules order by 1
select iif(object_id('hidden.salaries') > 0, 1, 0) as salaries
GO
revert
execute as user = 'builder'
select name, type from sys.objects where is_ms_shipped = 0 order by name
select object_name(object_id) as o, iif(definition is null, 'hidden', 'shown') as text from sys.sql_modules order by 1
GO
revert
deny view definition on dbo.take_order to auditor
GO
execute as user = 'auditor'
select object_name(object_id) as o from sys.sql_modules order by 1
GO
revert
-- Nobody in this database.
use master
grant connect any database to clerk
GO
use shop
drop user clerk
GO
execute as login = 'clerk'
select name from sys.objects where is_ms_shipped = 0
GO
revert
use master
drop database shop
