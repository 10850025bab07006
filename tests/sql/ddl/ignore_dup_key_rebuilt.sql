-- IGNORE_DUP_KEY, switched by rebuilding.
create table t (a int constraint pk primary key, b int)
create unique index ix on t (b)
create index plain on t (b, a)
insert t values (1, 1)
GO
alter table t rebuild with (ignore_dup_key = on, fillfactor = 80)
select name, ignore_dup_key, fill_factor from sys.indexes where object_id = object_id('t') order by index_id
insert t values (1, 5), (2, 2)
select * from t order by a
GO
-- Without the option it stays as it is.
alter table t rebuild
alter index ix on t rebuild with (ignore_dup_key = on)
alter index ix on t rebuild
select name, ignore_dup_key, fill_factor from sys.indexes where object_id = object_id('t') order by index_id
insert t values (3, 2), (4, 4)
select * from t order by a
GO
alter table t rebuild with (ignore_dup_key = off)
insert t values (1, 9)
GO
alter index pk on t rebuild with (ignore_dup_key = on)
GO
alter index plain on t rebuild with (ignore_dup_key = on)
GO
create table heap (a int)
alter table heap rebuild with (data_compression = page)
drop table heap, t
