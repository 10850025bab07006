-- HISTORY_RETENTION_PERIOD: versions that ended before it are not shown, and removed.
create table price_history (id int not null, amount int not null, since datetime2 not null, until datetime2 not null)
insert price_history values
    (1, 10, '2001-01-01', '2001-02-01'),
    (1, 11, '2001-02-01', dateadd(day, -10, sysutcdatetime())),
    (1, 12, dateadd(day, -10, sysutcdatetime()), dateadd(day, -1, sysutcdatetime()))
create table price (
    id int not null primary key,
    amount int not null,
    since datetime2 generated always as row start not null,
    until datetime2 generated always as row end not null,
    period for system_time (since, until)
)
insert price (id, amount) values (1, 13)
alter table price set (system_versioning = on (history_table = dbo.price_history, data_consistency_check = off))
GO
select amount from price for system_time all order by amount
exec sys.sp_cleanup_temporal_history 'dbo', 'price'
select count(*) as n from price_history
GO
-- With a limit queries do not show what is older; the table still has it.
alter table price set (system_versioning = on (history_retention_period = 9 days))
select amount from price for system_time all order by amount
select count(*) as n from price for system_time as of '2001-01-15'
select amount from price_history order by amount
GO
alter table price set (system_versioning = on (history_retention_period = 2 weeks))
select amount from price for system_time all order by amount
GO
-- The database's option.
select is_temporal_history_retention_enabled as enabled from sys.databases where database_id = db_id()
alter database current set temporal_history_retention off
select is_temporal_history_retention_enabled as enabled from sys.databases where database_id = db_id()
select amount from price for system_time all order by amount
alter database current set temporal_history_retention on
select amount from price for system_time all order by amount
GO
declare @n bigint
exec sys.sp_cleanup_temporal_history @schema_name = 'dbo', @table_name = 'price', @rowcount = @n output
select @n as removed
select amount from price_history order by amount
exec sys.sp_cleanup_temporal_history 'dbo', 'price', @n output
select @n as removed
GO
-- It is part of the transaction around it.
alter table price set (system_versioning = on (history_retention_period = 9 days))
begin tran
exec sys.sp_cleanup_temporal_history 'dbo', 'price'
select amount from price_history order by amount
rollback
select amount from price_history order by amount
GO
-- Nobody else deletes from a history table; not every table has one.
delete price_history
GO
exec sys.sp_cleanup_temporal_history 'dbo', 'price_history'
GO
exec sys.sp_cleanup_temporal_history 'dbo', 'nosuch'
GO
