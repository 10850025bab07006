-- The chain from the service master key to a cell, as applications are taught to build it.
create database shop
GO
use shop
create certificate cards with subject = 'card numbers'
GO
create master key encryption by password = 'Pass word 1'
GO
create master key encryption by password = 'again'
GO
create certificate cards with subject = 'card numbers', start_date = '20260101', expiry_date = '20300101'
create symmetric key card_key with algorithm = aes_256 encryption by certificate cards
select name, pvt_key_encryption_type, pvt_key_encryption_type_desc, is_active_for_begin_dialog, issuer_name, subject, start_date, expiry_date,
    datalength(thumbprint) as thumbprint, key_length, left(string_sid, 8) as string_sid, datalength(sid) as sid, pvt_key_last_backup_date
from sys.certificates
select name, principal_id, symmetric_key_id, key_length, key_algorithm, algorithm_desc, iif(key_guid is null, 'none', 'one') as guid from sys.symmetric_keys
select key_id, datalength(thumbprint) as thumbprint, crypt_type, crypt_type_desc from sys.key_encryptions order by key_id, crypt_type
select name, is_master_key_encrypted_by_server from sys.databases where name in ('shop', 'model')
GO
create certificate cards with subject = 'again'
GO
create symmetric key card_key with algorithm = aes_256 encryption by certificate cards
GO
create symmetric key k with algorithm = rot_13 encryption by certificate cards
GO
create symmetric key k with algorithm = aes_128
GO
create symmetric key k with algorithm = aes_128 encryption by certificate nobody
GO
-- A closed key gives NULL, whichever way.
create table card (id int primary key, number varbinary(200))
insert card values (1, encryptbykey(key_guid('card_key'), '4111111111111111'))
select id, number from card
GO
open symmetric key nobody decryption by certificate cards
GO
open symmetric key card_key decryption by password = 'what?'
GO
open symmetric key card_key decryption by certificate nobody
GO
open symmetric key card_key decryption by certificate cards
select database_name, key_id, key_name, iif(key_guid = key_guid('card_key'), 'the same', 'another') as guid, status from sys.openkeys
truncate table card
insert card values (1, encryptbykey(key_guid('card_key'), '4111111111111111')),
    (2, encryptbykey(key_guid('card_key'), '4222222222222222', 1, '2')), (3, encryptbykey(key_guid('card_key'), N'Größe')), (4, encryptbykey(key_guid('card_key'), null))
select id, datalength(number) as bytes, convert(varchar(10), substring(number, 17, 4), 1) as version, iif(substring(number, 1, 16) = convert(binary(16), key_guid('card_key')), 1, 0) as by_guid,
    key_name(number) as key_name
from card
select id, convert(varchar(50), decryptbykey(number)) as plain, convert(varchar(50), decryptbykey(number, 1, convert(varchar(10), id))) as authenticated
from card where id <> 3
select id, convert(nvarchar(50), decryptbykey(number)) as wide from card where id = 3
select count(*) as found from card where convert(varchar(50), decryptbykey(number)) = '4111111111111111'
GO
-- The same text is never encrypted to the same bytes.
select iif(encryptbykey(key_guid('card_key'), 'x') = encryptbykey(key_guid('card_key'), 'x'), 'same', 'different') as twice,
    decryptbykey(0x) as nothing, decryptbykey(0x00112233) as short, decryptbykey(substring((select number from card where id = 1), 1, 40)) as cut,
    encryptbykey(newid(), 'x') as no_such_key
GO
select datalength(encryptbykey(key_guid('card_key'), replicate('x', 7900))) as fits_, encryptbykey(key_guid('card_key'), replicate('x', 8000)) as too_long
select encryptbykey(key_guid('card_key'), 4711)
GO
-- Open keys are the session's: a procedure leaves them open, a rollback too, another session has none.
create procedure opens as open symmetric key card_key decryption by certificate cards
GO
close symmetric key card_key
GO
close symmetric key card_key
GO
begin tran
exec opens
rollback
select convert(varchar(50), decryptbykey(number)) as plain from card where id = 1
GO
-- session other:
use shop
select key_name from sys.openkeys
select convert(varchar(50), decryptbykey(number)) as plain from card where id = 1
GO
-- session main:
use master
GO
-- Wherever the session is: the guid in the value finds the key.
open symmetric key card_key decryption by certificate cards
GO
use shop
open symmetric key card_key decryption by certificate cards
use master
select convert(varchar(50), decryptbykey(number)) as plain from shop..card where id = 1
use shop
close all symmetric keys
select convert(varchar(50), decryptbykey(number)) as plain from card where id = 1
GO
-- Without opening.
select id, convert(varchar(50), decryptbykeyautocert(cert_id('cards'), null, number)) as plain,
    convert(varchar(50), decryptbykeyautocert(cert_id('cards'), null, number, 1, '2')) as authenticated
from card where id <> 3 order by id
select decryptbykeyautocert(4711, null, number) as no_certificate from card where id = 1
GO
-- Something hangs on it.
drop certificate cards
GO
drop master key
GO
alter certificate cards remove private key
GO
-- Rolled back, none of it was.
begin tran
create symmetric key gone with algorithm = aes_128 encryption by password = 'for a while'
drop symmetric key card_key
select name from sys.symmetric_keys order by name
rollback
select name from sys.symmetric_keys order by name
GO
-- Several protectors, and one that is another key.
open symmetric key card_key decryption by certificate cards
alter symmetric key card_key add encryption by password = 'by hand'
alter symmetric key card_key add encryption by password = 'by another hand'
GO
alter symmetric key card_key add encryption by password = 'by hand'
GO
alter symmetric key card_key add encryption by certificate cards
GO
create symmetric key inner_key with algorithm = triple_des_3key encryption by symmetric key card_key, password = 'of the inner one'
close all symmetric keys
open symmetric key inner_key decryption by symmetric key card_key
GO
open symmetric key card_key decryption by password = 'by hand'
open symmetric key inner_key decryption by symmetric key card_key
select key_name from sys.openkeys
select convert(varchar(20), decryptbykey(encryptbykey(key_guid('inner_key'), 'three keys'))) as plain, datalength(encryptbykey(key_guid('inner_key'), 'three keys')) as bytes
select k.name, e.crypt_type, e.crypt_type_desc from sys.key_encryptions e join sys.symmetric_keys k on k.symmetric_key_id = e.key_id order by k.name, e.crypt_type
GO
drop symmetric key card_key
GO
alter symmetric key card_key drop encryption by password = 'by hand'
alter symmetric key card_key drop encryption by password = 'by hand'
GO
alter symmetric key card_key drop encryption by certificate cards
alter symmetric key card_key drop encryption by password = 'by another hand'
GO
close all symmetric keys
alter symmetric key card_key add encryption by certificate cards
GO
open symmetric key card_key decryption by certificate cards
GO
-- The same key on two servers: made from texts.
create symmetric key shared with algorithm = aes_256, key_source = 'a long story', identity_value = 'and its name' encryption by password = 'here'
select key_guid('shared') as guid, symkeyproperty(key_id('shared'), 'algorithm_desc') as algorithm, key_name(key_guid('shared')) as name
create symmetric key shared_2 with algorithm = aes_128, identity_value = 'and its name' encryption by password = 'here'
GO
create database elsewhere
GO
use elsewhere
create symmetric key shared with algorithm = aes_256, key_source = 'a long story', identity_value = 'and its name' encryption by password = 'there'
open symmetric key shared decryption by password = 'there'
create table t (v varbinary(100))
insert t values (encryptbykey(key_guid('shared'), 'from elsewhere'))
close all symmetric keys
use shop
open symmetric key shared decryption by password = 'here'
select convert(varchar(50), decryptbykey(v)) as plain from elsewhere..t
close symmetric key shared
GO
-- A restart changes nothing but what was open.
-- restart:
use shop
select name from sys.symmetric_keys order by name
select key_name from sys.openkeys
open symmetric key card_key decryption by password = 'by another hand'
select convert(varchar(50), decryptbykey(number)) as plain from card where id = 1
GO
drop symmetric key if exists nobody, inner_key
drop symmetric key inner_key
GO
drop symmetric key card_key
drop certificate cards
drop master key
drop master key
GO
