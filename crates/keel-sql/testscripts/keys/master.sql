-- Master keys: passwords, the service master key, files, regeneration.
create database shop
GO
use shop
open master key decryption by password = 'Pass word 1'
GO
create master key encryption by password = 'Pass word 1'
create certificate c with subject = 'c'
create symmetric key k with algorithm = aes_256 encryption by certificate c
create table t (v varbinary(100))
open symmetric key k decryption by certificate c
insert t values (encryptbykey(key_guid('k'), 'kept'))
close symmetric key k
GO
open master key decryption by password = 'wrong'
GO
close master key
GO
alter master key add encryption by password = 'Pass word 1'
GO
alter master key add encryption by password = 'Pass word 2'
alter master key drop encryption by password = 'nobody'
GO
alter master key drop encryption by password = 'Pass word 1'
alter master key drop encryption by password = 'Pass word 2'
GO
-- Out of the instance's hands: it opens with its password alone, for the session.
alter master key drop encryption by service master key
select name, is_master_key_encrypted_by_server from sys.databases where name = 'shop'
select crypt_type, crypt_type_desc from sys.key_encryptions where key_id = 101
open symmetric key k decryption by certificate c
GO
select decryptbykeyautocert(cert_id('c'), null, v) from t
GO
create certificate d with subject = 'd'
GO
open master key decryption by password = 'Pass word 2'
open symmetric key k decryption by certificate c
select convert(varchar(20), decryptbykey(v)) as plain, convert(varchar(20), decryptbykeyautocert(cert_id('c'), null, v)) as by_itself from t
close all symmetric keys
close master key
open symmetric key k decryption by certificate c
GO
open master key decryption by password = 'Pass word 2'
alter master key add encryption by service master key
close master key
select name, is_master_key_encrypted_by_server from sys.databases where name = 'shop'
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), null, v)) as by_itself from t
GO
-- Files.
backup master key to file = '/shop.key' encryption by password = 'of the file'
backup master key to file = '/shop.key' encryption by password = 'of the file'
GO
restore master key from file = '/nowhere.key' decryption by password = 'of the file' encryption by password = 'Pass word 3'
GO
restore master key from file = '/shop.key' decryption by password = 'wrong' encryption by password = 'Pass word 3'
GO
restore master key from file = '/shop.key' decryption by password = 'of the file' encryption by password = 'Pass word 3'
open master key decryption by password = 'Pass word 3'
open master key decryption by password = 'Pass word 2'
GO
-- Regeneration seals anew what hangs on it, in the transaction.
begin tran
alter master key regenerate with encryption by password = 'Pass word 4'
rollback
open master key decryption by password = 'Pass word 3'
alter master key regenerate with encryption by password = 'Pass word 4'
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), null, v)) as by_itself from t
GO
-- A key that is not open: FORCE loses what hangs on it.
alter master key drop encryption by service master key
alter master key regenerate with encryption by password = 'Pass word 5'
GO
alter master key force regenerate with encryption by password = 'Pass word 5'
open symmetric key k decryption by certificate c
GO
alter master key regenerate
GO
-- A database without a master key: private keys have passwords of their own.
create database plain
GO
use plain
create certificate c encryption by password = 'its own' with subject = 'c'
create symmetric key k with algorithm = aes_192 encryption by certificate c
select name, pvt_key_encryption_type_desc from sys.certificates
open symmetric key k decryption by certificate c
GO
open symmetric key k decryption by certificate c with password = 'wrong'
GO
open symmetric key k decryption by certificate c with password = 'its own'
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), N'its own', encryptbykey(key_guid('k'), 'x'))) as auto,
    convert(varchar(20), decryptbykeyautocert(cert_id('c'), N'wrong', encryptbykey(key_guid('k'), 'x'))) as wrong
GO
create certificate d with subject = 'd'
GO
create master key encryption by password = 'Pass word 6'
alter certificate c with private key (decryption by password = 'wrong')
GO
alter certificate c with private key (decryption by password = 'its own')
select name, pvt_key_encryption_type_desc from sys.certificates
alter certificate c with private key (encryption by password = 'another')
select name, pvt_key_encryption_type_desc from sys.certificates
GO
backup certificate c to file = '/c.cer' with private key (file = '/c.pvk', encryption by password = 'of the file')
GO
backup certificate c to file = '/c.cer' with private key (file = '/c.pvk', encryption by password = 'of the file', decryption by password = 'another')
select iif(pvt_key_last_backup_date is null, 'never', 'once') as backed_up from sys.certificates
GO
-- The private key is lost, and comes back.
drop symmetric key k
alter certificate c remove private key
select name, pvt_key_encryption_type_desc from sys.certificates
alter certificate c remove private key
GO
alter certificate c with private key (file = '/c.pvk', decryption by password = 'wrong')
GO
create certificate e with subject = 'e'
alter certificate e remove private key
alter certificate e with private key (file = '/c.pvk', decryption by password = 'of the file')
GO
alter certificate c with private key (file = '/c.pvk', decryption by password = 'of the file')
select name, pvt_key_encryption_type_desc from sys.certificates order by name
alter certificate c with private key (file = '/c.pvk', decryption by password = 'of the file')
GO
drop certificate c, e
create certificate c from file = '/c.cer' with private key (file = '/c.pvk', decryption by password = 'of the file')
create certificate again from file = '/c.cer'
GO
create certificate f from assembly a
GO
