-- Databases are made, entered, left and dropped.
create database shop
GO
create database shop
GO
use shop
select db_name() as here
create table t (a int)
insert t values (1)
GO
use master
select a from shop.dbo.t
select * from shop..t
GO
alter database shop set recovery simple
alter database shop set read_committed_snapshot on with rollback immediate
select name, recovery_model_desc, is_read_committed_snapshot_on from sys.databases where name = 'shop'
GO
create schema nowhere
GO
use shop
GO
create schema sales authorization dbo
GO
create table sales.t (a int)
insert sales.t values (5)
select a from sales.t union all select a from dbo.t order by a
GO
use master
drop database shop
GO
use shop
GO
drop database shop
GO
drop database if exists shop
GO
-- One that is offline is not opened, whatever names it.
create database away
GO
create table away.dbo.t (a int)
insert away.dbo.t values (1)
alter database away set offline
GO
select * from away.dbo.t
GO
insert away.dbo.t values (2)
GO
use away
GO
alter database away set online
select * from away.dbo.t
drop database away
-- What was set is what is shown.
create database options
GO
select is_auto_create_stats_on, is_auto_update_stats_on, is_auto_update_stats_async_on, is_local_cursor_default, is_parameterization_forced,
    is_broker_enabled, page_verify_option_desc, is_honor_broker_priority_on from sys.databases where name = 'options'
GO
alter database options set auto_create_statistics off, auto_update_statistics off, auto_update_statistics_async on, cursor_default local,
    parameterization forced, page_verify torn_page_detection, honor_broker_priority on, supplemental_logging off
alter database options set enable_broker with rollback immediate
GO
select is_auto_create_stats_on, is_auto_update_stats_on, is_auto_update_stats_async_on, is_local_cursor_default, is_parameterization_forced,
    is_broker_enabled, page_verify_option_desc, is_honor_broker_priority_on from sys.databases where name = 'options'
select databasepropertyex('options', 'IsAutoCreateStatistics') as a, databasepropertyex('options', 'IsTornPageDetectionEnabled') as b,
    databasepropertyex('options', 'IsLocalCursorsDefault') as c, databasepropertyex('options', 'IsParameterizationForced') as d
GO
alter database options set parameterization simple, page_verify checksum, disable_broker
select is_parameterization_forced, is_broker_enabled, page_verify_option from sys.databases where name = 'options'
GO
alter database options set page_verify sometimes
GO
alter database options set cursor_default nowhere
GO
drop database options
GO
