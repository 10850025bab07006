-- Whom a key is given to: nobody whom the caller may not stand for, and dbo only by who controls the database.
create login ann with password = 'Ann-1'
create login bob with password = 'Bob-1'
create database shop
GO
use shop
create user ann for login ann
create user bob for login bob
create role of_ann
create role of_bob
alter role of_ann add member ann
grant create certificate, create symmetric key to ann
GO
execute as user = 'ann'
create certificate c authorization dbo encryption by password = 'x' with subject = 'c'
GO
create certificate c authorization bob encryption by password = 'x' with subject = 'c'
GO
create symmetric key k authorization of_bob with algorithm = aes_128 encryption by password = 'x'
GO
create certificate c authorization ann encryption by password = 'x' with subject = 'c'
create symmetric key k authorization of_ann with algorithm = aes_128 encryption by password = 'x'
alter authorization on certificate::c to dbo
GO
revert
grant impersonate on user::bob to ann
grant alter on role::of_bob to ann
execute as user = 'ann'
alter authorization on symmetric key::k to of_bob
alter authorization on certificate::c to bob
revert
select name, user_name(principal_id) as owner from sys.certificates union all select name, user_name(principal_id) from sys.symmetric_keys
alter authorization on certificate::c to dbo
GO
