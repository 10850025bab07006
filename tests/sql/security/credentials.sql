-- Credentials of the instance and of a database: what is kept, who may, and what hangs on the master key.
create credential ledger with identity = 'clerk', secret = 'Hush-1'
create credential [s3://store.example/backups] with identity = 'S3 Access Key', secret = 'AKID:Hush-2'
create credential bare with identity = N'nobody'
GO
select name, credential_identity, target_type, target_id, datediff(second, create_date, modify_date) as changed from sys.credentials order by credential_id
GO
create credential LEDGER with identity = 'other'
GO
alter credential missing with identity = 'x'
GO
drop credential missing
GO
alter credential ledger with identity = 'clerk2'
drop credential bare
drop credential if exists bare
select name, credential_identity from sys.credentials order by name
GO
-- No transaction undoes it, as with logins.
begin transaction
create credential kept with identity = 'x'
rollback
select count(*) as kept from sys.credentials where name = 'kept'
GO
create credential hsm with identity = 'x', secret = 'y' for cryptographic provider p
GO
-- Of logins.
create login ann with password = 'A-password-1', credential = ledger
create login bob with password = 'A-password-1'
alter login bob add credential kept
select p.name, c.name as credential from sys.server_principals p join sys.server_principal_credentials m on m.principal_id = p.principal_id
    join sys.credentials c on c.credential_id = m.credential_id order by p.name
select name from sys.server_principals where credential_id is not null order by name
GO
alter login bob add credential nothing
GO
alter login bob drop credential ledger
GO
alter login bob drop credential kept
alter login ann with no credential
alter login ann with credential = kept
drop credential kept
select count(*) as mapped from sys.server_principal_credentials
GO
-- Who may.
execute as login = 'ann'
select count(*) as seen from sys.credentials
create credential mine with identity = 'x'
GO
alter credential ledger with identity = 'x'
GO
drop credential ledger
GO
revert
grant alter any credential to ann
select permission_name, type from sys.server_permissions where permission_name like '%CREDENTIAL%'
GO
execute as login = 'ann'
create credential mine with identity = 'x'
drop credential mine
select count(*) as seen from sys.credentials
revert
GO
-- Of a database: sealed with its master key, so there has to be one where there is a secret.
create database shop
GO
use shop
GO
create database scoped credential feed with identity = 'reader', secret = 'Hush-3'
GO
create database scoped credential managed with identity = 'Managed Identity'
create master key encryption by password = 'Master-key-1'
create database scoped credential feed with identity = 'reader', secret = 'Hush-3'
select c.name, p.name as owner, credential_identity, target_type from sys.database_scoped_credentials c join sys.database_principals p on p.principal_id = c.principal_id order by c.name
select count(*) as same from sys.database_credentials
GO
create database scoped credential FEED with identity = 'x'
GO
alter database scoped credential missing with identity = 'x'
GO
drop database scoped credential missing
GO
-- A transaction does undo what is a database's.
begin transaction
alter database scoped credential feed with identity = 'writer', secret = 'Hush-4'
drop database scoped credential managed
rollback
select name, credential_identity from sys.database_scoped_credentials order by name
GO
-- Each opens what the last has sealed (or 15320 says that it does not).
alter master key regenerate with encryption by password = 'Master-key-2'
alter master key regenerate with encryption by password = 'Master-key-3'
GO
drop master key
GO
create user ann for login ann
GO
execute as user = 'ann'
select count(*) as seen from sys.database_scoped_credentials
create database scoped credential mine with identity = 'x'
GO
drop database scoped credential feed
GO
revert
GO
drop database scoped credential if exists feed
drop database scoped credential managed
drop master key
select count(*) as left_ from sys.database_scoped_credentials
GO
-- What triggers are told.
use master
GO
create trigger told on all server for ddl_credential_events as
    select eventdata().value('(/EVENT_INSTANCE/EventType)[1]', 'sysname') as event,
        eventdata().value('(/EVENT_INSTANCE/ObjectName)[1]', 'sysname') as object,
        eventdata().value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(200)') as command
GO
create credential t with identity = 'x', secret = 'Hush-5'
alter credential t with identity = 'y', secret = 'Hush-6'
drop credential t
GO
drop trigger told on all server
GO
