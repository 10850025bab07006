-- Credentials in audits: those of the instance are objects of the server, those of a database are its own; no secret is told.
create server audit trail to file (filepath = '/audit/') with (queue_delay = 0)
create server audit specification changes for server audit trail
    add (server_object_change_group), add (database_object_change_group), add (server_principal_change_group) with (state = on)
alter server audit trail with (state = on)
create database shop
create login ann with password = 'A-password-1'
GO
create credential ledger with identity = 'clerk', secret = 'Hush-1'
alter login ann add credential ledger
alter login ann drop credential ledger
alter credential ledger with identity = 'clerk', secret = 'Hush-2'
drop credential ledger
GO
use shop
create master key encryption by password = 'Master-key-1'
create database scoped credential feed with identity = 'reader', secret = 'Hush-3'
drop database scoped credential feed
GO
use master
select action_id, class_type, object_name, database_name, statement from sys.fn_get_audit_file('/audit/*', default, default) order by file_name, audit_file_offset
GO
alter server audit trail with (state = off)
GO
