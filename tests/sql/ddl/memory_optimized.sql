-- MEMORY_OPTIMIZED is remembered and shown, and ALTER TABLE … ADD and DROP INDEX are taken for such tables alone.
create table fast (id int not null primary key nonclustered, a int not null, b int) with (memory_optimized = on)
create table gone (id int not null primary key nonclustered) with (memory_optimized = on, durability = schema_only)
create table plain (id int not null primary key, a int)
create table slow (id int) with (memory_optimized = off)
select name, is_memory_optimized, durability, durability_desc from sys.tables order by name
insert fast values (1, 10, 2), (2, 5, 1), (3, 5, null)
GO
alter table fast add index by_a nonclustered (a desc)
alter table fast add c int not null constraint df_c default 4, index by_b unique nonclustered (b)
select i.name, i.is_unique, c.name, ic.is_descending_key from sys.indexes i
  join sys.index_columns ic on ic.object_id = i.object_id and ic.index_id = i.index_id
  join sys.columns c on c.object_id = ic.object_id and c.column_id = ic.column_id
  where i.object_id = object_id('fast') and i.is_primary_key = 0 order by i.name
select id, c from fast with (index (by_a)) where a = 5 order by id
GO
insert fast values (4, 1, 2, 0)
GO
alter table fast drop index by_b
insert fast values (4, 1, 2, 0)
alter table fast drop constraint df_c, column c
alter table fast drop index by_a, constraint none
GO
alter table fast drop index if exists by_a
alter table fast drop index if exists nothing
select name from sys.indexes where object_id = object_id('fast') and is_primary_key = 0
GO
-- As in the product, the index of a constraint goes with the constraint.
declare @key sysname = (select name from sys.key_constraints where parent_object_id = object_id('fast'))
begin try
  exec ('alter table fast drop index ' + @key)
end try
begin catch
  select error_number()
end catch
GO
alter table fast drop index nothing
GO
alter table plain add index by_a (a)
GO
alter table plain drop index by_a
GO
create table odd (id int) with (durability = schema_only)
GO
drop table fast, gone, plain, slow
