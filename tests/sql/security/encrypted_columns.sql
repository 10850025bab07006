-- Always Encrypted: keys, encrypted columns, and what may be done with them. Clients encrypt; here values are NULL, or moved as they are.
create database shop
GO
use shop
create column master key cmk with (key_store_provider_name = N'MSSQL_CERTIFICATE_STORE', key_path = N'CurrentUser/My/BBF037EC4A133ADCA89FFAEC16CA5BFA8878FB94')
create column master key other with (key_store_provider_name = N'AZURE_KEY_VAULT', key_path = N'https://vault/keys/1')
create column encryption key cek with values (column_master_key = cmk, algorithm = 'RSA_OAEP', encrypted_value = 0x016E)
select name, column_master_key_id, key_store_provider_name, key_path, allow_enclave_computations from sys.column_master_keys
select name, column_encryption_key_id from sys.column_encryption_keys
GO
-- A key is there twice while its master key is changed.
alter column encryption key cek add value (column_master_key = other, algorithm = 'RSA_OAEP', encrypted_value = 0x02)
select * from sys.column_encryption_key_values
GO
create column master key third with (key_store_provider_name = N'x', key_path = N'y')
alter column encryption key cek add value (column_master_key = third, algorithm = 'RSA_OAEP', encrypted_value = 0x03)
GO
alter column encryption key cek add value (column_master_key = other, algorithm = 'RSA_OAEP', encrypted_value = 0x03)
GO
drop column master key other
GO
alter column encryption key cek drop value (column_master_key = other)
drop column master key other
select * from sys.column_encryption_key_values
GO
alter column encryption key cek drop value (column_master_key = cmk)
GO
alter column encryption key cek drop value (column_master_key = third)
GO
create column master key cmk with (key_store_provider_name = N'x', key_path = N'y')
GO
create column master key enclave with (key_store_provider_name = N'x', key_path = N'y', enclave_computations (signature = 0x01))
GO
create column encryption key cek with values (column_master_key = cmk, algorithm = 'RSA_OAEP', encrypted_value = 0x01)
GO
create column encryption key k with values (column_master_key = nobody, algorithm = 'RSA_OAEP', encrypted_value = 0x01)
GO
create column encryption key k with values (column_master_key = cmk, algorithm = 'DES', encrypted_value = 0x01)
GO
drop column encryption key nobody
GO
-- What may be encrypted.
create table wrong (a varchar(10) collate Latin1_General_CI_AS encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256'))
GO
create table wrong (a xml encrypted with (column_encryption_key = cek, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256'))
GO
create table wrong (a int identity encrypted with (column_encryption_key = cek, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256'))
GO
create table wrong (a int encrypted with (column_encryption_key = cek, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') default 1)
GO
create table wrong (a int encrypted with (column_encryption_key = nobody, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256'))
GO
create table wrong (a int encrypted with (column_encryption_key = cek, encryption_type = randomized, algorithm = 'AES'))
GO
create table wrong (a int encrypted with (column_encryption_key = cek, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') primary key)
GO
create table patients (
  id int primary key,
  ssn char(11) collate Latin1_General_BIN2 encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') null,
  name nvarchar(50) encrypted with (column_encryption_key = cek, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') null,
  born date encrypted with (column_encryption_key = cek, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') null
)
create unique index by_ssn on patients (ssn) where ssn is not null
GO
create unique index by_ssn on patients (ssn)
GO
create index by_born on patients (born)
GO
select column_name, data_type, character_maximum_length from information_schema.columns where table_name = 'patients'
select name, type_name(user_type_id) as type, max_length, encryption_type, encryption_type_desc, encryption_algorithm_name, column_encryption_key_id, column_encryption_key_database_name
from sys.columns where object_id = object_id('patients')
GO
drop column encryption key cek
GO
-- Keys between tables.
create table sent (ssn char(11) collate Latin1_General_BIN2 encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') primary key)
create table got (plain char(11) collate Latin1_General_BIN2 references sent)
GO
create table got (ssn char(11) collate Latin1_General_BIN2 encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') references sent)
drop table got, sent
GO
-- Plaintexts are refused, NULL is what it is.
insert patients (id, ssn) values (1, '795-73-9838')
GO
insert patients (id, ssn) values (1, null)
update patients set name = null, born = null
select * from patients where ssn is null
GO
select * from patients where ssn = '795-73-9838'
GO
declare @ssn char(11) = '795-73-9838' select * from patients where ssn = @ssn
GO
select * from patients where ssn > '7'
GO
select * from patients where born = '2000-01-01'
GO
select * from patients where ssn like '7%'
GO
select len(ssn) from patients
GO
select max(ssn) from patients
GO
select ssn + 'x' from patients
GO
select cast(ssn as varchar(20)) from patients
GO
select * from patients order by ssn
GO
select distinct born from patients
GO
select count(*) as n, count(distinct ssn) as ssns from patients group by ssn
select a.id from patients a join patients b on b.ssn = a.ssn
GO
-- What it moves to is encrypted too.
select ssn, born into copied from patients
select name, encryption_type_desc from sys.columns where object_id = object_id('copied')
insert copied select ssn, born from patients
select count(*) as n from copied
GO
create database other
GO
select ssn into other.dbo.copied from patients
GO
-- Which parameters a client has to encrypt. When a key was changed is another time in each run.
create procedure told @text nvarchar(max), @parameters nvarchar(max) as exec sp_describe_parameter_encryption @text, @parameters
  with result sets ((at int, in_database int, cek int, version int, changed bit, value varbinary(10), provider sysname, path nvarchar(100), algorithm sysname),
    (ordinal int, name sysname, algorithm int, type int, key_at int, rules int))
GO
exec told N'insert patients (id, ssn, name) values (@id, @ssn, @name)', N'@id int, @ssn varchar(8000), @name nvarchar(4000)'
exec told N'select * from patients where ssn in (@a, @b) and id = @c', N'@a char(11), @b char(11), @c int'
exec told N'declare @own char(11) set @own = @p update patients set ssn = @own where id = 1', N'@p char(11)'
exec told N'select @n = name from patients where id = 1', N'@n nvarchar(50) output'
GO
create procedure find_patient @ssn char(11), @name nvarchar(50) output as select @name = name from patients where ssn = @ssn
GO
exec told N'exec find_patient @ssn = @p, @name = @n output', N'@p char(11), @n nvarchar(50) output'
select name, encryption_type_desc from sys.parameters where object_id = object_id('find_patient')
GO
exec told N'select * from patients where born = @b', N'@b date'
GO
exec find_patient '795-73-9838', null
GO
-- Without rows a column becomes encrypted, or a plain one.
create table later (a int)
alter table later alter column a int encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') not null
select name, encryption_type_desc, is_nullable from sys.columns where object_id = object_id('later')
alter table later alter column a int
select name, encryption_type_desc from sys.columns where object_id = object_id('later')
insert later values (1)
GO
alter table later alter column a int encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256')
GO
alter table later add b int encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256')
select a, b from later
GO
drop table later, patients, copied
drop column encryption key cek
drop column master key cmk
select count(*) as n from sys.column_encryption_keys
GO
