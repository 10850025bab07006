-- Change data capture in backups: a restored database goes on capturing, with greater LSNs.
create database shop
GO
use shop
exec sys.sp_cdc_enable_db
create table dbo.item (id int not null primary key, a int)
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null
insert dbo.item values (1, 1)
exec sys.sp_cdc_scan
insert dbo.item values (2, 2)
GO
backup database shop to disk = 'shop.bak' with init
use master
restore database copy_ from disk = 'shop.bak' with keep_cdc
GO
use copy_
select is_cdc_enabled from sys.databases where name = 'copy_'
insert dbo.item values (3, 3)
exec sys.sp_cdc_scan
select dense_rank() over (order by __$start_lsn) as tran_, __$operation as op, id from cdc.dbo_item_CT order by __$start_lsn
select count(*) as rows_ from cdc.fn_cdc_get_all_changes_dbo_item(sys.fn_cdc_get_min_lsn(N'dbo_item'), sys.fn_cdc_get_max_lsn(), N'all')
dbcc checkdb
GO
-- The first one has gone on meanwhile, and is put back.
use shop
insert dbo.item values (4, 4)
insert dbo.item values (5, 5)
exec sys.sp_cdc_scan
use master
restore database shop from disk = 'shop.bak' with replace
use shop
insert dbo.item values (6, 6)
exec sys.sp_cdc_scan
select dense_rank() over (order by __$start_lsn) as tran_, id from cdc.dbo_item_CT order by __$start_lsn
GO
