-- Memory-optimized tables, hypothetical indexes and new names of sequences are what they were after a power cut.
create database shop
GO
use shop
create table fast (id int not null primary key nonclustered, a int) with (memory_optimized = on, durability = schema_only)
create sequence numbers as int start with 1
exec sp_rename 'numbers', 'digits'
insert fast values (next value for digits, 1)
create index guess on fast (a) with statistics_only = -1
GO
-- restart:
use shop
select name, is_memory_optimized, durability_desc from sys.tables
select name, is_hypothetical, is_disabled from sys.indexes where name = 'guess'
alter table fast add index by_a (a)
insert fast values (2, 1)
select id from fast with (index (by_a)) where a = 1 order by id
select name from sys.sequences
GO
