-- Who sees keys, and who may do what with them.
create login ann with password = 'Ann-1'
create login bob with password = 'Bob-1'
create database shop
GO
use shop
create user ann for login ann
create user bob for login bob
create master key encryption by password = 'Pass word 1'
create certificate c with subject = 'c'
create asymmetric key a with algorithm = rsa_2048
create symmetric key k with algorithm = aes_256 encryption by certificate c
create table t (v varbinary(200))
open symmetric key k decryption by certificate c
insert t values (encryptbykey(key_guid('k'), 'for some'))
close symmetric key k
grant select on t to public
GO
-- Nobody sees what he has no permission on.
execute as user = 'ann'
select name from sys.certificates
select name from sys.asymmetric_keys
select name from sys.symmetric_keys
select cert_id('c') as c, key_guid('k') as k, key_name(v) as name from t
revert
GO
execute as user = 'ann'
open symmetric key k decryption by certificate c
GO
create certificate d with subject = 'd'
GO
create symmetric key k2 with algorithm = aes_128 encryption by password = 'x'
GO
create asymmetric key a2 with algorithm = rsa_2048
GO
create master key encryption by password = 'x'
GO
open master key decryption by password = 'Pass word 1'
GO
drop certificate c
GO
drop symmetric key k
GO
alter certificate c remove private key
GO
revert
grant select on certificate::c to ann
GO
grant view definition on symmetric key::nobody to ann
GO
-- To open it: any permission on the key, and CONTROL on the certificate.
grant view definition on symmetric key::k to ann
grant view definition on certificate::c to ann
execute as user = 'ann'
select name from sys.symmetric_keys order by name
select name from sys.certificates
open symmetric key k decryption by certificate c
GO
select decryptbycert(cert_id('c'), encryptbycert(cert_id('c'), 'x')) as no_control
revert
grant control on certificate::c to ann
execute as user = 'ann'
open symmetric key k decryption by certificate c
select convert(varchar(20), decryptbykey(v)) as plain, convert(varchar(20), decryptbykeyautocert(cert_id('c'), null, v)) as auto from t
close all symmetric keys
revert
GO
select class, class_desc, type, permission_name, state_desc from sys.database_permissions where class in (24, 25, 26) order by class, permission_name
select has_perms_by_name('c', 'CERTIFICATE', 'CONTROL') as control
GO
-- A denial hides it again.
deny view definition on symmetric key::k to ann
execute as user = 'ann'
open symmetric key k decryption by certificate c
GO
revert
revoke view definition on symmetric key::k from ann
GO
-- Owners, and those who may make keys.
grant create symmetric key, create certificate to bob
grant references on certificate::c to bob
execute as user = 'bob'
create symmetric key of_bob with algorithm = aes_128 encryption by certificate c
create certificate bobs encryption by password = 'x' with subject = 'bob'
select name, principal_id from sys.symmetric_keys where name = 'of_bob'
drop certificate bobs
revert
GO
drop user bob
GO
alter authorization on symmetric key::of_bob to ann
alter authorization on certificate::c to bob
select k.name, user_name(k.principal_id) as owner from sys.symmetric_keys k where name = 'of_bob'
execute as user = 'bob'
open symmetric key of_bob decryption by certificate c
GO
revert
execute as user = 'ann'
drop symmetric key of_bob
revert
GO
drop user bob
GO
create certificate of_ann authorization ann with subject = 'ann'
select user_name(principal_id) as owner from sys.certificates where name = 'of_ann'
create certificate of_nobody authorization nobody with subject = 'nobody'
GO
