-- Encrypted columns and their keys are there after a power cut, and in a restored backup.
create database shop
GO
use shop
create column master key cmk with (key_store_provider_name = N'MSSQL_CERTIFICATE_STORE', key_path = N'CurrentUser/My/BBF0')
create column encryption key cek with values (column_master_key = cmk, algorithm = 'RSA_OAEP', encrypted_value = 0x016E)
create table patients (
  id int primary key,
  ssn char(11) collate Latin1_General_BIN2 encrypted with (column_encryption_key = cek, encryption_type = deterministic, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256') null
)
insert patients values (1, null)
GO
-- When a key was changed is another time in each run.
create procedure told @text nvarchar(max), @parameters nvarchar(max) as exec sp_describe_parameter_encryption @text, @parameters
  with result sets ((at int, in_database int, cek int, version int, changed bit, value varbinary(10), provider sysname, path nvarchar(100), algorithm sysname),
    (ordinal int, name sysname, algorithm int, type int, key_at int, rules int))
GO
backup database shop to disk = 'shop.bak'
GO
-- restart:
use shop
exec told N'select * from patients where ssn = @ssn', N'@ssn char(11)'
insert patients values (2, null)
select id, ssn from patients
GO
insert patients values (3, 'plain')
GO
use master
restore database copied from disk = 'shop.bak'
GO
use copied
select name, encryption_type_desc from sys.columns where object_id = object_id('patients')
exec told N'select * from patients where ssn = @ssn', N'@ssn char(11)'
GO
insert patients values (3, 'plain')
GO
