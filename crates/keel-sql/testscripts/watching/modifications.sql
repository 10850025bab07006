-- Changes since the last sample, and when they are enough for the next.
create table t (id int primary key, k int, v int)
create index ix_k on t (k)
insert t select value, value % 7, 0 from generate_series(1, 1000)
update statistics t
GO
create procedure counted as
select s.name, p.rows, p.modification_counter as n from sys.stats as s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) as p
where s.object_id = object_id('t') and s.name like 'ix%'
select p.rows, p.modification_counter as n_key from sys.dm_db_stats_properties(object_id('t'), 1) as p
GO
exec counted
GO
-- Rows that come and go count for every column, assignments for the column only.
insert t values (2000, 1, 1), (2001, 1, 1)
delete t where id = 5
update t set k = k + 1 where id <= 10
update t set v = 1
GO
exec counted
GO
-- Inserting and deleting as much is change, too.
delete t where id in (2000, 2001)
exec counted
GO
update statistics t
exec counted
GO
-- Enough are 500 and a fifth, or the root of a thousand times the rows, whichever is less: here some 700.
update t set k = 3 where id <= 600
GO
select count(*) as n from t where k = 3 and v = 1 option (recompile)
exec counted
GO
update t set k = 4 where id > 800
GO
select count(*) as n from t where k = 4 and v = 1 option (recompile)
exec counted
GO
-- Nobody looks by himself where that is switched off.
alter database current set auto_update_statistics off
update t set k = 5
GO
select count(*) as n from t where k = 5 and v = 1 option (recompile)
exec counted
GO
alter database current set auto_update_statistics on
GO
