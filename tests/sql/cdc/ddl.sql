-- Change data capture: what DDL may not do to a captured table, and what it does.
create database shop
GO
use shop
exec sys.sp_cdc_enable_db
create table dbo.item (id int not null constraint pk_item primary key, a int null, b varchar(10) null, c int null)
create unique index by_c on dbo.item (id, a)
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null
insert dbo.item values (1, 1, 'one', 1)
GO
truncate table dbo.item
GO
drop table cdc.dbo_item_CT
GO
exec sp_rename 'dbo.item', 'thing'
GO
exec sp_rename 'dbo.item.a', 'z', 'COLUMN'
GO
alter table dbo.item drop constraint pk_item
GO
-- Columns: an added one is not captured, a dropped one is NULL.
alter table dbo.item add d int not null default 7
insert dbo.item (id, a, b, c, d) values (2, 2, 'two', 2, 2)
update dbo.item set d = 8
alter table dbo.item drop column c
insert dbo.item (id, a, b) values (3, 3, 'three')
GO
-- Another type, of rows that were told and of those that were not.
exec sys.sp_cdc_scan
insert dbo.item (id, a, b) values (4, 4, '4')
alter table dbo.item alter column b varchar(40)
update dbo.item set b = 'longer than ten characters' where id = 4
drop index by_c on dbo.item
alter table dbo.item alter column a decimal(9, 2) not null
update dbo.item set a = 4.5 where id = 4
-- Neither of these is a change of columns.
alter table dbo.item add constraint positive check (a > 0)
create index by_b on dbo.item (b)
GO
exec sys.sp_cdc_scan
select dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, __$update_mask as mask, id, a, b, c from cdc.dbo_item_CT order by __$start_lsn, __$seqval, __$operation
select name, type_name(system_type_id) as type, max_length from sys.columns where object_id = object_id('cdc.dbo_item_CT') and name in ('a', 'b', 'c', 'd') order by column_id
select column_name, column_type from cdc.captured_columns order by column_ordinal
create table #history (source_schema sysname, source_table sysname, capture_instance sysname, required_column_update bit, ddl_command nvarchar(max), ddl_lsn binary(10), ddl_time datetime)
insert #history exec sys.sp_cdc_get_ddl_history N'dbo_item'
select source_schema, source_table, capture_instance, required_column_update, ddl_command, case when ddl_lsn <= sys.fn_cdc_get_max_lsn() then 'told' end as lsn from #history order by ddl_lsn, ddl_command
GO
-- A second instance takes over what the first does not know.
exec sys.sp_cdc_enable_table N'dbo', N'item', N'item_new', @role_name = null
insert dbo.item (id, a, b) values (5, 5, 'five')
exec sys.sp_cdc_scan
select id, a, b, c from cdc.dbo_item_CT where id = 5
select id, a, b, d from cdc.item_new_CT
exec sys.sp_cdc_disable_table N'dbo', N'item', N'dbo_item'
insert dbo.item (id, a, b) values (6, 6, 'six')
exec sys.sp_cdc_scan
select id from cdc.item_new_CT order by id
GO
-- In a transaction with its DDL, all of it or nothing.
alter table dbo.item drop constraint positive
begin transaction
insert dbo.item (id, a, b) values (7, 7, 'seven')
alter table dbo.item alter column a decimal(12, 3) not null
alter table dbo.item add e int null
insert dbo.item (id, a, b) values (8, 8.125, 'eight')
rollback
begin transaction
insert dbo.item (id, a, b) values (9, 9, 'nine')
alter table dbo.item alter column a decimal(12, 3) not null
insert dbo.item (id, a, b) values (10, 10.125, 'ten')
commit
exec sys.sp_cdc_scan
select id, a, b from cdc.item_new_CT where id > 6 order by id
select count(*) as ddl from cdc.ddl_history
GO
-- A table that goes takes its instances with it, in its transaction.
begin transaction
drop table dbo.item
select capture_instance from cdc.change_tables
rollback
select capture_instance from cdc.change_tables
drop table dbo.item
select capture_instance from cdc.change_tables
select count(*) as left_ from cdc.captured_columns
select name from sys.objects where schema_id = schema_id('cdc') and name like '%item%'
GO
-- Partitions.
create partition function pf (int) as range left for values (10)
create partition scheme ps as partition pf all to ([PRIMARY])
create table dbo.part (id int not null primary key) on ps (id)
create table dbo.out_ (id int not null primary key)
exec sys.sp_cdc_enable_table N'dbo', N'part', @role_name = null, @allow_partition_switch = 0
insert dbo.part values (1), (20)
GO
alter table dbo.part switch partition 1 to dbo.out_
GO
exec sys.sp_cdc_disable_table N'dbo', N'part', N'all'
exec sys.sp_cdc_enable_table N'dbo', N'part', @role_name = null
GO
alter table dbo.part switch partition 1 to dbo.out_
select count(*) as out_ from dbo.out_
exec sys.sp_cdc_scan
select count(*) as captured from cdc.dbo_part_CT
GO
