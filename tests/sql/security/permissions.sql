-- Users, roles and permissions: who may what, and what the refusals say.
create database shop
GO
create login ann with password = 'A-password-1'
create login bob with password = 'A-password-2'
GO
use shop
GO
create table dbo.orders (id int primary key, amount int)
insert orders values (1, 10), (2, 20)
GO
create view dbo.totals as select sum(amount) as total from dbo.orders
GO
create procedure dbo.add_order @id int, @amount int as insert dbo.orders values (@id, @amount)
GO
create procedure dbo.dynamic_read as exec ('select count(*) as n from dbo.orders')
GO
create function dbo.twice(@n int) returns int as begin return @n * 2 end
GO
create schema sales authorization dbo
GO
create table sales.items (id int primary key)
create user ann for login ann
create user bob for login bob
create user kim without login
create role clerks
alter role clerks add member ann
exec sp_addrolemember 'clerks', 'bob'
GO
create user ann2 for login ann
create user ann for login bob
create user nobody for login nobody
alter role clerks add member nobody
alter role nothing add member ann
GO
-- Without permissions.
execute as user = 'ann'
select user_name() as u, current_user as c, suser_sname() as l, is_member('clerks') as clerk, is_member('db_owner') as o, is_srvrolemember('sysadmin') as s
select * from orders
GO
insert orders values (3, 30)
GO
update orders set amount = 0 where id = 1
GO
delete orders
GO
exec add_order 3, 30
GO
select dbo.twice(2)
GO
select * from totals
GO
create table t (a int)
GO
drop table orders
GO
alter table orders add b int
GO
truncate table orders
GO
create user x without login
GO
grant select on orders to bob
GO
alter role clerks add member kim
GO
exec ('select * from sys.dm_os_wait_stats')
GO
use master
GO
revert
select user_name() as u
GO
-- GRANT to a role, DENY to one of its members.
grant select, insert on dbo.orders to clerks
deny insert on orders to bob
grant execute on add_order to public
grant select on totals to kim
grant execute on schema::dbo to kim
grant select on schema::sales to bob
GO
execute as user = 'ann'
select count(*) as n from orders
insert orders values (3, 30)
exec add_order 4, 40
select * from totals
GO
revert
execute as user = 'bob'
select count(*) as n from orders
select * from sales.items
GO
insert orders values (5, 50)
GO
exec add_order 5, 50
select count(*) as n from orders
exec dynamic_read
GO
revert
-- A view and a procedure answer for what they read, dynamic SQL in them does not.
execute as user = 'kim'
select * from totals
exec add_order 6, 60
select dbo.twice(4) as t
exec dynamic_read
GO
select * from orders
GO
revert
GO
select class_desc, object_name(major_id) as o, user_name(grantee_principal_id) as grantee, type, permission_name as p, state_desc
from sys.database_permissions where class > 0 order by grantee, o, p
select user_name(role_principal_id) as r, user_name(member_principal_id) as m from sys.database_role_members order by r, m
select name, type_desc, default_schema_name as s from sys.database_principals where principal_id between 5 and 16000 order by principal_id
select has_perms_by_name('orders', 'OBJECT', 'SELECT') as own
GO
-- REVOKE, and what goes with what it was granted on.
revoke select on orders from clerks
drop view totals
execute as user = 'ann'
select * from orders
GO
revert
select count(*) as gone from sys.database_permissions where class = 1 and object_name(major_id) is null
GO
-- Fixed roles.
alter role db_datareader add member ann
alter role db_ddladmin add member ann
alter role db_denydatawriter add member bob
execute as user = 'ann'
select count(*) as n from orders
create table made (a int)
drop table made
update orders set amount = 1 where id = 1
GO
revert
execute as user = 'bob'
insert orders values (7, 70)
GO
revert
alter role db_owner add member bob
execute as user = 'bob'
create table bobs (a int)
drop table bobs
grant select on orders to kim with grant option
GO
revert
execute as user = 'kim'
grant select on orders to ann
grant insert on orders to ann
GO
revert
GO
-- Logins: databases, the instance.
use master
execute as login = 'bob'
select suser_sname() as l, original_login() as o, db_name() as d
use master
select name from sys.databases where has_dbaccess(name) = 1 and name = 'shop'
create database other
GO
create login eve with password = 'A-password-3'
GO
kill 51
GO
exec sp_configure 'max server memory', 100
reconfigure
GO
execute as login = 'sa'
GO
select count(*) as mine from sys.dm_exec_sessions
select * from sys.dm_os_performance_counters
GO
revert
use master
grant view server state to bob
alter server role dbcreator add member bob
execute as login = 'bob'
select case when count(*) > 0 then 'seen' end as counters from sys.dm_os_performance_counters
create database bobs
drop database bobs
alter database shop set recovery simple
GO
revert
select p.name, r.name as role from sys.server_role_members m join sys.server_principals p on p.principal_id = m.member_principal_id
  join sys.server_principals r on r.principal_id = m.role_principal_id order by p.name
select permission_name, state_desc from sys.server_permissions
GO
-- A login without a user.
create login dan with password = 'A-password-4'
execute as login = 'dan'
use shop
GO
select * from shop.dbo.orders
GO
revert
use shop
grant connect to guest
execute as login = 'dan'
use shop
select user_name() as u
select * from orders
GO
revert
GO
-- Dropping.
use shop
drop role clerks
drop user kim
drop role nothing
drop user if exists nothing
alter role clerks drop member ann
exec sp_droprolemember 'clerks', 'bob'
drop role clerks
GO
grant fly on orders to ann
GO
grant select on orders to dbo
grant select on orders to db_owner
grant select on nothing to ann
alter authorization on database::shop to dan
execute as login = 'dan'
select user_name() as u, is_member('db_owner') as o
revert
GO
-- Columns: what is said of one counts before what is said of its table.
use master
GO
create database payroll
GO
create login eve with password = 'A-password-3'
GO
use payroll
GO
create table staff (id int primary key, name varchar(20) not null, salary int not null, note varchar(20) null, constraint paid check (salary > 0))
insert staff values (1, 'Kim', 100, null), (2, 'Lee', 200, 'x')
GO
create view public_staff as select id, name, salary from staff
GO
create procedure read_salaries as select sum(salary) as total from staff
GO
create user eve for login eve
create user max without login
grant select on staff (id, name) to eve
grant select (name), update (salary) on public_staff to eve
GO
grant select (id), update (note) on staff to eve
deny select on staff (note) to eve
GO
grant delete (id) on staff to eve
GO
grant select (id) on staff (name) to eve
GO
grant select (nothing) on staff to eve
GO
grant execute (id) on read_salaries to eve
GO
grant update (note), select (id) on staff to max with grant option
grant execute on read_salaries to eve
GO
execute as user = 'eve'
select id, name from staff order by id
GO
select count(*) as n from staff
select name from public_staff order by name
GO
select * from staff
GO
select id from staff where salary > 100
GO
select x.id from staff x join staff y on y.id = x.id and y.note is null
GO
select salary from public_staff
GO
with s as (select id, salary from staff) select id from s
GO
declare @s int = (select max(salary) from staff)
GO
update staff set note = 'y' where id = 1
GO
update staff set salary = 1 where id = 1
GO
update staff set note = name where id = 2
GO
update staff set note = upper(note) where id = 2
GO
update staff set note = 'z' output inserted.salary where id = 2
GO
delete staff where id = 2
GO
exec read_salaries
GO
select has_perms_by_name('staff', 'OBJECT', 'SELECT') as whole, has_perms_by_name('staff', 'OBJECT', 'SELECT', 'name', 'COLUMN') as name, has_perms_by_name('staff', 'OBJECT', 'SELECT', 'salary', 'COLUMN') as salary, has_perms_by_name('staff', 'OBJECT', 'SELECT', 'none', 'COLUMN') as none
select * from fn_my_permissions('staff', 'OBJECT') order by permission_name, subentity_name
GO
revert
select object_name(major_id) as object, col_name(major_id, minor_id) as col, user_name(grantee_principal_id) as grantee, permission_name, state_desc from sys.database_permissions where class = 1 order by 1, minor_id, 3, 4
select GRANTEE, TABLE_NAME, COLUMN_NAME, PRIVILEGE_TYPE, IS_GRANTABLE from information_schema.column_privileges order by 1, 2, 3, 4
GO
-- A grant on the table takes the place of what was said of its columns; a later denial of a column holds.
grant select on staff to eve
select count(*) as n from sys.database_permissions where minor_id > 0 and permission_name = 'SELECT' and grantee_principal_id = user_id('eve')
deny select (salary) on staff to eve
execute as user = 'eve'
select note from staff order by id
GO
select salary from staff
GO
revert
revoke select (salary) on staff from eve
deny select on staff to eve
grant select (id) on staff to eve
execute as user = 'eve'
select id from staff order by id
GO
select name from staff
GO
revert
alter table staff drop constraint paid
alter table staff drop column note
GO
drop table staff
select count(*) as n from sys.database_permissions where minor_id > 0 and major_id <> object_id('public_staff')
GO
-- Dynamic SQL runs as whoever the module or EXEC says.
create table secret (a int)
insert secret values (42)
GO
create procedure as_caller as exec ('select a from secret')
GO
create procedure as_owner with execute as owner as select user_name() as u; exec ('select a, user_name() as u from secret'); exec sp_executesql N'select a from secret'
GO
create procedure as_max with execute as 'max' as exec ('select a from secret')
GO
create procedure as_self with execute as self as revert; exec ('select a from secret'); execute as user = 'max'; select user_name() as u; revert; select user_name() as u
GO
create procedure as_nobody with execute as 'nobody' as select 1
GO
create trigger tr on secret with execute as owner after insert as exec ('select count(*) as n from secret')
GO
grant execute on schema::dbo to eve
grant insert on secret to eve
select name, execute_as_principal_id from sys.sql_modules m join sys.objects o on o.object_id = m.object_id where name like 'as[_]%' or name = 'tr' order by name
execute as user = 'eve'
exec as_owner
select user_name() as u
GO
exec as_self
GO
insert secret values (1)
GO
exec as_caller
GO
exec as_max
GO
revert
exec ('select user_name() as u') as user = 'eve'
select user_name() as u
exec ('select a from secret') as user = 'eve'
GO
exec ('select suser_sname() as l') as login = 'eve'
exec ('select 1') as user = 'nobody'
GO
exec ('select 1') at elsewhere
GO
execute as user = 'eve'
exec ('select 1') as user = 'max'
GO
exec ('select 1') as login = 'sa'
GO
revert
use master
GO
grant view server performance state, view server security state to eve
GO
execute as login = 'eve'
select count(*) as waits from sys.dm_os_wait_stats where wait_type = 'WRITELOG'
select permission_name from fn_my_permissions(null, 'server') order by 1
revert
GO
revoke view server performance state from eve
grant alter server state to eve
execute as login = 'eve'
select has_perms_by_name(null, null, 'view server performance state') as p, has_perms_by_name(null, null, 'view server state') as s
revert
GO
deny view server performance state to eve
execute as login = 'eve'
select has_perms_by_name(null, null, 'view server performance state') as p, has_perms_by_name(null, null, 'view server state') as s
select count(*) from sys.dm_os_wait_stats
GO
revert
-- What comes with the server: everybody reads it, and what else there is only who may do everything does.
select has_perms_by_name('[sys].[sql_expression_dependencies]', 'OBJECT', 'SELECT') as v, has_perms_by_name('sys.sp_executesql', 'OBJECT', 'EXECUTE') as p,
    has_perms_by_name('sys.tables', 'OBJECT', 'ALTER') as a, has_perms_by_name('sys.nothing', 'OBJECT', 'SELECT') as n
execute as login = 'eve'
select has_perms_by_name('sys.tables', 'OBJECT', 'SELECT') as v, has_perms_by_name('sys.tables', 'OBJECT', 'ALTER') as a
revert
GO
-- Permissions on what is not here are granted, and shown.
use payroll
GO
grant view any column encryption key definition, view any column master key definition to public
grant alter any security policy to public
select permission_name, type, state_desc from sys.database_permissions where grantee_principal_id = 0 and class = 0 and permission_name <> 'CONNECT' order by 1
revoke alter any security policy from public
GO
use master
drop database payroll
GO
