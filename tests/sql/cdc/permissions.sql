-- Change data capture: who may enable it, and who may read changes.
create login owner_ with password = 'Passw0rd!x'
create login reader with password = 'Passw0rd!x'
create login other with password = 'Passw0rd!x'
create database shop
GO
use shop
create user owner_ for login owner_
create user reader for login reader
create user other for login other
alter role db_owner add member owner_
create table dbo.item (id int not null primary key, a int)
GO
execute as login = 'owner_'
exec sys.sp_cdc_enable_db
revert
GO
exec sys.sp_cdc_enable_db
GO
execute as login = 'reader'
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = N'gate'
exec sys.sp_cdc_add_job N'capture'
exec sys.sp_cdc_disable_db
revert
GO
execute as login = 'owner_'
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = N'gate'
exec sys.sp_cdc_enable_table N'dbo', N'item', N'open_', @role_name = null
revert
GO
insert dbo.item values (1, 1)
exec sys.sp_cdc_scan
alter role gate add member reader
grant select on dbo.item to reader
GO
execute as login = 'reader'
select count(*) as changes from cdc.fn_cdc_get_all_changes_dbo_item(sys.fn_cdc_get_min_lsn(N'dbo_item'), sys.fn_cdc_get_max_lsn(), N'all')
select count(*) as changes from cdc.fn_cdc_get_all_changes_open_(sys.fn_cdc_get_min_lsn(N'open_'), sys.fn_cdc_get_max_lsn(), N'all')
select sys.fn_cdc_get_column_ordinal(N'dbo_item', N'a') as ordinal
create table #help (source_schema sysname, source_table sysname, capture_instance sysname, object_id int, source_object_id int, start_lsn binary(10),
    end_lsn binary(10), supports_net_changes bit, has_drop_pending bit, role_name sysname null, index_name sysname null, filegroup_name sysname null,
    create_date datetime, index_column_list nvarchar(max), captured_column_list nvarchar(max))
insert #help exec sys.sp_cdc_help_change_data_capture
select capture_instance from #help order by 1
revert
GO
execute as login = 'reader'
select count(*) from cdc.dbo_item_CT
revert
GO
-- From another database.
use master
execute as login = 'reader'
select count(*) as changes from shop.cdc.fn_cdc_get_all_changes_dbo_item(shop.sys.fn_cdc_get_min_lsn(N'dbo_item'), shop.sys.fn_cdc_get_max_lsn(), N'all')
select shop.sys.fn_cdc_get_column_ordinal(N'dbo_item', N'a') as ordinal
create table #there (source_schema sysname, source_table sysname, capture_instance sysname, object_id int, source_object_id int, start_lsn binary(10),
    end_lsn binary(10), supports_net_changes bit, has_drop_pending bit, role_name sysname null, index_name sysname null, filegroup_name sysname null,
    create_date datetime, index_column_list nvarchar(max), captured_column_list nvarchar(max))
insert #there exec shop.sys.sp_cdc_help_change_data_capture
select source_schema, source_table, capture_instance from #there order by 1, 3
revert
use shop
GO
-- Not a member of the role.
grant select on dbo.item to other
GO
execute as login = 'other'
select count(*) as changes from cdc.fn_cdc_get_all_changes_open_(sys.fn_cdc_get_min_lsn(N'open_'), sys.fn_cdc_get_max_lsn(), N'all')
select sys.fn_cdc_get_min_lsn(N'dbo_item') as least
exec sys.sp_cdc_get_captured_columns N'dbo_item'
revert
GO
execute as login = 'other'
select count(*) as changes from cdc.fn_cdc_get_all_changes_dbo_item(0x01, sys.fn_cdc_get_max_lsn(), N'all')
revert
GO
-- A member who may not read the source.
alter role gate add member other
revoke select on dbo.item to other
GO
execute as login = 'other'
select count(*) as changes from cdc.fn_cdc_get_all_changes_dbo_item(0x01, sys.fn_cdc_get_max_lsn(), N'all')
revert
GO
-- Who may alter the table need not own what is written down of it.
grant alter, select, insert on dbo.item to other
GO
execute as login = 'other'
alter table dbo.item add b int
insert dbo.item values (2, 2, 2)
revert
exec sys.sp_cdc_scan
select count(*) as ddl from cdc.ddl_history
select count(*) as changes from cdc.dbo_item_CT
GO
