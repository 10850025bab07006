-- Rows of partitions: TRUNCATE of some, SWITCH between tables.
create partition function pf (int) as range right for values (10, 20, 30)
create partition scheme ps as partition pf all to ([PRIMARY])
create table t (id int not null, v varchar(10), n int, constraint pk_t primary key (id) on ps (id), index iv (v), index fn (n) where n > 5)
create table s (id int not null, v varchar(10), n int, constraint pk_s primary key (id), index iv (v), index fn (n) where n > 5)
insert t values (1, 'a', 1), (9, 'b', 9), (10, 'c', 10), (19, 'd', 3), (20, 'e', 20), (35, 'f', 35)
GO
-- A partition out, and back in.
alter table t switch partition 2 to s
select id, v from s order by id
select id, v from t order by id
select partition_number as p, rows from sys.partitions where object_id = object_id('t') and index_id = 1 order by 1
select v from s with (index = iv) where v = 'd'
select count(*) as n from t with (index = iv) where v in ('c', 'd')
select n from s with (index = fn) where n > 5
GO
alter table s switch to t partition 3
GO
begin tran
alter table s switch to t partition 2
select count(*) as t from t
select count(*) as s from s
rollback
select count(*) as s from s
select count(*) as t from t
GO
alter table s switch to t partition 2
select count(*) as s from s
select v from t with (index = iv) where v > 'b' order by v
GO
insert s values (15, 'x', 7)
alter table s switch to t partition 2
GO
alter table t switch partition 1 to s
GO
-- Between partitions of two tables, heaps too.
create table h (id int, v int) on ps (id)
create table h2 (id int, v int) on ps (id)
create table h3 (id int, v int)
insert h values (null, 1), (5, 2), (12, 3), (13, 4), (40, 5)
insert h2 values (25, 6)
insert h3 values (26, 7)
alter table h switch partition 2 to h2 partition 2
alter table h switch partition 1 to h2 partition 1
select id, v from h order by v
select id, v from h2 order by v
GO
alter table h2 switch partition 2 to h partition 3
GO
alter table h3 switch to h partition 3
insert h3 values (1, 8)
insert h values (27, 9)
select $partition.pf(id) as p, v from h order by v
select v from h3
GO
-- What cannot be.
alter table t switch to s
GO
alter table s switch partition 1 to t partition 1
GO
alter table t switch partition 5 to s
GO
alter table t switch partition 1 to h
GO
create table narrow (id int not null, v varchar(9), n int)
alter table t switch partition 1 to narrow
GO
create table other_name (id int not null, w varchar(10), n int)
alter table t switch partition 1 to other_name
GO
create table nullable (id int not null, v varchar(10) not null, n int)
alter table t switch partition 1 to nullable
GO
create table bare (id int not null, v varchar(10), n int)
alter table t switch partition 1 to bare
GO
create index away on h (v) on [PRIMARY]
alter table h switch partition 1 to h3
GO
truncate table h with (partitions (1))
GO
drop index away on h
-- TRUNCATE of partitions.
select id from t order by id
truncate table t with (partitions (1, 3 to 4))
select id from t order by id
select v from t with (index = iv) where v > ''
select n from t with (index = fn) where n > 5
GO
begin tran
truncate table t with (partitions (2))
select count(*) as n from t
rollback
select count(*) as n from t
GO
truncate table t with (partitions (5))
GO
truncate table t with (partitions (3 to 2))
GO
truncate table s with (partitions (1))
GO
-- An index that only the source has is no obstacle, one that only the target has is; columns may be stored in another order.
create table thin (id int not null, gone int, v varchar(10), n int, constraint pk_thin primary key (id))
alter table thin drop column gone
alter table t switch partition 2 to thin
select id, v, n from thin
select count(*) as entries from t with (index = iv) where v = 'c'
GO
alter table thin switch to t partition 2
GO
create index iv on thin (v)
create index fn on thin (n) where n > 5
alter table thin switch to t partition 2
select count(*) as n from thin with (index = iv) where v > ''
select id, v, n from t
GO
-- Options of storage and maintenance by partition.
alter index iv on t rebuild partition = 2 with (data_compression = page)
alter index all on t rebuild partition = all with (data_compression = row on partitions (1, 2 to 3))
alter index pk_t on t reorganize partition = 4
alter table t rebuild partition = 3 with (data_compression = none)
alter index iv on t rebuild partition = 5
GO
alter index iv on s rebuild partition = 1
GO
-- The partitioning column stays what it is.
alter table h alter column id bigint
GO
alter table h drop column id
GO
exec sp_helpindex 't'
GO
select index_id, partition_number, record_count from sys.dm_db_index_physical_stats(db_id(), object_id('t'), 1, 2, 'LIMITED')
select count(*) as units from sys.allocation_units a join sys.partitions p on p.partition_id = a.container_id where p.object_id = object_id('t')
dbcc checkdb with no_infomsgs
GO
-- restart:
select id from t order by id
select v from t with (index = iv) order by v
select id, v from h order by v
dbcc checkdb with no_infomsgs
GO
-- Who may.
create user reader without login
execute as user = 'reader'
create partition function f (int) as range for values (1)
GO
revert
grant alter any dataspace to reader
execute as user = 'reader'
create partition function f (int) as range for values (1)
drop partition function f
revert
GO
-- Nobody changes ranges under a transaction that uses them.
begin tran
alter partition function pf() merge range (20)
-- session other waits:
insert t values (25, 'late', 1)
-- session main:
rollback
-- session other resumes:
-- session main:
select $partition.pf(id) as p, v from t order by id
drop table t
GO
