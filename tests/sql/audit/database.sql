-- Database audit specifications: which accesses they record, of whom, and whose plans.
create server audit trail to file (filepath = '/audit/') with (queue_delay = 0)
create login ann with password = 'A-password-1'
create login bob with password = 'A-password-1'
create database shop
GO
use shop
GO
create table dbo.item (id int primary key, name nvarchar(40), price money)
create table dbo.note (id int primary key)
insert dbo.item values (1, N'bolt', 2), (2, N'nut', 1)
create user ann for login ann
create user bob for login bob
create role buyers
alter role buyers add member ann
grant select, update on dbo.item to buyers
GO
create view dbo.cheap as select id, name from dbo.item where price < 2
GO
create procedure dbo.raise_ @by money as update dbo.item set price = price + @by
GO
create function dbo.count_() returns int as begin return (select count(*) from dbo.item) end
GO
create schema stock
GO
create table stock.place (id int)
GO
grant select on dbo.cheap to bob
grant execute on dbo.raise_ to buyers
GO
create database audit specification access for server audit nothing add (select on dbo.item by public)
GO
create database audit specification access for server audit trail add (select on dbo.nothing by public)
GO
create database audit specification access for server audit trail add (select on dbo.item by nobody)
GO
create database audit specification access for server audit trail add (select on master.dbo.item by public)
GO
create database audit specification access for server audit trail add (select on login::ann by public)
GO
create database audit specification access for server audit trail add (logout_group)
GO
create database audit specification access for server audit trail add (jump on dbo.item by public)
GO
create database audit specification access for server audit trail
    add (select, update on dbo.item by public), add (execute on schema::dbo by buyers), add (insert, delete on database::shop by dbo, bob)
GO
create database audit specification again for server audit trail add (dbcc_group)
GO
select name, is_state_enabled from sys.database_audit_specifications
select audit_action_id, audit_action_name, class_desc, object_name(major_id) as object, user_name(audited_principal_id) as who, is_group
from sys.database_audit_specification_details
GO
-- A plan that is older than the audit is audited, too.
select name from dbo.item where id = 1
GO
use master
alter server audit trail with (state = on)
GO
use shop
select name from dbo.item where id = 1
GO
alter database audit specification access with (state = on)
GO
alter database audit specification access add (dbcc_group)
GO
drop database audit specification access
GO
select name from dbo.item where id = 1
GO
insert dbo.note values (1)
insert stock.place values (1)
update dbo.item set price = 3 where id = 2
delete dbo.note
select count(*) as n from dbo.note
select dbo.count_() as n
select * into #copy from dbo.item
GO
execute as user = 'ann'
GO
exec dbo.raise_ 1
select price from dbo.item where id = 1
GO
delete dbo.item
GO
insert dbo.note values (2)
GO
revert
execute as user = 'bob'
GO
select name from dbo.cheap
GO
select name from dbo.item
GO
delete dbo.item
GO
exec dbo.raise_ 1
GO
alter database audit specification access with (state = off)
GO
revert
GO
-- Who may.
grant alter any database audit to bob
execute as user = 'bob'
create database audit specification bobs for server audit trail add (dbcc_group)
GO
revert
-- A rolled back change of the specification was never one.
begin transaction
alter database audit specification access with (state = off)
select name from dbo.item where id = 1
rollback
select id from dbo.item where id = 2
GO
use master
GO
select action_id, succeeded, is_column_permission, class_type, database_name, schema_name, object_name, database_principal_name, session_server_principal_name, server_principal_name, statement, additional_information
from sys.fn_get_audit_file('/audit/trail*', default, default)
GO
execute as login = 'ann'
GO
select count(*) as n from sys.fn_get_audit_file('/audit/trail*', default, default)
GO
select count(*) as n from sys.server_audits
create server audit mine to file (filepath = '/audit/')
GO
drop server audit trail
GO
revert
grant view server security audit to ann
grant alter any server audit to bob
GO
execute as login = 'ann'
select count(*) as n from sys.fn_get_audit_file('/audit/trail*', default, default) where action_id = 'AUSC'
revert
execute as login = 'bob'
create server audit mine to file (filepath = '/audit/')
GO
create server audit mine2 to file (filepath = '/audit/') with (on_failure = shutdown)
GO
drop server audit mine
revert
GO
-- An audit that is gone: the specification is an orphan, and does nothing.
alter server audit trail with (state = off)
drop server audit trail
select name from shop.dbo.item where id = 1
select s.name, s.is_state_enabled, a.name as audit from shop.sys.database_audit_specifications s left join sys.server_audits a on a.audit_guid = s.audit_guid
GO
