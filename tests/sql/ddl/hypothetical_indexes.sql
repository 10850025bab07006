-- WITH STATISTICS_ONLY: an index that is shown, and that nothing keeps or reads. Tuning tools make them.
create table t (id int primary key, a int, b int)
insert t values (1, 10, 1), (2, 10, 2)
create index ix on t (a) include (b) with statistics_only = -1
create unique index ux on t (a) with (statistics_only = 0)
create clustered index cx on t (b) with statistics_only
select name, index_id, type_desc, is_unique, is_disabled, is_hypothetical from sys.indexes
  where object_id = object_id('t') and is_primary_key = 0 order by name
select indexproperty(object_id('t'), 'ix', 'IsHypothetical') h, indexproperty(object_id('t'), 'ix', 'IsDisabled') d
insert t values (3, 10, 3)
update t set a = 11 where id = 1
delete t where id = 2
select id, a, b from t order by id
alter index all on t rebuild
select name, is_hypothetical from sys.indexes where object_id = object_id('t') and is_primary_key = 0 order by name
GO
select * from t with (index (ix)) where a = 10
GO
alter index ix on t rebuild
GO
create table c (a int constraint fk_c references t (a))
GO
create index ix on t (b)
GO
create index ix on t (b) with (drop_existing = on)
drop index ux on t
drop index cx on t
select name, is_hypothetical from sys.indexes where object_id = object_id('t') and is_primary_key = 0 order by name
select id from t with (index (ix)) where b = 3
GO
drop table t
