-- The rows of indexed views are rows like others: what was acknowledged is there after a power cut.
create database d
GO
use d
create table dbo.t (id int not null primary key, g int not null, v int not null)
insert dbo.t values (1, 1, 10), (2, 1, 20), (3, 2, 30)
GO
create view dbo.s with schemabinding as select g, count_big(*) as n, sum(v) as v from dbo.t group by g
GO
create unique clustered index cx on dbo.s (g)
create index ix on dbo.s (v)
insert dbo.t values (4, 2, 5)
GO
begin tran
insert dbo.t values (5, 2, 500)
-- restart:
use d
select * from dbo.s with (noexpand) order by g
select v from dbo.s with (noexpand, index(ix)) order by v
select name, index_id from sys.indexes where object_id = object_id('dbo.s') order by index_id
insert dbo.t values (6, 3, 6)
checkpoint
delete dbo.t where g = 1
update dbo.t set v = v + 1
-- restart:
use d
select * from dbo.s with (noexpand) order by g
insert dbo.t values (7, 3, 7)
select * from dbo.s with (noexpand) order by g
dbcc checkdb with no_infomsgs
backup database d to disk = '/backup/d.bak' with format
insert dbo.t values (8, 4, 8)
GO
use master
restore database d2 from disk = '/backup/d.bak'
GO
use d2
select * from dbo.s with (noexpand) order by g
insert dbo.t values (9, 5, 9)
select * from dbo.s with (noexpand) order by g
select db_name() as db, objectproperty(object_id('dbo.s'), 'IsIndexed') as indexed
dbcc checkdb with no_infomsgs
drop index cx on dbo.s
-- restart:
use d2
select * from dbo.s order by g
select count(*) as n from sys.indexes where object_id = object_id('dbo.s')
