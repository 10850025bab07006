-- Indexes on views: what they are made of, and what is shown of them.
create table dbo.t (id int not null primary key, g int not null, v int not null, s varchar(10) not null, f float not null, d datetime not null, b int null)
create table dbo.u (id int not null primary key, tid int not null, w int not null)
create table dbo.xt (id int primary key, x xml)
insert dbo.t values (1, 10, 100, 'a', 1, '20260101', null), (2, 10, 200, 'b', 2, '20260102', 5), (3, 20, 300, 'c', 3, '20260103', 6)
insert dbo.u values (1, 1, 7), (2, 1, 8), (3, 3, 9)
GO
create view dbo.v with schemabinding as select t.id, t.g, t.v, u.id as uid, u.w from dbo.t join dbo.u on u.tid = t.id
GO
-- The first index is unique and clustered, or there is none.
create index ix on dbo.v (g)
create unique index ix on dbo.v (uid)
create clustered index ix on dbo.v (uid)
create unique clustered index ix on dbo.v (nope)
create unique clustered index ix on dbo.v (id)
GO
select objectproperty(object_id('dbo.v'), 'IsIndexed') as indexed, objectproperty(object_id('dbo.v'), 'IsIndexable') as indexable
select count(*) as n from sys.indexes where object_id = object_id('dbo.v')
select * from dbo.v with (noexpand)
GO
create unique clustered index cx on dbo.v (uid)
create index ix_g on dbo.v (g desc) include (w)
create unique index ux on dbo.v (id, w)
create unique clustered index cx2 on dbo.v (id, uid)
create index ix_g on dbo.v (w)
create unique index dup on dbo.v (g)
GO
create index nx on dbo.v (w) where w > 0
create unique index nx on dbo.v (w) with (ignore_dup_key = on)
create columnstore index nx on dbo.v (w)
GO
select name, index_id, type_desc, is_unique, is_disabled from sys.indexes where object_id = object_id('dbo.v') order by index_id
select i.name, c.key_ordinal, c.is_included_column, c.is_descending_key, col_name(c.object_id, c.column_id) as col
from sys.index_columns c join sys.indexes i on i.object_id = c.object_id and i.index_id = c.index_id
where c.object_id = object_id('dbo.v') order by i.index_id, c.index_column_id
select index_id, rows from sys.partitions where object_id = object_id('dbo.v') order by index_id
select index_id, row_count from sys.dm_db_partition_stats where object_id = object_id('dbo.v') order by index_id
select name, stats_id from sys.stats where object_id = object_id('dbo.v') order by stats_id
exec sp_helpindex 'dbo.v'
select objectproperty(object_id('dbo.v'), 'IsIndexed') as indexed, objectproperty(object_id('dbo.v'), 'IsIndexable') as indexable, objectproperty(object_id('dbo.t'), 'IsIndexed') as of_table
select indexproperty(object_id('dbo.v'), 'cx', 'IsClustered') as clust, indexproperty(object_id('dbo.v'), 'cx', 'IsUnique') as uniq, index_col('dbo.v', 2, 1) as col
select name, type from sys.objects where name in ('v', 'cx') order by name
select count(*) as in_tables from sys.tables where name = 'v'
select columnproperty(object_id('dbo.v'), 'w', 'IsDeterministic') as d, columnproperty(object_id('dbo.v'), 'w', 'IsPrecise') as p, columnproperty(object_id('dbo.v'), 'w', 'IsIndexable') as i
GO
-- What the view is read by.
select id, w from dbo.v with (noexpand) order by uid
select id, w from dbo.v with (noexpand, index(ux)) order by uid
select id, w from dbo.v with (noexpand, index(nosuch)) order by uid
GO
set showplan_text on
GO
select w from dbo.v with (noexpand) where uid = 2
select w from dbo.v where uid = 2
select w from dbo.v where uid = 2 option (expand views)
select g, w from dbo.v with (noexpand) where g = 10
GO
set showplan_text off
GO
select id from dbo.t with (noexpand)
update dbo.v with (noexpand) set w = 0
-- Through the view its tables change.
update dbo.v set w = 80 where uid = 2
select id, uid, w from dbo.v with (noexpand) order by uid
GO
-- What is bound to the view's tables stays; the rows of the view go with it.
truncate table dbo.u
drop table dbo.u
alter table dbo.u alter column w bigint
alter table dbo.u add extra int null
insert dbo.u (id, tid, w) values (4, 2, 10)
select id, uid, w from dbo.v with (noexpand) order by uid
GO
alter index ix_g on dbo.v disable
alter index ix_g on dbo.v rebuild
alter index all on dbo.v reorganize
alter index cx on dbo.v disable
select name, is_disabled from sys.indexes where object_id = object_id('dbo.v') order by index_id
select id from dbo.v with (noexpand)
insert dbo.u (id, tid, w) values (5, 2, 11)
select id, uid, w from dbo.v order by uid
alter index cx on dbo.v rebuild
select name, is_disabled from sys.indexes where object_id = object_id('dbo.v') order by index_id
alter index all on dbo.v rebuild
select id, uid, w from dbo.v with (noexpand, index(ix_g)) order by uid
insert dbo.u (id, tid, w) values (6, 2, 12)
select id, uid, w from dbo.v with (noexpand, index(ix_g)) order by uid
dbcc checktable ('dbo.v')
GO
drop index ux on dbo.v
select name from sys.indexes where object_id = object_id('dbo.v') order by index_id
drop index dbo.v.cx
select name from sys.indexes where object_id = object_id('dbo.v') order by index_id
truncate table dbo.xt
create unique clustered index cx on dbo.v (uid)
GO
alter view dbo.v with schemabinding as select t.id, t.g, t.v, u.id as uid, u.w from dbo.t join dbo.u on u.tid = t.id where u.w > 0
GO
select name from sys.indexes where object_id = object_id('dbo.v') order by index_id
create unique clustered index cx on dbo.v (uid)
begin transaction
drop view dbo.v
rollback
select count(*) as n from dbo.v with (noexpand)
exec sp_rename 'dbo.v', 'v2'
insert dbo.u (id, tid, w) values (7, 2, 13)
select count(*) as n from dbo.v2 with (noexpand)
drop view dbo.v2
truncate table dbo.u
GO
begin transaction
GO
create view dbo.gone with schemabinding as select id from dbo.t
GO
create unique clustered index cx on dbo.gone (id)
rollback
select name from sys.indexes where name = 'cx'
GO
-- Views that cannot be indexed.
create function dbo.fnd (@x int) returns datetime with schemabinding as begin return dateadd(day, @x, getdate()) end
GO
create function dbo.fd (@x int) returns int with schemabinding as begin return @x * 2 end
GO
create function dbo.fr (@x int) returns int with schemabinding as begin return (select max(w) from dbo.u) end
GO
create function dbo.tf () returns table with schemabinding as return select id from dbo.t
GO
create view dbo.vin with schemabinding as select id, v from dbo.t
GO
create procedure dbo.attempt @body nvarchar(max), @key nvarchar(100) as
  exec (N'create view dbo.iv with schemabinding as ' + @body)
  select objectproperty(object_id('dbo.iv'), 'IsIndexable') as indexable
  begin try
    exec (N'create unique clustered index cx on dbo.iv (' + @key + N')')
    print 'made'
  end try
  begin catch
    declare @e nvarchar(max) = error_message()
    print concat(error_number(), ' ', @e)
  end catch
  drop view dbo.iv
GO
exec dbo.attempt 'select distinct g from dbo.t', 'g'
exec dbo.attempt 'select top 5 id, g from dbo.t order by id', 'id'
exec dbo.attempt 'select t.id, u.w from dbo.t left join dbo.u on u.tid = t.id', 'id'
exec dbo.attempt 'select id, g from dbo.t union all select id, w from dbo.u', 'id'
exec dbo.attempt 'select g, avg(v) av, count_big(*) cb from dbo.t group by g', 'g'
exec dbo.attempt 'select id, g from dbo.t where id in (select tid from dbo.u)', 'id'
exec dbo.attempt 'select g, count(*) n from dbo.t group by g', 'g'
exec dbo.attempt 'select g, sum(v) sv from dbo.t group by g', 'g'
exec dbo.attempt 'select g, count_big(distinct v) sv from dbo.t group by g', 'g'
exec dbo.attempt 'select id, dateadd(day, 1, getdate()) d from dbo.t', 'id'
exec dbo.attempt 'select id, newid() n from dbo.t', 'id'
exec dbo.attempt 'select t1.id, t2.g from dbo.t t1 join dbo.t t2 on t2.id = t1.id', 'id'
exec dbo.attempt 'with c as (select id, g from dbo.t) select id, g from c', 'id'
exec dbo.attempt 'select g, sum(b) sb, count_big(*) cb from dbo.t group by g', 'g'
exec dbo.attempt 'select x.id, x.v from (select id, v from dbo.t) x', 'id'
exec dbo.attempt 'select g, count_big(*) cb from dbo.t group by g having count_big(*) > 0', 'g'
exec dbo.attempt 'select id, row_number() over (order by id) rn from dbo.t', 'id'
exec dbo.attempt 'select t.id, x.w from dbo.t t cross apply (select w from dbo.u where u.id = t.id) x', 'id'
exec dbo.attempt 'select t.id, x.w from dbo.t t outer apply (select w from dbo.u where u.id = t.id) x', 'id'
exec dbo.attempt 'select [1] a, [2] b from (select g, v from dbo.t) s pivot (sum(v) for g in ([1], [2])) p', 'a'
exec dbo.attempt 'select g, count_big(*) cb from dbo.t group by g with rollup', 'g'
exec dbo.attempt 'select g, count_big(*) cb, sum(v) * 2 sv2 from dbo.t group by g', 'g'
exec dbo.attempt 'select g + 1 as g1, count_big(*) cb from dbo.t group by g', 'g1'
exec dbo.attempt 'select count_big(*) cb, sum(v) sv from dbo.t group by g', 'cb'
exec dbo.attempt 'select g, count_big(*) cb, sum(v) sv from dbo.t group by g', 'cb'
exec dbo.attempt 'select g, count_big(*) cb, sum(f) sv from dbo.t group by g', 'g'
exec dbo.attempt 'select id, dbo.fnd(v) fv from dbo.t', 'id'
exec dbo.attempt 'select id, dbo.fr(v) fv from dbo.t', 'id'
exec dbo.attempt 'select f, count_big(*) cb from dbo.t group by f', 'f'
exec dbo.attempt 'select id, v from dbo.t where f > 1', 'id'
exec dbo.attempt 'select id, v * 2e0 as v2 from dbo.t', 'id'
exec dbo.attempt 'select id, convert(datetime, ''1/2/2020'') cd from dbo.t', 'id'
exec dbo.attempt 'select id, datediff(day, d, ''20210101'') dd from dbo.t', 'id'
exec dbo.attempt 'select id, datename(month, d) dn from dbo.t', 'id'
exec dbo.attempt 'select id, v from dbo.vin', 'id'
exec dbo.attempt 'select id, v from dbo.t with (nolock)', 'id'
exec dbo.attempt 'select id, binary_checksum(*) ck from dbo.t', 'id'
exec dbo.attempt 'select id from dbo.tf()', 'id'
exec dbo.attempt 'select id, x from dbo.xt', 'id'
exec dbo.attempt 'select id, xt.x.value(''(/a)[1]'', ''int'') a from dbo.xt', 'id'
exec dbo.attempt 'select t.id, u.w from dbo.t inner hash join dbo.u on u.tid = t.id', 'id'
exec dbo.attempt 'select id, f * 2 as f2 from dbo.t', 'f2'
exec dbo.attempt 'select v from dbo.t', 'v'
exec dbo.attempt 'select g from dbo.t', 'g'
exec dbo.attempt 'select id, g from dbo.t where 1 = 0', 'id'
exec dbo.attempt 'select 1 as a', 'a'
exec dbo.attempt 'select object_id from sys.objects', 'object_id'
exec dbo.attempt 'select id, case when g > 1 then getdate() end as d from dbo.t', 'id'
exec dbo.attempt 'select id, datepart(weekday, d) as w from dbo.t', 'id'
exec dbo.attempt 'select id, convert(varchar(30), d) as w from dbo.t', 'id'
exec dbo.attempt 'select id, v + @@spid as w from dbo.t', 'id'
exec dbo.attempt 'select id, suser_sname() as w from dbo.t', 'id'
exec dbo.attempt 'select id, max(v) as m, count_big(*) as n from dbo.t group by id', 'id'
exec dbo.attempt 'select id, g from dbo.t tablesample (10 percent)', 'id'
exec dbo.attempt 'select id, g from dbo.t where exists (select 1 from dbo.u)', 'id'
exec dbo.attempt 'select g, n from dbo.t unpivot (n for w in (v, b)) as p', 'g'
exec dbo.attempt 'select id, g from dbo.t cross join (values (1)) as x (y)', 'id'
GO
-- And some that can.
exec dbo.attempt 'select g, count_big(*) cb, sum(v * 2) sv, count_big(b) nb from dbo.t group by g', 'g'
exec dbo.attempt 'select id, f, f * 2 as f2 from dbo.t', 'id'
exec dbo.attempt 'select id, dbo.fd(v) as v2, upper(s) as s, isnull(b, 0) as b from dbo.t where g > 5 and s like ''[a-c]%''', 'id'
exec dbo.attempt 'select g % 10 as g1, count_big(*) cb, sum(isnull(b, 0)) as sb from dbo.t group by g % 10', 'g1'
exec dbo.attempt 'select id, convert(datetime, ''20200102'', 112) cd from dbo.t', 'id'
exec dbo.attempt 'select t.id, u.id as uid, x.id as xid from dbo.t, dbo.u cross join dbo.xt as x where t.id = u.tid', 'id, uid, xid'
GO
-- SET options: for the index, for changes of the tables, and for reading.
create view dbo.sv with schemabinding as select id, v from dbo.t
GO
set ansi_warnings off
set arithabort off
create unique clustered index cx on dbo.sv (id)
GO
set ansi_warnings on
set arithabort off
create unique clustered index cx on dbo.sv (id)
set arithabort on
GO
set numeric_roundabort on
GO
insert dbo.t values (9, 1, 1, 'x', 1, '20260101', null)
select id from dbo.sv with (noexpand)
select id from dbo.sv where id = 1
update dbo.u set w = 1
GO
set numeric_roundabort off
set concat_null_yields_null off
set ansi_padding off
delete dbo.t where id = 1
set ansi_padding on
set concat_null_yields_null on
GO
set quoted_identifier off
GO
delete dbo.t where id = 1
GO
set quoted_identifier on
GO
set ansi_nulls off
GO
create view dbo.old with schemabinding as select id, v from dbo.t
GO
set ansi_nulls on
GO
create unique clustered index cx on dbo.old (id)
GO
create view dbo.plain as select id, v from dbo.t
GO
create unique clustered index cx on dbo.plain (id)
GO
-- With the clustered index of a table those of the views over it are out of use.
select name, index_id from sys.indexes where object_id = object_id('dbo.sv')
create table dbo.k (id int not null, v int not null)
create clustered index ck on dbo.k (id)
GO
create view dbo.kv with schemabinding as select id, v from dbo.k
GO
create unique clustered index cx on dbo.kv (id)
alter index ck on dbo.k disable
select name, is_disabled from sys.indexes where object_id in (object_id('dbo.k'), object_id('dbo.kv')) order by name
alter index ck on dbo.k rebuild
insert dbo.k values (1, 1)
select * from dbo.kv
alter index cx on dbo.kv rebuild
select * from dbo.kv with (noexpand)
GO
-- Partitions: an index of a view goes with none of its tables'.
create partition function pf (int) as range left for values (10)
create partition scheme ps as partition pf all to ([primary])
create table dbo.part (id int not null, v int not null) on ps (id)
create table dbo.stage (id int not null, v int not null)
GO
create view dbo.pv with schemabinding as select id, count_big(*) as n from dbo.part group by id
GO
create unique clustered index cx on dbo.pv (id)
insert dbo.part values (1, 1), (1, 2), (20, 1)
alter table dbo.part switch partition 1 to dbo.stage
truncate table dbo.part with (partitions (1))
select * from dbo.pv with (noexpand)
create unique clustered index cx on dbo.pv (id) with (drop_existing = on) on ps (id)
select index_id, partition_number, rows from sys.partitions where object_id = object_id('dbo.pv')
GO
drop partition scheme ps
GO
-- Security policies and indexed views keep out of each other's way; masks are put on what is read.
create function dbo.pred (@v int) returns table with schemabinding as return select 1 as ok where @v > 0
GO
create security policy dbo.pol add filter predicate dbo.pred(v) on dbo.k
create table dbo.k2 (id int not null primary key, v int masked with (function = 'default()') not null)
insert dbo.k2 values (1, 7)
GO
create security policy dbo.pol add filter predicate dbo.pred(w) on dbo.u
GO
create view dbo.uv with schemabinding as select id, w from dbo.u
GO
create unique clustered index cx on dbo.uv (id)
GO
create view dbo.k2v with schemabinding as select id, v, v + 1 as v1 from dbo.k2
GO
create unique clustered index cx on dbo.k2v (id)
create user reader without login
grant select on dbo.k2v to reader
insert dbo.k2 values (2, 8)
execute as user = 'reader'
select * from dbo.k2v
select * from dbo.k2v with (noexpand)
revert
select * from dbo.k2v
GO
-- Statistics of a view's rows.
create statistics st on dbo.sv (v)
update statistics dbo.sv
update statistics dbo.sv cx with fullscan
select name from sys.stats where object_id = object_id('dbo.sv') order by stats_id
drop statistics dbo.sv.st
-- CHECKDB compares the rows of views with their queries.
dbcc checkdb with no_infomsgs
GO
-- Who may not alter a view makes no index on it.
create user nobody without login
grant select on dbo.kv to nobody
execute as user = 'nobody'
create unique clustered index cx2 on dbo.kv (v)
create index ix on dbo.kv (v)
drop index cx on dbo.kv
alter index cx on dbo.kv disable
revert
select name from sys.indexes where object_id = object_id('dbo.kv')
grant alter on dbo.kv to nobody
GO
execute as user = 'nobody'
create index ix on dbo.kv (v)
revert
select name from sys.indexes where object_id = object_id('dbo.kv')
GO
-- What else is told of a view's indexes, and done to them by name.
exec sp_rename 'dbo.kv.ix', 'iy', 'INDEX'
exec sp_rename 'dbo.kv.v', 'w', 'COLUMN'
GO
exec sys.sp_addextendedproperty 'MS_Description', 'of the view', 'SCHEMA', 'dbo', 'VIEW', 'kv', 'INDEX', 'cx'
select objname, value from fn_listextendedproperty('MS_Description', 'SCHEMA', 'dbo', 'VIEW', 'kv', 'INDEX', null)
exec sp_statistics 'kv'
exec sp_autostats 'dbo.kv', 'OFF'
dbcc show_statistics ('dbo.kv', cx) with histogram
GO
select index_id, index_type_desc, record_count from sys.dm_db_index_physical_stats(db_id(), object_id('dbo.kv'), null, null, 'DETAILED')
create unique clustered index cx on dbo.kv (id, v) with (drop_existing = on)
exec sp_helpindex 'dbo.kv'
insert dbo.k values (2, 2)
select * from dbo.kv with (noexpand, index(iy))
GO
-- The key of a view with groups is of what they are grouped by, also when it is made anew.
create view dbo.gv2 with schemabinding as select v, count_big(*) as n from dbo.k group by v
GO
create unique clustered index cx on dbo.gv2 (v)
create unique clustered index cx on dbo.gv2 (v, n) with (drop_existing = on)
create unique clustered index cx on dbo.gv2 (v desc) with (drop_existing = on)
create index ix on dbo.gv2 (n)
insert dbo.k values (3, 2)
select * from dbo.gv2 with (noexpand, index (ix)) order by n, v
GO
create view dbo.fv with schemabinding as select id, f * 2 as f2 from dbo.t
GO
create unique clustered index cx on dbo.fv (id)
create index ix on dbo.fv (f2)
