-- A database encryption key needs a certificate of master, whose key the instance can open by itself.
create database shop
GO
use shop
create database encryption key with algorithm = aes_256 encryption by server certificate safe
GO
use master
create master key encryption by password = 'Pass word 1'
create certificate safe with subject = 'what encrypts shop'
create certificate other with subject = 'another one'
create certificate shut encryption by password = 'its own' with subject = 'by password'
GO
create database encryption key with algorithm = aes_256 encryption by server certificate safe
GO
use shop
create table t (id int primary key, secret varchar(50))
insert t values (1, 'a marker nobody else writes'), (2, 'a marker nobody else writes')
alter database shop set encryption on
GO
create database encryption key with algorithm = aes_256 encryption by server certificate none
GO
create database encryption key with algorithm = aes_256 encryption by server certificate shut
GO
create database encryption key with algorithm = aes_256 encryption by server asymmetric key k
GO
create database encryption key with algorithm = triple_des_3key encryption by server certificate safe
GO
create database encryption key with algorithm = rot_13 encryption by server certificate safe
GO
create database encryption key
GO
begin tran
create database encryption key with algorithm = aes_256 encryption by server certificate safe
GO
if @@trancount > 0 rollback
drop database encryption key
GO
-- The key alone encrypts nothing.
create database encryption key with algorithm = aes_128 encryption by server certificate safe
GO
create database encryption key with algorithm = aes_128 encryption by server certificate safe
GO
select db_name(database_id) as name, encryption_state, encryption_state_desc, key_algorithm, key_length, encryptor_type,
    datalength(encryptor_thumbprint) as thumbprint, percent_complete, encryption_scan_state_desc,
    iif(create_date is null, 'never', 'once') as created, iif(set_date is null, 'never', 'once') as set_,
    iif(opened_date is null, 'never', 'once') as opened
from sys.dm_database_encryption_keys
select name, is_encrypted from sys.databases where name in ('shop', 'tempdb', 'master')
GO
alter database shop set encryption off
GO
alter database shop set encryption suspend
GO
alter database shop set encryption maybe
GO
-- The scan runs in the background; tempdb is encrypted with the first database.
alter database shop set encryption on
declare @n int = 0
while @n < 3000 and exists (select * from sys.dm_database_encryption_keys where encryption_state <> 3) begin waitfor delay '00:00:00.010' set @n += 1 end
select db_name(database_id) as name, encryption_state, encryption_state_desc, key_algorithm, key_length, encryptor_type,
    percent_complete, encryption_scan_state, encryption_scan_state_desc, iif(set_date is null, 'never', 'once') as set_
from sys.dm_database_encryption_keys
select name, is_encrypted from sys.databases where name in ('shop', 'tempdb', 'master')
select count(*) as rows_ from t
GO
alter database shop set encryption on
GO
drop database encryption key
GO
use master
drop certificate safe
GO
-- Another key, and another certificate.
use shop
alter database encryption key regenerate with algorithm = aes_192
declare @n int = 0
while @n < 3000 and exists (select * from sys.dm_database_encryption_keys where encryption_state <> 3) begin waitfor delay '00:00:00.010' set @n += 1 end
select db_name(database_id) as name, encryption_state_desc, key_length, encryption_scan_state_desc from sys.dm_database_encryption_keys
GO
alter database encryption key encryption by server certificate none
GO
use master
backup certificate other to file = '/other.cer' with private key (file = '/other.pvk', encryption by password = 'secret')
select name, iif(pvt_key_last_backup_date is null, 'never', 'once') as key_backed_up from sys.certificates
use shop
alter database encryption key encryption by server certificate other
GO
alter database encryption key
GO
use master
drop certificate safe
drop certificate other
GO
-- restart:
select c.name, k.encryption_state_desc, iif(k.opened_date is null, 'never', 'once') as opened
from sys.dm_database_encryption_keys k join sys.certificates c on c.name = 'other'
where k.database_id = db_id('shop')
select id, secret from shop.dbo.t
declare @n int = 0
while @n < 3000 and exists (select * from sys.dm_database_encryption_keys where encryption_state <> 3) begin waitfor delay '00:00:00.010' set @n += 1 end
select encryption_state_desc from sys.dm_database_encryption_keys where database_id = 2
GO
-- And back.
alter database shop set encryption off
declare @n int = 0
while @n < 3000 and exists (select * from sys.dm_database_encryption_keys where database_id = db_id('shop') and encryption_state <> 1) begin waitfor delay '00:00:00.010' set @n += 1 end
select encryption_state_desc, encryption_scan_state_desc from sys.dm_database_encryption_keys where database_id = db_id('shop')
select is_encrypted from sys.databases where name = 'shop'
GO
use shop
drop database encryption key
select count(*) as keys_ from sys.dm_database_encryption_keys where database_id = db_id()
use master
drop certificate other
GO
create database encryption key with algorithm = aes_256 encryption by server certificate shut
GO
alter database msdb set encryption on
GO
-- Who may: CONTROL of the database, and to see the certificate.
create login clerk with password = 'Clerk-1-Clerk'
use master
create certificate late with subject = 'for clerk'
use shop
create user clerk for login clerk
execute as login = 'clerk'
create database encryption key with algorithm = aes_256 encryption by server certificate late
GO
revert
grant control on database::shop to clerk
execute as login = 'clerk'
create database encryption key with algorithm = aes_256 encryption by server certificate late
GO
revert
use master
grant view any definition to clerk
use shop
execute as login = 'clerk'
create database encryption key with algorithm = aes_256 encryption by server certificate late
GO
revert
alter database shop set read_only
alter database shop set encryption on
GO
