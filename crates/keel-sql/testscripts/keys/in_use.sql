-- What hangs on keys and certificates keeps them as they are, and what changes of them is not answered from memory.
create database shop
GO
use shop
create master key encryption by password = 'Master-Key-1'
create certificate c with subject = 'c'
create symmetric key k with algorithm = aes_256 encryption by certificate c
create asymmetric key a with algorithm = rsa_2048 encryption by password = 'Key-Word-1'
create symmetric key l with algorithm = aes_256 encryption by asymmetric key a
create table t (v varbinary(200))
open symmetric key k decryption by certificate c
insert t values (encryptbykey(key_guid('k'), 'plain'))
close symmetric key k
GO
drop certificate c
GO
alter certificate c remove private key
GO
alter asymmetric key a remove private key
GO
-- Another password is asked for from the next row on.
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), null, v)) as opened from t
alter certificate c with private key (encryption by password = 'Key-Word-2')
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), N'Key-Word-2', v)) as with_password from t
alter certificate c with private key (decryption by password = 'Key-Word-2', encryption by password = 'Key-Word-3')
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), N'Key-Word-2', v)) as with_the_old_one from t
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), N'Key-Word-3', v)) as with_the_new_one from t
alter certificate c with private key (decryption by password = 'Key-Word-3')
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), null, v)) as opened from t
GO
-- So is the master key.
alter master key drop encryption by service master key
GO
select convert(varchar(20), decryptbykeyautocert(cert_id('c'), null, v)) as closed from t
GO
open master key decryption by password = 'Master-Key-1'
alter master key add encryption by service master key
close master key
GO
-- A key that was dropped and made again with its name and guid, by somebody else, is not the one that is open.
create symmetric key m with algorithm = aes_256, key_source = 'the first', identity_value = 'm' encryption by password = 'Key-Word-4'
open symmetric key m decryption by password = 'Key-Word-4'
select case when encryptbykey(key_guid('m'), 'plain') is null then 'closed' else 'open' end as m
GO
-- session b:
use shop
drop symmetric key m
create symmetric key m with algorithm = aes_256, key_source = 'the second', identity_value = 'm' encryption by password = 'Key-Word-4'
GO
-- session main:
select case when encryptbykey(key_guid('m'), 'plain') is null then 'closed' else 'open' end as m
alter symmetric key m add encryption by password = 'Key-Word-5'
GO
-- Certificates of master that seal a database have to open by themselves.
use master
create master key encryption by password = 'Master-Key-2'
create certificate sealer with subject = 'databases'
create certificate other with subject = 'databases'
GO
use shop
create database encryption key with algorithm = aes_256 encryption by server certificate sealer
GO
use master
alter certificate sealer with private key (encryption by password = 'Key-Word-6')
GO
alter certificate sealer remove private key
GO
drop certificate sealer
GO
alter certificate other with private key (encryption by password = 'Key-Word-6')
alter certificate other with private key (decryption by password = 'Key-Word-6')
GO
-- Who drops one has it to himself until that is committed.
begin transaction
drop certificate other
GO
-- session b:
set lock_timeout 0
alter database encryption key encryption by server certificate other
GO
-- session main:
commit
GO
-- session b:
alter database encryption key encryption by server certificate other
GO
