-- Change data capture: what was committed is told after a power cut, in the same order.
create database shop
GO
use shop
exec sys.sp_cdc_enable_db
create table dbo.item (id int not null primary key, a int)
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null
insert dbo.item values (1, 1)
exec sys.sp_cdc_scan
insert dbo.item values (2, 2)
update dbo.item set a = 3 where id = 1
GO
begin transaction
insert dbo.item values (3, 3)
GO
-- restart:
use shop
select is_cdc_enabled from sys.databases where name = 'shop'
insert dbo.item values (4, 4)
exec sys.sp_cdc_scan
select dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, id, a from cdc.dbo_item_CT order by __$start_lsn, __$seqval, __$operation
select count(*) as rows_ from cdc.fn_cdc_get_all_changes_dbo_item(sys.fn_cdc_get_min_lsn(N'dbo_item'), sys.fn_cdc_get_max_lsn(), N'all')
GO
-- restart:
use shop
insert dbo.item values (5, 5)
exec sys.sp_cdc_scan
select dense_rank() over (order by __$start_lsn) as tran_, id from cdc.dbo_item_CT where __$operation = 2 order by __$start_lsn
GO
