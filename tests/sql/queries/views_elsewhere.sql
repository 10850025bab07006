-- A view or function of another database means what it means there.
create database a
GO
use a
GO
create schema s
GO
create table dbo.part (name nvarchar(30))
create table s.part (name nvarchar(30))
insert dbo.part values ('bolt')
insert s.part values ('nut')
GO
create view dbo.named as select name from dbo.part
GO
create view dbo.unnamed as select name from part
GO
create view s.own as select name from part
GO
create function dbo.parts (@like nvarchar(30)) returns table as return select name from part where name like @like
GO
create view dbo.both as select n.name, (select count(*) from dbo.parts('%')) as n from named n cross join s.own
GO
use master
GO
create table dbo.part (name nvarchar(30))
insert dbo.part values ('not this one')
GO
select * from a.dbo.named
select * from a.dbo.unnamed
select * from a.s.own
select * from a.dbo.parts('b%')
select * from a.dbo.both
select m.name from part m cross join a.dbo.unnamed u
GO
drop table part
GO
-- What a view reads is its owner's business, and nobody else's: not in another database, not another owner's.
create database secret
GO
create login eve with password = 'Peek-4-ever'
GO
use secret
create table dbo.salary (name nvarchar(30), paid money)
insert dbo.salary values ('adam', 5)
create user eve
GO
use a
create user eve
alter role db_owner add member eve
GO
execute as login = 'eve'
GO
use a
GO
create view dbo.peek as select * from secret.dbo.salary
GO
select * from dbo.peek
GO
use secret
GO
select * from a.dbo.peek
select * from a.dbo.named
GO
revert
GO
use secret
grant select on dbo.salary to eve
GO
execute as login = 'eve'
GO
select * from a.dbo.peek
GO
revert
GO
-- Another owner's schema.
use a
create user bob without login
create user carl without login
GO
create schema bobs authorization bob
GO
grant create view to bob
grant select on dbo.part to bob
grant select on schema::bobs to carl
GO
execute as user = 'bob'
GO
create view bobs.parts as select name from dbo.part
GO
select * from bobs.parts
GO
revert
execute as user = 'carl'
GO
select * from bobs.parts
GO
revert
GO
