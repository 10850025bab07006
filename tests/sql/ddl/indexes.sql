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
GO
-- No column twice, in the key or beside it.
create table twice (a int, b int, c int, index inline_twice (a) include (b, b))
GO
create table twice (a int, b int, c int)
GO
create index i on twice (a) include (a, b)
GO
create index i on twice (a) include (b, B)
GO
create index i on twice (b, a) include (c)
-- Rows with the same key come out of a join in the order in which they came in.
select c.name from sys.indexes i join sys.index_columns ic on ic.object_id = i.object_id and ic.index_id = i.index_id join sys.columns c on c.object_id = ic.object_id and c.column_id = ic.column_id where i.object_id = object_id('twice') order by i.name
GO
-- A clustered index that is a table's only one is made anew.
create table only_one (a int not null, b int not null)
create clustered index ci on only_one (a)
insert only_one values (1, 2), (2, 1)
create unique clustered index ci on only_one (b) with (drop_existing = on)
select a, b from only_one with (index (ci))
select name, is_unique from sys.indexes where object_id = object_id('only_one')
drop table only_one
GO
-- Options of indexes are those that there are; an ON behind the old form names the filegroup.
create table o (a int, b int)
create index padded on o (a) with pad_index, fillfactor = 70 on [primary]
create index for_keys on o (b) with (optimize_for_sequential_key = on, resumable = off, data_compression = page)
select name, fill_factor from sys.indexes where object_id = object_id('o') and name is not null order by name
GO
create index wrong on o (a) with (fillfaktor = 70)
GO
create index wrong on o (a) with ()
GO
alter index padded on o rebuild with (lock_escalation = auto)
GO
create table p (a int primary key with (system_versioning = on))
GO
alter table o add c int constraint uq_c unique with (nonsense = on)
GO
create table p (a int) with (fillfactor = 70)
GO
drop table o
