-- Partition functions and schemes, what is on them, and what is shown of it.
create partition function pf (int) as range left for values (10, 20, 30)
create partition function pr (datetime2(0)) as range right for values ('2024-01-01', '20250101')
create partition scheme ps as partition pf all to ([PRIMARY])
create partition scheme psr as partition pr to ([PRIMARY], [USERDATA], [PRIMARY], [SPARE], [MORE])
GO
select name, type, type_desc, fanout, boundary_value_on_right as r from sys.partition_functions order by function_id
select f.name, v.boundary_id, v.value, sql_variant_property(v.value, 'BaseType') as base from sys.partition_range_values v join sys.partition_functions f on f.function_id = v.function_id order by 1, 2
select f.name, p.system_type_id, p.scale from sys.partition_parameters p join sys.partition_functions f on f.function_id = p.function_id order by 1
select name, data_space_id, type, is_default from sys.data_spaces order by data_space_id
select s.name, count(*) as n from sys.partition_schemes s join sys.destination_data_spaces d on d.partition_scheme_id = s.data_space_id group by s.name order by 1
GO
-- Which partition: NULL is least, a boundary is where LEFT or RIGHT says.
select $partition.pf(null) as n, $PARTITION.pf(-5) as a, $partition.pf(10) as b, $partition.pf(11) as c, $partition.pf('31') as d
select $partition.pr('2023-12-31') as a, $partition.pr('2024-01-01') as b, master.dbo.nothing as c
GO
select $partition.pr('2023-12-31') as a, $partition.pr('2024-01-01') as b
declare @db sysname = db_name(); exec ('select ' + @db + '.$partition.pf(25) as other')
GO
select $partition.none(1)
GO
select $partition.pf(1, 2)
GO
-- Functions that there cannot be.
create partition function pf (int) as range for values (1)
GO
create partition function f1 (int) as range for values (5, 1, 5)
GO
create partition function f1 (int) as range for values (5, 'x')
GO
create partition function f1 (varchar(3)) as range for values ('abc', 'abcd')
GO
create partition function f1 (varchar(max)) as range for values ('abc')
GO
create partition function f1 (int, int) as range for values (1)
GO
create partition function f1 (int) as range right for values (5, 1, null)
select $partition.f1(null) as n, $partition.f1(0) as a, $partition.f1(1) as b, $partition.f1(5) as c
GO
declare @day date = '2024-02-29'; create partition function f2 (date) as range right for values (@day, '2024-03-01')
select value from sys.partition_range_values v join sys.partition_functions f on f.function_id = v.function_id where f.name = 'f2'
drop partition function f2
GO
create partition function f3 (int) as range for values ()
select $partition.f3(7) as only_one
GO
-- Schemes that there cannot be.
create partition scheme ps as partition pf all to ([PRIMARY])
GO
create partition scheme s1 as partition none all to ([PRIMARY])
GO
create partition scheme s1 as partition pf to ([PRIMARY], [PRIMARY])
GO
create partition scheme s1 as partition pf all to ([PRIMARY], [MORE])
GO
-- Tables and indexes on schemes.
create table t (id int not null, at datetime2(0) not null, v varchar(10), constraint pk_t primary key clustered (id) on ps (id), index ix_v (v), index ix_at (at) on psr (at)) on [PRIMARY]
create table h (id int, v int) on ps (id)
create unique index ux on h (id, v)
create index plain on h (v) on [PRIMARY]
insert t values (1, '2023-05-05', 'a'), (10, '2024-05-05', 'b'), (11, '2025-05-05', 'c'), (35, '2025-06-05', 'd')
insert h values (null, 1), (40, 2), (41, 3)
GO
select object_name(i.object_id) as t, i.index_id, i.name, d.name as space from sys.indexes i join sys.data_spaces d on d.data_space_id = i.data_space_id where object_name(i.object_id) in ('t', 'h') order by 1, 2
select object_name(object_id) as t, index_id, index_column_id as n, column_id, key_ordinal, partition_ordinal, is_included_column as inc from sys.index_columns where object_name(object_id) in ('t', 'h') order by 1, 2, 3
select object_name(object_id) as t, index_id, partition_number as p, rows from sys.partitions where object_name(object_id) in ('t', 'h') order by 1, 2, 3
select index_id, partition_number, row_count from sys.dm_db_partition_stats where object_id = object_id('t') order by 1, 2
select $partition.pf(id) as p, count(*) as n from t group by $partition.pf(id) order by p
GO
create table bad (id int primary key nonclustered, at datetime2(0)) on psr (at)
GO
create table bad (id int, at datetime2(3)) on psr (at)
GO
create table bad (id int, at datetime2(0)) on psr (nothing)
GO
create table bad (id int, at datetime2(0)) on nothing (at)
GO
create table bad (id int, at datetime2(0)) on psr (id, at)
GO
create table bad (id int, at datetime2(0)) on psr
GO
create table bad (id int, twice as id * 2) on ps (twice)
GO
create unique index ux_v on t (v)
GO
create unique index ux_v on t (v) on [PRIMARY]
alter table h add constraint uq_h unique (v)
GO
-- In use.
drop partition function pf
GO
drop partition scheme ps
GO
drop partition scheme nothing
GO
drop partition function nothing
GO
-- Ranges that are split and merged.
alter partition function pf() split range (35)
select partition_number as p, rows from sys.partitions where object_id = object_id('t') and index_id = 1 order by 1
GO
alter partition function pf() split range (36)
GO
alter partition scheme ps next used [PRIMARY]
alter partition function pf() split range (35)
GO
alter partition function pf() split range (5)
alter partition function pf() merge range (20)
select partition_number as p, rows from sys.partitions where object_id = object_id('t') and index_id = 1 order by 1
GO
alter partition function pf() merge range (20)
GO
alter partition function pf() split range ()
GO
alter partition scheme psr next used
alter partition scheme psr next used
GO
-- A transaction that is undone takes them with it.
begin tran
create partition function fx (bigint) as range for values (1)
create partition scheme sx as partition fx all to ([PRIMARY])
create table x (id bigint) on sx (id)
alter partition function pf() merge range (5)
select name from sys.partition_schemes order by 1
rollback
select name from sys.partition_schemes order by 1
select count(*) as x from sys.tables where name = 'x'
select fanout from sys.partition_functions where name = 'pf'
GO
-- The clustered index goes, the heap stays where it was; it moves when it is told to.
alter table t drop constraint pk_t
select i.index_id, d.name as space from sys.indexes i join sys.data_spaces d on d.data_space_id = i.data_space_id where i.object_id = object_id('t') and i.index_id < 2
create clustered index c on t (at) on psr (at)
select i.index_id, d.name as space from sys.indexes i join sys.data_spaces d on d.data_space_id = i.data_space_id where i.object_id = object_id('t') order by 1
select partition_number as p, rows from sys.partitions where object_id = object_id('t') and index_id = 1 order by 1
GO
create table moved (id int not null constraint pk_moved primary key, v int)
insert moved values (1, 1), (30, 2)
alter table moved drop constraint pk_moved with (move to ps(id))
select partition_number as p, rows from sys.partitions where object_id = object_id('moved') order by 1
create clustered index cm on moved (v) on [PRIMARY]
drop index cm on moved with (online = off, move to [ps]([id]))
select partition_number as p, rows from sys.partitions where object_id = object_id('moved') order by 1
drop table moved
GO
-- restart:
select name, fanout from sys.partition_functions order by name
select partition_number as p, rows from sys.partitions where object_id = object_id('t') and index_id = 1 order by 1
select $partition.pf(5) as a, $partition.pf(6) as b
GO
drop table t
drop table h
drop partition scheme ps
drop partition scheme psr
drop partition function pf
drop partition function pr
drop partition function f1
drop partition function f3
select count(*) as functions from sys.partition_functions
GO
