-- Unique, filtered and covering indexes.
create table t (id int not null, a int null, b varchar(10) null)
create clustered index cx on t (id)
create unique index ux on t (a) where a is not null
create index ix on t (b desc) include (a) with (fillfactor = 80, online = off)
insert t values (1, 1, 'x'), (2, null, 'y'), (2, null, 'z')
GO
insert t values (3, 1, 'dup')
GO
create unique index ux2 on t (id)
GO
create index ix on t (a)
GO
select name, index_id, type_desc, is_unique, has_filter from sys.indexes where object_id = object_id('t') order by index_id
GO
alter index ix on t rebuild
alter index all on t reorganize
drop index ix on t
drop index if exists ix on t
GO
drop index ix on t
GO
create table u (a int, b int, unique (a, b))
insert u values (1, null)
insert u values (1, null)
GO
drop table t, u
