-- Sessions that change the catalog at the same time wait for each other, and neither overwrites what the other did.
create user u without login; create role r; create table t (a int)
GO
-- session a:
begin transaction
GO
create schema one
GO
-- session b:
set lock_timeout 0
GO
create schema two
GO
create table t2 (a int)
GO
set lock_timeout -1
-- session b waits:
create schema two
-- session a:
commit
-- session b resumes:
-- session a:
begin transaction; grant select on t to u; exec sp_addextendedproperty 'p1', 1; create type ty from int
-- session b waits:
grant insert on t to u
-- session a:
commit
-- session b resumes:
-- session a:
begin transaction; alter role r add member u
-- session b waits:
begin transaction; grant update on t to r; create type ty2 from int; exec sp_addextendedproperty 'p2', 2
-- session a:
commit
-- session b resumes:
-- session a waits:
create user u2 without login
-- session b:
commit
-- session a resumes:
-- session main:
select name from sys.schemas where schema_id > 4 and schema_id < 16384 order by name
select u.name, p.permission_name from sys.database_permissions p join sys.database_principals u on u.principal_id = p.grantee_principal_id where p.major_id = object_id('t') order by 1, 2
select name, is_user_defined from sys.types where is_user_defined = 1 order by name
select name, value from sys.extended_properties order by name
select name from sys.database_principals where name like 'u%' order by name
GO
-- A table is emptied as it is when the lock is granted, with the index that it has got meanwhile.
-- session a:
create table emptied (a int not null, b int); insert emptied values (1, 1), (2, 2)
begin transaction; create unique index late on emptied (b); alter table emptied add c int
-- session b waits:
truncate table emptied
-- session a:
commit
-- session b resumes:
-- session a:
select i.name, (select count(*) from emptied with (index (late))) as n, col_length('emptied', 'c') as c from sys.indexes i where i.object_id = object_id('emptied') and i.index_id > 0
GO
