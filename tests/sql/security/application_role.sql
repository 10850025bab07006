-- Application roles: who knows the password becomes one, until the cookie or the end of the session.
create database shop
create login clerk with password = 'Clerk-Pass-1'
GO
use shop
create user clerk
GO
create schema app
GO
create table app.orders (id int identity primary key, by_whom sysname default suser_sname(), as_whom sysname default user_name())
create table dbo.secret (a int)
grant select on dbo.secret to clerk
GO
create application role ordering with password = 'Order-Pass-1', default_schema = app
grant select, insert on schema::app to ordering
select name, type, type_desc, default_schema_name, authentication_type_desc from sys.database_principals where type = 'A'
GO
create application role ordering with password = 'x'
GO
create application role none
GO
alter role db_datareader add member ordering
alter role db_datareader drop member ordering
GO
execute as user = 'ordering'
GO
drop user ordering
GO
execute as login = 'clerk'
GO
select * from app.orders
GO
exec sp_setapprole 'ordering', 'wrong'
GO
exec sp_setapprole 'nobody', 'wrong'
GO
create table #kept (cookie varbinary(8000))
declare @cookie varbinary(8000)
exec sp_setapprole 'ordering', 'Order-Pass-1', 'none', 1, @cookie output
insert #kept values (@cookie)
select datalength(@cookie) as bytes
GO
select user_name() as who, suser_sname() as login, schema_name() as s, current_user as cu
insert orders default values
select * from app.orders
begin try
  select * from dbo.secret
end try
begin catch
  select error_number() as not_the_users
end catch
begin try
  revert
end try
begin catch
  select error_number() as no_revert
end catch
exec sp_unsetapprole 0x01
GO
select user_name() as still
declare @cookie varbinary(8000) = (select cookie from #kept)
exec sp_unsetapprole @cookie
select user_name() as again
GO
select count(*) as n from dbo.secret
GO
exec sp_unsetapprole 0x01
GO
revert
GO
create procedure dbo.become as exec sp_setapprole 'ordering', 'Order-Pass-1'
GO
exec dbo.become
GO
grant alter any application role to clerk
select permission_name, type from sys.database_permissions where type = 'ALAR'
revoke alter any application role from clerk
GO
alter application role ordering with name = selling, password = 'Sell-Pass-1'
select name from sys.database_principals where type = 'A'
GO
execute as login = 'clerk'
GO
alter application role selling with password = 'mine'
GO
exec sp_setapprole 'selling', 'Order-Pass-1'
GO
revert
GO
drop application role selling
GO
drop application role selling
GO
use master
drop database shop
