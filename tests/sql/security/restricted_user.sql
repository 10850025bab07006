-- RESTRICTED_USER: db_owner, dbcreator and sysadmin come in, nobody else.
create database shop
create login reader with password = 'Reader-Pass-1'
create login chief with password = 'Chief-Pass-1'
GO
use shop
create user reader
create user chief
alter role db_owner add member chief
use master
backup database shop to disk = 'shop.bak' with expiredate = '2020-01-01', init
select expiration_date from msdb.dbo.backupset
GO
execute as login = 'reader'
use shop
use master
revert
GO
use master
restore database shop from disk = 'shop.bak' with replace, restricted_user
select user_access_desc from sys.databases where name = 'shop'
GO
execute as login = 'reader'
GO
use shop
GO
revert
execute as login = 'chief'
use shop
select user_name() as who
use master
revert
GO
alter database shop set multi_user
execute as login = 'reader'
use shop
select user_name() as who
use master
revert
GO
-- Recovered without a device, too.
restore database late from disk = 'shop.bak' with norecovery
restore database late with recovery, restricted_user
select user_access_desc from sys.databases where name = 'late'
drop database late
