-- System-versioned tables: how they are made, shown, changed and unmade.
create table dbo.price (
    id int not null primary key,
    amount decimal(10, 2) not null,
    valid_from datetime2(3) generated always as row start hidden not null,
    valid_to datetime2(3) generated always as row end hidden,
    period for system_time (valid_from, valid_to)
) with (system_versioning = on (history_table = dbo.price_history, data_consistency_check = on, history_retention_period = 6 months))
GO
create table plain (
    id int primary key,
    a varchar(10) default 'x',
    f datetime2 generated always as row start,
    t datetime2 generated always as row end,
    period for system_time (f, t)
) with (system_versioning = on)
GO
select t.name, t.temporal_type, t.temporal_type_desc, iif(t.history_table_id is null, null, h.temporal_type_desc) as of_history,
    t.history_retention_period, t.history_retention_period_unit, t.history_retention_period_unit_desc
from sys.tables t left join sys.tables h on h.object_id = t.history_table_id
where t.name in ('price', 'price_history', 'plain') order by t.name
select object_name(object_id) as of_table, name, period_type, period_type_desc, start_column_id, end_column_id from sys.periods order by 1
select object_name(object_id) as of_table, name, generated_always_type, generated_always_type_desc, is_hidden, is_nullable
from sys.columns where object_name(object_id) in ('price', 'price_history', 'plain') order by 1, column_id
GO
-- The history table has a name of its own when none is given, and is clustered by when rows ended.
select iif(h.name = concat('MSSQL_TemporalHistoryFor_', t.object_id), 'as the product names it', h.name) as name
from sys.tables t join sys.tables h on h.object_id = t.history_table_id where t.name = 'plain'
select i.name, i.type_desc, i.is_unique, c.name as [column], k.key_ordinal
from sys.indexes i join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id
    join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
where i.object_id = object_id('price_history') order by k.key_ordinal
select objectproperty(object_id('price'), 'TableTemporalType') as price, objectproperty(object_id('price_history'), 'TableTemporalType') as history,
    columnproperty(object_id('price'), 'valid_to', 'GeneratedAlwaysType') as generated, columnproperty(object_id('price'), 'valid_to', 'IsHidden') as hidden
GO
-- What cannot be done to them.
drop table price
GO
drop table price_history
GO
truncate table price
GO
truncate table price_history
GO
alter table price_history add b int
GO
alter table price_history drop column amount
GO
alter table price_history alter column amount int
GO
alter table price drop period for system_time
GO
alter table price drop column valid_from
GO
alter table price alter column valid_from datetime2(7) not null
GO
alter table price add b as amount * 2
GO
alter table price add b int identity
GO
alter table price set (system_versioning = on)
GO
alter table price set (system_versioning = on (history_table = dbo.plain))
GO
create trigger on_history on price_history after insert as print 'never'
GO
create trigger instead on price instead of delete as print 'never'
GO
-- Columns come to, change in and go from both tables.
insert price (id, amount) values (1, 10)
update price set amount = 11
alter table price add note varchar(20) null, kind int not null constraint df_kind default 3
select * from price
select amount, note, kind from price_history
alter table price alter column amount decimal(12, 4) not null
select c.name, c.precision, c.scale from sys.columns c where object_id in (object_id('price'), object_id('price_history')) and name = 'amount'
alter table price drop column note
exec sp_rename 'price.kind', 'sort', 'COLUMN'
waitfor delay '00:00:00.002' -- FOR SYSTEM_TIME shows no version that was over in the millisecond that it began in
update price set amount = 12
select * from price
select amount, sort from price_history order by amount
GO
-- A period column may be shown or hidden.
alter table price alter column valid_to drop hidden
select count(*) as shown from sys.columns where object_id = object_id('price') and is_hidden = 0
alter table price alter column valid_to add hidden
select * from price
GO
-- Retention changes with the history table named again.
alter table price set (system_versioning = on (history_table = dbo.price_history, history_retention_period = infinite))
select history_retention_period, history_retention_period_unit_desc from sys.tables where name = 'price'
GO
-- Off: two tables, which can be changed by hand, and joined again.
alter table price set (system_versioning = off)
select name, temporal_type_desc from sys.tables where name like 'price%' order by name
delete price_history where amount = 10
select count(*) as kept from price_history
alter table price set (system_versioning = off)
GO
alter table price set (system_versioning = on (history_table = dbo.price_history))
select count(*) as versions from price for system_time all
alter table price set (system_versioning = off)
alter table price drop period for system_time
alter table price drop period for system_time
GO
update price set valid_to = '2020-01-01'
alter table price add period for system_time (valid_from, valid_to)
GO
update price set valid_to = '9999-12-31 23:59:59.999', valid_from = '9000-01-01'
alter table price add period for system_time (valid_from, valid_to)
GO
update price set valid_from = '2020-01-01'
alter table price add period for system_time (valid_from, valid_to)
alter table price set (system_versioning = on)
select valid_from from price
alter table price set (system_versioning = off)
drop table price
drop table price_history
GO
-- A period for a table that has rows.
create table grown (id int primary key, a int)
insert grown values (1, 1)
alter table grown add
    f datetime2 generated always as row start hidden constraint df_f default '2020-01-01',
    t datetime2 generated always as row end hidden constraint df_t default '9999-12-31 23:59:59.9999999',
    period for system_time (f, t)
select *, f, t from grown
alter table grown set (system_versioning = on (history_table = dbo.grown_history))
update grown set a = 2
select a, f from grown_history
GO
-- Definitions that are no period.
create table bad (id int primary key, f datetime generated always as row start, t datetime2 generated always as row end, period for system_time (f, t))
GO
create table bad (id int primary key, f datetime2 generated always as row start null, t datetime2 generated always as row end, period for system_time (f, t))
GO
create table bad (id int primary key, f datetime2 generated always as row start, g datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t))
GO
create table bad (id int primary key, f datetime2 generated always as row start, t datetime2 generated always as row end)
GO
create table bad (id int primary key, f datetime2, t datetime2 generated always as row end, period for system_time (f, t))
GO
create table bad (id int primary key, f datetime2 generated always as row start, t datetime2, period for system_time (f, t))
GO
create table bad (id int primary key, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (t, f))
GO
create table bad (id int primary key) with (system_versioning = on)
GO
create table bad (id int, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t)) with (system_versioning = on)
GO
create table bad (id int primary key, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t)) with (system_versioning = on (history_table = h))
GO
create table bad (id int primary key, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t)) with (system_versioning = on (history_retention_period = 3 hours))
GO
create table #bad (id int primary key, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t)) with (system_versioning = on)
GO
declare @bad table (id int primary key, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t))
select 1 from @bad
GO
select object_id('bad') as bad
GO
-- History tables that do not fit.
create table current_one (id int primary key, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t))
create table h_columns (id int not null, f datetime2 not null)
create table h_name (id int not null, g datetime2 not null, t datetime2 not null)
create table h_type (id bigint not null, f datetime2 not null, t datetime2 not null)
create table h_null (id int null, f datetime2 not null, t datetime2 not null)
create table h_period (id int not null, f datetime2 null, t datetime2 not null)
create table h_key (id int not null primary key, f datetime2 not null, t datetime2 not null)
create table h_identity (id int not null identity, f datetime2 not null, t datetime2 not null)
create table h_check (id int not null check (id > 0), f datetime2 not null, t datetime2 not null)
create table h_rows (id int not null, f datetime2 not null, t datetime2 not null)
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_columns))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_name))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_type))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_null))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_period))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_key))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_identity))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_check))
GO
create trigger on_h_name on h_name after insert as print 'inserted'
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_name))
GO
alter table current_one set (system_versioning = on (history_table = dbo.grown_history))
GO
insert h_rows values (1, '2021-01-02', '2021-01-01')
alter table current_one set (system_versioning = on (history_table = dbo.h_rows))
GO
update h_rows set t = '9999-01-01'
alter table current_one set (system_versioning = on (history_table = dbo.h_rows))
GO
update h_rows set t = '2021-03-01'
insert h_rows values (1, '2021-02-01', '2021-04-01')
alter table current_one set (system_versioning = on (history_table = dbo.h_rows))
GO
alter table current_one set (system_versioning = on (history_table = dbo.h_rows, data_consistency_check = off))
select count(*) as versions from current_one for system_time all
GO
