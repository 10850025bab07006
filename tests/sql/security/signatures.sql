-- Modules that somebody has signed may what was granted to the user or login of the certificate, while they run.
create database signed
GO
use signed
GO
create login sig_caller with password = 'Str0ng.Passw0rd'
create user caller for login sig_caller
create table secrets(a int)
insert secrets values (1), (2)
create certificate granting encryption by password = 'Cert.Passw0rd' with subject = 'may read secrets', expiry_date = '20991231'
create user granted from certificate granting
grant select on secrets to granted
GO
-- Dynamic SQL has no ownership chain: only the caller's rights count, and the certificate's.
create procedure dbo.counts as
select user_name() who, suser_sname() login
exec ('select count(*) n from secrets')
GO
create procedure dbo.inner_counts as exec ('select count(*) n from secrets')
GO
create procedure dbo.outer_counts as exec dbo.inner_counts
GO
create procedure dbo.tokens as select name, type, usage from sys.user_token order by principal_id
GO
create function dbo.counted() returns int as begin return (select count(*) from sys.user_token where type = 'USER MAPPED TO CERTIFICATE') end
GO
create procedure dbo.asks as select dbo.counted() behind_the_function
GO
grant execute on schema::dbo to caller
GO
execute as login = 'sig_caller'
exec counts
revert
GO
add signature to dbo.counts by certificate granting with password = 'Cert.Passw0rd'
add signature to object::tokens by certificate granting with password = 'Cert.Passw0rd'
add signature to outer_counts by certificate granting with password = 'Cert.Passw0rd'
add signature to asks by certificate granting with password = 'Cert.Passw0rd'
GO
execute as login = 'sig_caller'
exec counts
exec tokens
select count(*) from secrets
GO
-- What is called is not signed: it has nothing of the caller's certificate.
exec outer_counts
GO
exec asks
revert
GO
add counter signature to inner_counts by certificate granting with password = 'Cert.Passw0rd'
add signature to counted by certificate granting with password = 'Cert.Passw0rd'
GO
execute as login = 'sig_caller'
exec outer_counts
exec asks
GO
-- A countersignature alone grants nothing.
exec inner_counts
GO
revert
GO
select object_name(major_id) module, crypt_type, crypt_type_desc, class_desc, datalength(crypt_property) bytes, iif(p.thumbprint = c.thumbprint, 1, 0) its
from sys.crypt_properties p cross join sys.certificates c order by 1
select p.name, p.type, p.type_desc, p.authentication_type_desc, iif(p.sid = c.sid, 1, 0) its from sys.database_principals p join sys.certificates c on p.sid = c.sid
declare @t varbinary(32) = (select thumbprint from sys.certificates)
select type, object_name(entity_id) module, is_signed, is_signature_valid from sys.fn_check_object_signatures('certificate', @t) order by 2
select is_objectsigned('OBJECT', object_id('counts'), 'certificate', @t) counts, is_objectsigned('OBJECT', object_id('inner_counts'), 'certificate', @t) inner_counts, is_objectsigned('OBJECT', object_id('secrets'), 'certificate', @t) secrets
GO
-- Whoever signed twice is told so; what is not there cannot be dropped.
add signature to counts by certificate granting with password = 'Cert.Passw0rd'
GO
drop signature from inner_counts by certificate granting
GO
drop counter signature from inner_counts by certificate granting
select count(*) n from sys.crypt_properties
GO
-- A module that is altered is another one.
alter procedure dbo.counts as exec ('select count(*) n from secrets')
GO
execute as login = 'sig_caller'
exec counts
revert
select count(*) n from sys.crypt_properties
GO
-- Signatures travel without the private key.
add signature to counts by certificate granting with password = 'Cert.Passw0rd'
declare @s varbinary(max) = (select crypt_property from sys.crypt_properties where major_id = object_id('counts'))
drop signature from counts by certificate granting
alter certificate granting remove private key
declare @sql nvarchar(max) = concat('add signature to counts by certificate granting with signature = ', convert(varchar(max), @s, 1))
exec (@sql)
select count(*) n from sys.crypt_properties where major_id = object_id('counts')
set @sql = replace(@sql, 'to counts', 'to inner_counts')
begin try exec (@sql) end try begin catch select error_number() number, error_message() message end catch
GO
add signature to inner_counts by certificate granting
GO
execute as login = 'sig_caller'
exec counts
GO
add signature to counts by certificate granting
GO
revert
GO
create view shown as select 1 a
GO
add signature to shown by certificate granting
GO
add signature to nothing by certificate granting
GO
add signature to counts by certificate nothing
GO
add signature to counts by asymmetric key granting
GO
create user another from certificate granting
GO
create user another from certificate nothing
GO
execute as user = 'granted'
GO
alter user granted with login = sig_caller
GO
drop certificate granting
GO
drop signature from counts by certificate granting, certificate granting
GO
drop user granted
drop signature from outer_counts by certificate granting
drop signature from tokens by certificate granting
drop signature from asks by certificate granting
drop signature from counts by certificate granting
drop signature from counted by certificate granting
drop certificate granting
GO
-- The same by an asymmetric key.
create asymmetric key k with algorithm = rsa_2048 encryption by password = 'Key.Passw0rd'
create user granted from asymmetric key k
alter role db_datareader add member granted
add signature to counts by asymmetric key k with password = 'Key.Passw0rd'
select crypt_type, crypt_type_desc from sys.crypt_properties
select type, type_desc from sys.database_principals where name = 'granted'
execute as login = 'sig_caller'
exec counts
revert
GO
drop asymmetric key k
GO
-- A trigger; what a temporary procedure does is nobody else's.
create table changes(a int)
GO
create trigger told on changes after insert as exec sp_executesql N'select count(*) n from secrets'
GO
grant insert on changes to caller
add signature to told by asymmetric key k with password = 'Key.Passw0rd'
GO
create procedure calls_temporary as exec #reads
GO
add signature to calls_temporary by asymmetric key k with password = 'Key.Passw0rd'
GO
execute as login = 'sig_caller'
insert changes values (1)
GO
create procedure #reads as exec ('select count(*) n from secrets')
GO
exec calls_temporary
GO
revert
GO
-- A login of a certificate carries permissions of the instance; the certificate's copy signs in another database.
use master
GO
create certificate sig_server encryption by password = 'Cert.Passw0rd' with subject = 'may look', expiry_date = '20991231'
create login sig_login from certificate sig_server
grant view server state to sig_login
select type, type_desc, iif(sid = (select sid from sys.certificates where name = 'sig_server'), 1, 0) its from sys.server_principals where name = 'sig_login'
GO
create login sig_login2 from certificate sig_server
GO
alter login sig_login with password = 'Str0ng.Passw0rd'
GO
execute as login = 'sig_login'
GO
drop certificate sig_server
GO
declare @sql nvarchar(max) = concat('use signed; create certificate sig_server from binary = ', convert(varchar(max), certencoded(cert_id('sig_server')), 1),
  ' with private key (binary = ', convert(varchar(max), certprivatekey(cert_id('sig_server'), 'Cert.Passw0rd', 'Cert.Passw0rd'), 1), ', decryption by password = ''Cert.Passw0rd'', encryption by password = ''Cert.Passw0rd'')')
exec (@sql)
GO
use signed
GO
create procedure looks as
select has_perms_by_name(null, null, 'VIEW SERVER STATE') may, is_srvrolemember('sysadmin') admin
select name, type from sys.login_token where type <> 'SERVER ROLE' order by name
GO
grant execute on looks to caller
execute as login = 'sig_caller'
exec looks
revert
GO
add signature to looks by certificate sig_server with password = 'Cert.Passw0rd'
execute as login = 'sig_caller'
exec looks
select has_perms_by_name(null, null, 'VIEW SERVER STATE') may
revert
GO
alter server role sysadmin add member sig_login
execute as login = 'sig_caller'
exec looks
select is_srvrolemember('sysadmin') admin
revert
GO
alter server role sysadmin drop member sig_login
GO
-- Over to another database, where its user is.
create database signed_other
GO
use signed_other
GO
create table there(a int)
insert there values (42)
declare @sql nvarchar(max) = concat('create certificate sig_server from binary = ', (select convert(varchar(max), certencoded(cert_id('sig_server')), 1)))
GO
use signed
GO
declare @sql nvarchar(max) = concat('use signed_other; create certificate sig_server from binary = ', convert(varchar(max), certencoded(cert_id('sig_server')), 1))
exec (@sql)
GO
use signed_other
GO
create user its from certificate sig_server
grant select on there to its
GO
use signed
GO
create procedure reaches as select a, user_name() me from signed_other.dbo.there
GO
grant execute on reaches to caller
execute as login = 'sig_caller'
exec reaches
GO
revert
GO
add signature to reaches by certificate sig_server with password = 'Cert.Passw0rd'
GO
execute as login = 'sig_caller'
exec reaches
select * from signed_other.dbo.there
GO
revert
GO
use master
GO
drop login sig_login
drop certificate sig_server
drop login sig_caller
drop database signed
drop database signed_other
GO
