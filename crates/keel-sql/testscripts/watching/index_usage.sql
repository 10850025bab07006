-- What indexes are used for, counted per statement, and what was done to their entries, counted per row.
create table parent (id int constraint pk_parent primary key, v int)
create table t (id int constraint pk_t primary key, k int, v int, p int null references parent (id), index ix_k (k), index ix_v (v) where v > 10)
insert parent values (1, 1), (2, 2)
insert t (id, k, v, p) select value, value % 5, value, 1 + value % 2 from generate_series(1, 20)
GO
create procedure show_usage as
select object_name(u.object_id) as tab, i.name as ix, u.user_seeks as seeks, u.user_scans as scans, u.user_lookups as lookups, u.user_updates as updates
from sys.dm_db_index_usage_stats as u join sys.indexes as i on i.object_id = u.object_id and i.index_id = u.index_id
where u.database_id = db_id() and object_name(u.object_id) in ('t', 'parent')
order by tab, u.index_id
select object_name(object_id) as tab, index_id as id, range_scan_count as ranges, singleton_lookup_count as points, leaf_insert_count as ins,
  leaf_delete_count as del, leaf_update_count as upd, row_lock_count as locks, row_lock_wait_count as waits
from sys.dm_db_index_operational_stats(db_id(), null, null, null) where object_name(object_id) in ('t', 'parent')
order by tab, index_id
GO
-- The load: one statement, twenty rows; ten of them in the filtered index. Each row asked for its parent.
exec show_usage
GO
-- A point, a range, all of it, and rows fetched for entries of an index.
select k from t where id = 7
select count(*) as n from t where id between 3 and 9
select sum(v) as s from t
select v from t with (index (ix_k)) where k = 2 order by v
GO
exec show_usage
GO
-- Only indexes that a statement changes count it: k is in one of them.
update t set k = 9 where id = 1
update t set v = 100 where id = 20
delete t where id in (2, 3)
update t set v = 0 where id = 999
GO
exec show_usage
GO
-- Another key: the row goes and comes.
update t set id = 50 where id = 5
merge t using (values (6, 60), (70, 70)) as s (id, v) on t.id = s.id when matched then update set v = s.v when not matched then insert (id, k, v) values (s.id, 0, s.v);
GO
exec show_usage
GO
-- A statement that seeks again and again is one use of the index, and as many lookups.
select p.id, (select t.v from t where t.id = p.id + 10) as v from parent as p
GO
exec show_usage
GO
select case when last_user_seek > dateadd(minute, -1, getdate()) and last_user_update is not null and last_user_lookup is not null then 'now' end as w, system_seeks, last_system_scan
from sys.dm_db_index_usage_stats where object_id = object_id('t') and index_id = 1 and database_id = db_id()
GO
-- Temporary tables are not counted; a table that went is not shown.
create table #x (id int primary key)
insert #x values (1)
select count(*) as n from #x
drop table t
select object_name(object_id) as tab from sys.dm_db_index_usage_stats where database_id in (db_id(), 2) order by tab
GO
