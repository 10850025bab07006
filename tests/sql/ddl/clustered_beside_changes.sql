-- A table whose rows get another order keeps what is kept beside them: tracked changes, and captured ones that were not told.
create database shop
GO
use shop
alter database shop set change_tracking = on
exec sys.sp_cdc_enable_db
create table dbo.item (id int not null constraint pk primary key nonclustered, a int)
alter table dbo.item enable change_tracking
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null
insert dbo.item values (1, 30), (2, 20)
create clustered index by_a on dbo.item (a)
checkpoint
insert dbo.item values (3, 10)
GO
select id, sys_change_operation as op from changetable(changes dbo.item, 0) c order by id
exec sys.sp_cdc_scan
select id, __$operation as op from cdc.dbo_item_CT order by id
GO
drop index by_a on dbo.item
checkpoint
select id, sys_change_operation as op from changetable(changes dbo.item, 0) c order by id
GO
use master
drop database shop
