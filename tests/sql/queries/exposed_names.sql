-- Tables of several schemas and databases may have a name in common: what is written in FROM is what they are called.
create database exposed_one
create database exposed_two
GO
use exposed_two
GO
create table t(id int primary key, b int)
insert t values (1, 20), (2, 30)
GO
create view v as select id, b from t
GO
use exposed_one
GO
create schema s
GO
create table t(id int primary key, a int)
create table s.t(id int primary key, c int)
insert t values (1, 10), (2, 11)
insert s.t values (1, 100)
GO
create view v as select id, a from t
GO
select dbo.t.a, exposed_two.dbo.t.b from dbo.t join exposed_two.dbo.t on dbo.t.id = exposed_two.dbo.t.id order by dbo.t.id
select dbo.t.a, s.t.c, exposed_two.dbo.t.b from dbo.t join exposed_two.dbo.t on dbo.t.id = exposed_two.dbo.t.id join s.t on s.t.id = dbo.t.id
select exposed_one.dbo.t.a, exposed_two.dbo.t.b from exposed_one.dbo.t join exposed_two.dbo.t on exposed_one.dbo.t.id = exposed_two.dbo.t.id order by 1
select exposed_one..t.a, exposed_two..t.b from exposed_one..t join exposed_two..t on exposed_one..t.id = exposed_two..t.id order by 1
select exposed_two.dbo.t.* from dbo.t, exposed_two.dbo.t where dbo.t.id = 1 and exposed_two.dbo.t.id = 2
select exposed_one.dbo.v.a, exposed_two.dbo.v.b from exposed_one.dbo.v, exposed_two.dbo.v where exposed_one.dbo.v.id = exposed_two.dbo.v.id order by 1
select count(*) n from exposed_one.sys.objects join exposed_two.sys.objects on exposed_one.sys.objects.object_id = -exposed_two.sys.objects.object_id
GO
-- One without others needs no more than before.
select t.b, dbo.t.b, exposed_two.dbo.t.b from exposed_two.dbo.t where t.id = 1
select exposed_one.dbo.t.a from t where id = 1
GO
update dbo.t set a = exposed_two.dbo.t.b from dbo.t join exposed_two.dbo.t on dbo.t.id = exposed_two.dbo.t.id
select * from t
GO
update exposed_two.dbo.t set b = s.t.c from exposed_two.dbo.t join s.t on s.t.id = exposed_two.dbo.t.id join dbo.t on dbo.t.id = s.t.id
select * from exposed_two.dbo.t
GO
delete exposed_two.dbo.t output deleted.* from exposed_two.dbo.t join dbo.t on dbo.t.id = exposed_two.dbo.t.id where dbo.t.id = 2
select count(*) n from t
GO
merge exposed_two.dbo.t using dbo.t on exposed_two.dbo.t.id = dbo.t.id when matched then update set b = dbo.t.a when not matched then insert (id, b) values (dbo.t.id, dbo.t.a);
select * from exposed_two.dbo.t
GO
-- The same one twice.
select 1 from dbo.t, dbo.t
GO
select 1 from exposed_two.dbo.t, exposed_two.dbo.t
GO
select 1 from sys.objects join sys.objects on 1 = 1
GO
select 1 from t, t
GO
select t.id from dbo.t, s.t
GO
select exposed_two.dbo.t.a from dbo.t
GO
use master
GO
drop database exposed_one
drop database exposed_two
GO
