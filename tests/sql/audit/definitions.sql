-- What is defined by other ways than CREATE, ALTER and DROP of objects: keys, SELECT INTO, procedures of the system.
create server audit trail to file (filepath = '/audit/')
create server audit specification changes for server audit trail
    add (database_object_change_group), add (database_object_access_group), add (backup_restore_group), add (schema_object_change_group),
    add (database_change_group), add (database_ownership_change_group), add (server_operation_group), add (server_object_change_group),
    add (server_role_member_change_group), add (database_principal_impersonation_group), add (server_principal_impersonation_group)
    with (state = on)
alter server audit trail with (state = on)
create login clerk with password = 'A-password-1'
create database shop
GO
use shop
GO
-- Keys.
create master key encryption by password = 'Hush-hush-1'
open master key decryption by password = 'Hush-hush-1'
alter master key regenerate with encryption by password = 'Hush-hush-2'
close master key
backup master key to file = '/shop.mk' encryption by password = 'Hush-hush-3'
restore master key from file = '/shop.mk' decryption by password = 'Hush-hush-3' encryption by password = 'Hush-hush-4' force
create certificate sealer with subject = 'cells'
backup certificate sealer to file = '/sealer.cer' with private key (file = '/sealer.pvk', encryption by password = 'Hush-hush-5')
create symmetric key cells with algorithm = aes_256 encryption by certificate sealer
open symmetric key cells decryption by certificate sealer
alter symmetric key cells add encryption by password = 'Hush-hush-6'
close symmetric key cells
create asymmetric key pair with algorithm = rsa_2048 encryption by password = 'Hush-hush-7'
alter asymmetric key pair remove private key
drop asymmetric key pair
drop symmetric key cells
drop certificate sealer
drop master key
GO
-- Tables and names.
select 1 as id, 2 as n into dbo.item
exec sp_rename 'dbo.item.n', 'amount', 'COLUMN'
exec sp_rename 'dbo.item', 'goods'
create user clerk for login clerk
GO
-- Who may not.
execute as user = 'clerk'
GO
select 1 as id into dbo.other
GO
exec sp_rename 'dbo.goods', 'mine'
GO
open symmetric key cells decryption by password = 'Hush-hush-8'
GO
exec sp_addsrvrolemember 'clerk', 'dbcreator'
GO
exec sp_configure 'max degree of parallelism', 2
GO
execute as user = 'dbo'
GO
revert
GO
-- Who is somebody for a while, by whom.
create procedure dbo.as_clerk with execute as 'clerk' as select user_name() as who
GO
exec dbo.as_clerk
declare @who sysname = 'clerk'
execute as login = @who
revert
exec ('select user_name() as who') as user = 'clerk'
exec ('select suser_name() as who') as login = 'clerk'
create application role till with password = 'Hush-hush-9'
GO
exec sp_setapprole 'till', 'wrong'
GO
declare @cookie varbinary(8000)
exec sp_setapprole 'till', 'Hush-hush-9', 'none', 1, @cookie output
exec sp_unsetapprole @cookie
GO
-- The instance.
declare @name sysname = 'shop'
backup database @name to disk = '/shop.bak'
exec sp_addlinkedserver 'there', 'SQL Server'
exec sp_addlinkedsrvlogin 'there', 'false', null, 'sa', 'Hush-hush-9'
exec sp_serveroption 'there', 'rpc out', 'true'
exec sp_dropserver 'there', 'droplogins'
exec sp_configure 'max degree of parallelism', 0
exec sp_addsrvrolemember 'clerk', 'dbcreator'
GO
drop user clerk
GO
drop procedure dbo.as_clerk
drop user clerk
exec sp_changedbowner 'clerk'
use master
exec sp_rename 'shop', 'store', 'DATABASE'
GO
alter server audit trail with (state = off)
GO
select action_id, succeeded, class_type, database_name, schema_name, object_name, target_server_principal_name as target_login, target_database_principal_name as target_user, server_principal_name as login, database_principal_name as [user], replace(replace(statement, char(13), ''), char(10), ' ') as statement
from sys.fn_get_audit_file('/audit/*', default, default)
GO
