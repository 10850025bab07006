-- Certificates and asymmetric keys: encrypting, signing, and symmetric keys that hang on them.
create database shop
GO
use shop
create asymmetric key pair with algorithm = rsa_2048
GO
create master key encryption by password = 'Pass word 1'
create asymmetric key pair with algorithm = rsa_2048
create asymmetric key locked with algorithm = rsa_2048 encryption by password = 'its own'
create certificate c with subject = 'c', expiry_date = '20991231'
create certificate shut encryption by password = 'its own' with subject = 'shut'
GO
create asymmetric key pair with algorithm = rsa_2048
GO
create asymmetric key k with algorithm = rsa_1
GO
create asymmetric key k from file = '/a.snk'
GO
select name, asymmetric_key_id, pvt_key_encryption_type, pvt_key_encryption_type_desc, datalength(thumbprint) as thumbprint, algorithm, algorithm_desc,
    key_length, left(string_sid, 8) as string_sid, iif(datalength(public_key) > 256, 'there', 'not there') as public_key
from sys.asymmetric_keys
select asymkey_id('pair') as pair, asymkey_id('nobody') as nobody, asymkeyproperty(asymkey_id('pair'), 'algorithm_desc') as algorithm, cert_id('c') as c,
    certproperty(cert_id('c'), 'Subject') as subject, certproperty(cert_id('c'), 'Expiry_Date') as expiry, certproperty(cert_id('c'), 'nothing') as nothing
GO
declare @sealed varbinary(8000) = encryptbyasymkey(asymkey_id('pair'), N'läsbar'), @by_cert varbinary(8000) = encryptbycert(cert_id('c'), 'readable')
select datalength(@sealed) as bytes, convert(nvarchar(20), decryptbyasymkey(asymkey_id('pair'), @sealed)) as plain, decryptbyasymkey(asymkey_id('locked'), @sealed, N'its own') as by_another,
    convert(varchar(20), decryptbycert(cert_id('c'), @by_cert)) as by_cert, decryptbycert(cert_id('c'), 0x0102) as damaged, encryptbycert(cert_id('c'), replicate('x', 246)) as too_long,
    decryptbycert(4711, @by_cert) as nobody
GO
-- A password opens it, once.
declare @sealed varbinary(8000) = encryptbyasymkey(asymkey_id('locked'), 'x'), @by_cert varbinary(8000) = encryptbycert(cert_id('shut'), 'y')
select convert(varchar(20), decryptbyasymkey(asymkey_id('locked'), @sealed, N'its own')) as plain, decryptbyasymkey(asymkey_id('locked'), @sealed, N'wrong') as wrong,
    convert(varchar(20), decryptbycert(cert_id('shut'), @by_cert, N'its own')) as by_cert
select decryptbyasymkey(asymkey_id('locked'), @sealed)
GO
declare @signature varbinary(8000) = signbycert(cert_id('c'), 'the text'), @other varbinary(8000) = signbyasymkey(asymkey_id('locked'), 'the text', N'its own')
select datalength(@signature) as bytes, verifysignedbycert(cert_id('c'), 'the text', @signature) as true_, verifysignedbycert(cert_id('c'), 'The text', @signature) as changed,
    verifysignedbycert(cert_id('c'), 'the text', 0x00) as damaged, verifysignedbyasymkey(asymkey_id('locked'), 'the text', @other) as by_key,
    verifysignedbyasymkey(asymkey_id('pair'), 'the text', @other) as by_another, signbyasymkey(asymkey_id('pair'), null) as nothing
GO
create symmetric key k with algorithm = aes_128 encryption by asymmetric key pair, asymmetric key locked
open symmetric key k decryption by asymmetric key locked
GO
open symmetric key k decryption by asymmetric key locked with password = 'its own'
create table t (v varbinary(200))
insert t values (encryptbykey(key_guid('k'), 'by both'))
close symmetric key k
open symmetric key k decryption by asymmetric key pair
select convert(varchar(20), decryptbykey(v)) as plain from t
close all symmetric keys
select convert(varchar(20), decryptbykeyautoasymkey(asymkey_id('pair'), null, v)) as plain, convert(varchar(20), decryptbykeyautoasymkey(asymkey_id('locked'), N'its own', v)) as locked from t
select e.crypt_type, e.crypt_type_desc, a.name from sys.key_encryptions e join sys.asymmetric_keys a on a.thumbprint = e.thumbprint order by a.name
GO
drop asymmetric key pair
GO
drop symmetric key k
alter asymmetric key locked with private key (decryption by password = 'wrong')
GO
alter asymmetric key locked with private key (decryption by password = 'its own')
alter asymmetric key pair with private key (encryption by password = 'of its own')
select name, pvt_key_encryption_type_desc from sys.asymmetric_keys order by name
drop master key
GO
alter asymmetric key locked remove private key
select name, pvt_key_encryption_type_desc from sys.asymmetric_keys order by name
GO
drop asymmetric key pair, locked
drop asymmetric key if exists pair
drop asymmetric key pair
GO
-- A certificate goes elsewhere as bytes.
declare @sql nvarchar(max) = N'create certificate copy from binary = ' + convert(nvarchar(max), certencoded(cert_id('c')), 1) + N' with private key (binary = '
    + convert(nvarchar(max), certprivatekey(cert_id('c'), 'on the way'), 1) + N', decryption by password = ''on the way'', encryption by password = ''there'')'
declare @sealed varbinary(8000) = encryptbycert(cert_id('c'), 'goes too')
drop certificate c
exec (@sql)
select name, pvt_key_encryption_type_desc, subject from sys.certificates order by name
select convert(varchar(20), decryptbycert(cert_id('copy'), @sealed, N'there')) as plain
GO
-- Triggers hear of it, without the secrets.
create table heard (event xml)
GO
create trigger hears on database for ddl_symmetric_key_events, ddl_certificate_events, ddl_asymmetric_key_events, ddl_master_key_events as
insert heard values (eventdata())
GO
create symmetric key k with algorithm = aes_128, key_source = 'a secret' encryption by password = 'another secret'
drop symmetric key k
alter master key add encryption by password = 'a third'
drop certificate copy
select event.value('(/EVENT_INSTANCE/EventType)[1]', 'varchar(30)') as event, event.value('(/EVENT_INSTANCE/ObjectName)[1]', 'varchar(30)') as name,
    event.value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'varchar(200)') as command
from heard
GO
