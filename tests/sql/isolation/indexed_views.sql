-- Indexed views between sessions: who adds to a group waits for who has added to it.
create database d
GO
alter database d set allow_snapshot_isolation on
use d
create table dbo.t (id int not null primary key, g int not null, v int not null)
create table dbo.u (id int not null primary key, name varchar(10) not null)
insert dbo.t values (1, 1, 10), (2, 2, 20)
insert dbo.u values (1, 'one'), (2, 'two')
GO
create view dbo.s with schemabinding as select g, count_big(*) as n, sum(v) as v from dbo.t group by g
GO
create view dbo.j with schemabinding as select t.id, u.name from dbo.t join dbo.u on u.id = t.g
GO
create unique clustered index cx on dbo.s (g)
create unique clustered index cx on dbo.j (id)
GO
-- session a:
use d; begin tran; insert dbo.t values (3, 1, 5)
-- session b:
use d; select * from dbo.s with (noexpand) order by g; insert dbo.t values (4, 2, 5)
-- session b waits:
insert dbo.t values (5, 1, 7)
-- session a:
commit
-- session b resumes:
-- session a:
select * from dbo.s with (noexpand) order by g
-- The last row of a group goes while another comes.
-- session a:
begin tran; delete dbo.t where g = 2
-- session b waits:
insert dbo.t values (6, 2, 1)
-- session a:
commit
-- session b resumes:
-- session a:
select * from dbo.s with (noexpand) order by g
-- Both sides of a join: the second finds what the first has written, and waits.
-- session a:
begin tran; insert dbo.t values (7, 3, 1)
-- session b waits:
insert dbo.u values (3, 'three'); update dbo.u set name = 'THREE' where id = 3
-- session a:
commit
-- session b resumes:
-- session a:
select * from dbo.j with (noexpand) order by id
-- A snapshot that has seen the group as it was may not add to it any more.
-- session a:
set transaction isolation level snapshot; begin tran; select * from dbo.s where g = 1
-- session b:
insert dbo.t values (8, 1, 100)
-- session a:
select * from dbo.s where g = 1; select * from dbo.s with (noexpand) where g = 1
-- session a:
insert dbo.t values (9, 1, 1000)
-- session a:
if @@trancount > 0 rollback
-- session a:
begin tran; select count(*) as n from dbo.u
-- session b:
update dbo.u set name = 'uno' where id = 1
-- session a:
insert dbo.t values (10, 1, 1)
-- session a:
if @@trancount > 0 rollback; set transaction isolation level read committed
-- Each waits for the other's group: one is the victim.
-- session a:
begin tran; insert dbo.t values (20, 1, 1)
-- session b:
begin tran; insert dbo.t values (21, 3, 1)
-- session a waits:
insert dbo.t values (22, 3, 1)
-- session b:
insert dbo.t values (23, 1, 1)
-- session a resumes:
-- session a:
if @@trancount > 0 commit
-- session b:
if @@trancount > 0 commit
-- session a:
select * from dbo.s with (noexpand) order by g
-- Serializable readers of the view keep writers out of it; an index waits for those who change the tables.
-- session a:
set transaction isolation level serializable; begin tran; select sum(v) as v from dbo.s with (noexpand)
-- session b waits:
insert dbo.t values (30, 9, 1)
-- session a:
commit
-- session b resumes:
-- session b:
begin tran; insert dbo.t values (31, 9, 1)
-- session a waits:
create index ix on dbo.s (n)
-- session b:
commit
-- session a resumes:
-- session a:
select g, n from dbo.s with (noexpand, index(ix)) order by n, g
