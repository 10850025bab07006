-- Server audits: what is kept of them, what is refused, and what a server specification records.
create server audit trail to file (filepath = '/audit/', maxsize = 10 MB, max_rollover_files = 3) with (queue_delay = 0, on_failure = continue, audit_guid = '11111111-2222-3333-4444-555555555555')
create server audit loud to application_log with (queue_delay = 2000)
GO
select name, audit_guid, type, type_desc, on_failure_desc, is_state_enabled, queue_delay from sys.server_audits order by audit_id
select name, max_file_size, max_rollover_files, max_files, reserve_disk_space, log_file_path, log_file_name from sys.server_file_audits
GO
-- What cannot be.
create server audit trail to file (filepath = '/audit/')
GO
create server audit x to file (filepath = '')
GO
create server audit x to file (filepath = '/audit/', maxsize = 1 MB)
GO
create server audit x to file (filepath = '/audit/', maxsize = 16777215 TB)
GO
create server audit x to file (filepath = '/audit/', reserve_disk_space = on)
GO
create server audit x to file (filepath = '/audit/', max_files = 2, max_rollover_files = 2)
GO
create server audit x to file (filepath = '/audit/') with (queue_delay = 10)
GO
create server audit x to file (filepath = '/audit/') with (state = on)
GO
create server audit x to security_log
GO
create server audit x to file (filepath = '/audit/') where nothing = 3
GO
alter server audit x with (state = on)
GO
drop server audit x
GO
create server audit specification nowhere for server audit x add (dbcc_group)
GO
create server audit specification everything for server audit trail add (no_such_group)
GO
alter server audit trail with (state = on, queue_delay = 1000)
GO
begin transaction
alter server audit trail with (state = on)
GO
rollback
GO
use tempdb
alter server audit trail with (state = on)
GO
use master
alter server audit trail with (state = on)
create server audit specification everything for server audit trail
    add (server_principal_change_group), add (login_change_password_group), add (database_change_group),
    add (server_role_member_change_group), add (server_permission_change_group), add (audit_change_group),
    add (dbcc_group), add (server_principal_impersonation_group), add (user_defined_audit_group), add (schema_object_change_group),
    add (database_permission_change_group), add (schema_object_permission_change_group), add (database_principal_change_group),
    add (database_role_member_change_group), add (database_ownership_change_group), add (backup_restore_group),
    add (server_operation_group), add (database_object_change_group), add (database_principal_impersonation_group),
    add (application_role_change_password_group), add (database_object_permission_change_group)
    with (state = on)
GO
create server audit specification second for server audit trail add (dbcc_group)
GO
alter server audit specification everything add (logout_group)
GO
drop server audit specification everything
GO
drop server audit trail
GO
alter server audit trail to application_log
GO
select s.name, s.is_state_enabled, count(*) as parts from sys.server_audit_specifications s
    join sys.server_audit_specification_details d on d.server_specification_id = s.server_specification_id group by s.name, s.is_state_enabled
select audit_action_id, audit_action_name, class_desc, audited_result, is_group from sys.server_audit_specification_details where audit_action_name like 'DBCC%'
select name, status_desc, case when audit_file_path like '/audit/trail[_]11111111-2222-3333-4444-555555555555[_]0[_]%.sqlaudit' then 'as named' end as path from sys.dm_server_audit_status order by name
GO
-- What happens.
create login keeper with password = 'A-password-1'
create login clerk with password = 'A-password-1'
alter login clerk with password = 'A-password-2'
alter login clerk disable
alter login clerk enable
alter server role securityadmin add member clerk
alter server role securityadmin drop member clerk
grant view server state to clerk
execute as login = 'clerk'
GO
create login other with password = 'A-password-3'
GO
revert
GO
create database shop
GO
use shop
GO
create table dbo.item (id int primary key, name nvarchar(40))
GO
create procedure dbo.p as select 1 as one
GO
create schema stock
GO
truncate table dbo.item
create user clerk for login clerk
create role buyers
alter role buyers add member clerk
create application role till with password = 'A-password-4'
alter application role till with password = 'A-password-5'
grant select, insert on dbo.item to buyers
grant create table to clerk
deny select on schema::stock to clerk
alter authorization on database::shop to keeper
dbcc checkdb with no_infomsgs
exec sp_addsrvrolemember 'keeper', 'dbcreator'
exec sp_audit_write @user_defined_event_id = 27, @succeeded = 0, @user_defined_information = N'somebody counted'
backup database shop to disk = '/shop.bak'
GO
execute as user = 'clerk'
GO
drop table dbo.item
GO
revert
drop table dbo.item
GO
use master
alter server audit specification everything with (state = off)
drop database shop
drop login clerk
drop login keeper
alter server audit trail with (state = off)
GO
select action_id, succeeded, class_type, database_name, schema_name, object_name, target_server_principal_name, target_database_principal_name, server_principal_name, statement
from sys.fn_get_audit_file('/audit/trail*.sqlaudit', default, default)
select user_defined_event_id, user_defined_information, succeeded from sys.fn_get_audit_file('/audit/', null, null) where action_id = 'UDAU'
GO
-- Records from a place on.
declare @file nvarchar(260), @offset bigint
select @file = max(file_name), @offset = max(audit_file_offset) from sys.fn_get_audit_file('/audit/*.sqlaudit', default, default) where action_id = 'BA'
select action_id from sys.fn_get_audit_file('/audit/*.sqlaudit', @file, @offset)
GO
select action_id from sys.fn_get_audit_file('/audit/*.sqlaudit', '/audit/nothing', 5)
GO
select action_id from sys.fn_get_audit_file('/nowhere/*.sqlaudit', default, default)
GO
alter server audit specification everything drop (dbcc_group)
alter server audit trail modify name = path_
alter server audit path_ where statement like '%secret%' and succeeded = 1
select name, predicate from sys.server_audits where predicate is not null
alter server audit path_ remove where
drop server audit specification everything
drop server audit path_
drop server audit loud
select count(*) as audits from sys.server_audits
select count(*) as specifications from sys.server_audit_specifications
GO
select containing_group_name, name, action_id, class_desc from sys.dm_audit_actions where action_id in ('SL', 'BA', 'LGIF') order by 1
select class_type_desc, securable_class_desc from sys.dm_audit_class_type_map where class_type in ('U', 'SL')
GO
