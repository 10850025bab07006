-- Audits go on after a power cut, in new files; what was recorded with QUEUE_DELAY = 0 is there.
create server audit trail to file (filepath = '/audit/') with (queue_delay = 0)
create server audit specification changes for server audit trail add (server_state_change_group), add (database_change_group) with (state = on)
alter server audit trail with (state = on)
create database shop
GO
use shop
create table dbo.item (id int primary key)
create database audit specification access for server audit trail add (insert on dbo.item by public) with (state = on)
GO
insert dbo.item values (1)
GO
-- restart:
select name, is_state_enabled from sys.server_audits
select name, status_desc from sys.dm_server_audit_status
insert shop.dbo.item values (2)
select action_id, object_name, statement, dense_rank() over (order by file_name) as file_ from sys.fn_get_audit_file('/audit/*', default, default) order by file_name, audit_file_offset
GO
alter server audit trail with (state = off)
-- restart:
insert shop.dbo.item values (3)
select name, status_desc from sys.dm_server_audit_status
select count(*) as inserts from sys.fn_get_audit_file('/audit/*', default, default) where action_id = 'IN'
GO
