-- What the suites of Kysely, Knex, xorm, golang-migrate, dlt, sqlmesh and ibis, and Flowable's engine, ran into.
-- A bare NULL is of every type where it is assigned
create table st (id int, vt datetimeoffset, d date, u uniqueidentifier, x xml)
GO
insert st (id, vt) select 1, null
insert st (id, d, u) select top 1 2, null, null from sys.objects
insert st (id, x) select max(id), null from st
select id, vt, d, u, x from st order by id, vt
GO
-- SELECT INTO takes numbering over from one table only, and once
create table si (id int identity primary key, data varchar(20))
select top (0) t.id into #joined from si t left join si on 0 = 1
insert si (data) output inserted.id into #joined values ('a')
select id from #joined
select id, id as id2 into #twice from si
select id into #grouped from si group by id
select id into #crossed from si cross apply (select 1 as one) o
select id into #plain from si where exists (select * from st)
select object_name(object_id, 2) as t, name, is_identity from tempdb.sys.columns where object_id in (object_id('tempdb..#joined'), object_id('tempdb..#twice'), object_id('tempdb..#grouped'), object_id('tempdb..#crossed'), object_id('tempdb..#plain')) order by len(name), is_identity desc
GO
-- equalities of one column are a list that an index is searched for
create table o1 (id int primary key, v int, s varchar(10), index ix_s (s))
insert o1 select value, 0, value from generate_series(1, 2000)
GO
set showplan_text on
GO
delete o1 where id = 1 or id = 2
GO
select v from o1 where id in (1, 2) or 3 = id or id in (4)
GO
select id from o1 where s = '1' or s = '2'
GO
select id from o1 where s = '1' or id = 2
GO
set showplan_text off
GO
delete o1 where id = 1 or id = 2
select count(*) as n from o1 where id = 3 or id = 4 or id = null
select count(*) as n from o1 where not (id = 3 or id = 4)
GO
-- what is changed by IN (SELECT …) is found by the values, and other rows are left alone
create table ba2 (id_ nvarchar(64) primary key, rev_ int)
create table hd2 (id_ nvarchar(64) primary key, pi nvarchar(64), ba nvarchar(64), index ih (pi))
insert ba2 select concat('b', value), 0 from generate_series(1, 3000)
insert hd2 select concat('h', value), concat('p', value / 10), concat('b', value) from generate_series(1, 3000)
GO
-- session a:
begin transaction
delete ba2 where id_ = 'b2999'
GO
-- session b:
set lock_timeout 0
delete b from ba2 b where b.id_ in (select ba from hd2 where pi = 'p1')
update ba2 set rev_ = 1 where exists (select * from hd2 where ba = ba2.id_ and pi = 'p2')
update ba2 set rev_ = 1 where id_ = 'b40' or id_ = 'b41'
select count(*) as n, sum(rev_) as rev from ba2 where id_ like 'b_' or id_ like 'b__'
GO
-- session a:
rollback
GO
-- session main:
select count(*) as n from ba2 where id_ in (select ba from hd2 union all select ba from hd2)
select count(*) as n from ba2 where id_ in (select upper(ba) from hd2)
select count(*) as n from (values ('1'), ('01'), ('2')) v (x) where x in (select value from generate_series(1, 1))
GO
-- in MERGE a row without a counterpart has its own columns only
create table mt (id int, dt date)
create table ms (id int, dt date)
insert mt values (1, '20240601'), (2, '20200101')
insert ms values (3, '20240101'), (4, '20240102')
merge mt t using (select id, dt from ms) s on 1 = 0
when not matched by source and dt between '20240101' and '20241231' then delete
when not matched by source then update set dt = dateadd(day, 1, dt)
when not matched and id > 3 then insert (id, dt) values (id, dt);
select * from mt order by id
GO
select string_agg(name, ',') over (order by name) from (values ('a')) v (name)
GO
-- types that do not go together are seen before the batch runs
create table q1 (d date)
GO
print 'before'
insert q1 select cast(1 as int)
print 'after'
GO
create tablee bar (bar varchar(10))
GO
drop view nothing; alter tablee bar add x int
GO
-- what is computed may be NULL, but for ISNULL
create table ci (n int not null, m int not null, c1 as n + m, c2 as -n, c3 as n * 1.5, c4 as isnull(n + m, 0), c5 as n, c6 as cast(n as bigint), c7 as coalesce(n, 1), c8 as n % 2 persisted not null)
select name, is_nullable from sys.columns where object_id = object_id('ci') and is_computed = 1 order by column_id
GO
create table d1 (col1 int null, col2 as coalesce(col1, 0) primary key)
GO
create table d2 (col1 int null, col3 as isnull(col1, 0) primary key)
GO
create table d3 (n int not null, col2 as n + 1 primary key)
GO
create table d4 (n int not null, col2 as n + 1 persisted not null primary key)
GO
-- every number has a bit (IndexOptimize)
declare @d5 table (a bit default 0, b bit default 0, n int, done as cast(case when a = 1 and b = 1 then 1 else 0 end as bit) persisted, primary key (done, n))
insert @d5 (a, b, n) values (1, 1, 1), (0, 1, 2)
select done, n from @d5
GO
-- texts of constraints and computed columns
create table sc (a int constraint df_a default 10, b int constraint ck_b check (b > 0), c as (a + 1))
select o.name, c.colid, c.number, c.text from sys.syscomments c join sys.objects o on o.object_id = c.id where o.name in ('df_a', 'ck_b', 'sc') order by o.name
exec sp_helptext 'df_a'
exec sp_helptext 'ck_b'
exec sp_helptext 'sc', 'c'
GO
exec sp_helptext 'sc'
exec sp_helptext 'nothing'
exec sp_rename 'nothing.nope', 'x', 'COLUMN'
exec sp_rename 'nothing', 'x'
GO
-- session b:
create table ##gt (a int)
select 1 as a into ##gs
GO
-- session a:
select name from tempdb.sys.tables where name like '##%' order by name
