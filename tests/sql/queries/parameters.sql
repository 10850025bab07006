-- Plans are made for the values that parameters have when they are made, and made anew when the data has become another.
create table item (id int primary key, status int not null, made datetime not null, code varchar(20) not null, note char(100) not null default '')
create index by_status on item (status)
create index by_made on item (made)
create index by_code on item (code)
insert item (id, status, made, code)
select value, iif(value % 1000 = 0, 1, 0), dateadd(minute, value, '2024-01-01'), concat(iif(value % 500 = 0, 'rare', 'usual'), value)
from generate_series(1, 20000)
update statistics item with fullscan
GO
-- How often indexes were sought and scanned since the last time.
create table seen (name sysname primary key, seeks bigint, scans bigint)
GO
create procedure uses as
begin
    set nocount on
    declare @now table (name sysname, seeks bigint, scans bigint)
    insert @now select i.name, user_seeks, user_scans from sys.dm_db_index_usage_stats u
        join sys.indexes i on i.object_id = u.object_id and i.index_id = u.index_id
        where u.object_id = object_id('item') and u.database_id = db_id()
    select left(iif(n.name like 'PK%', 'PK', n.name), 10) as name, n.seeks - isnull(s.seeks, 0) as seeks, n.scans - isnull(s.scans, 0) as scans
    from @now n left join seen s on s.name = n.name
    where n.seeks <> isnull(s.seeks, 0) or n.scans <> isnull(s.scans, 0) order by 1
    truncate table seen
    insert seen select * from @now
end
GO
exec uses
GO
-- A rare value first: the plan seeks, also for the usual value that comes after it.
exec sp_executesql N'select count(note) as n from item where status = @s /* rare */', N'@s int', 1
exec sp_executesql N'select count(note) as n from item where status = @s /* rare */', N'@s int', 0
exec uses
-- The usual one first: it scans.
exec sp_executesql N'select count(note) as n from item where status = @s /* usual */', N'@s int', 0
exec sp_executesql N'select count(note) as n from item where status = @s /* usual */', N'@s int', 1
exec uses
GO
-- What a plan was made for is shown in it.
with xmlnamespaces (default 'http://schemas.microsoft.com/sqlserver/2004/07/showplan')
select left(t.text, 70) as text, c.value('@Column', 'varchar(10)') as parameter, c.value('@ParameterDataType', 'varchar(20)') as type,
    c.value('@ParameterCompiledValue', 'varchar(40)') as compiled_for
from sys.dm_exec_cached_plans p cross apply sys.dm_exec_sql_text(p.plan_handle) t cross apply sys.dm_exec_query_plan(p.plan_handle) q
cross apply q.query_plan.nodes('//ParameterList/ColumnReference') x(c)
where t.text like '%status = @s /*%' and t.text not like '%dm_exec%' order by 1, 2
GO
-- Both ends of a range, one end, the beginning of a text, a list.
exec sp_executesql N'select count(note) as n from item where made >= @a and made < @b', N'@a datetime, @b datetime', '2024-01-02', '2024-01-02 00:30'
exec sp_executesql N'select count(note) as n from item where made >= @a and made < @b --', N'@a datetime, @b datetime', '2024-01-01', '2025-01-01'
exec uses
exec sp_executesql N'select count(note) as n from item where made > @a', N'@a datetime', '2024-01-14 21:00'
exec sp_executesql N'select count(note) as n from item where made > @a --', N'@a datetime', '2024-01-03'
exec uses
exec sp_executesql N'select count(note) as n from item where code like @c', N'@c varchar(20)', 'rare%'
exec sp_executesql N'select count(note) as n from item where code like @c --', N'@c varchar(20)', 'usual%'
exec uses
exec sp_executesql N'select count(note) as n from item where status in (@a, @b)', N'@a int, @b int', 1, 2
exec sp_executesql N'select count(note) as n from item where status in (@a, @b) --', N'@a int, @b int', 1, 0
exec uses
GO
-- Local variables are not looked at, unless the plan is for one execution.
declare @s int = 1
select count(note) as n from item where status = @s
exec uses
select count(note) as n from item where status = @s option (recompile)
exec uses
set @s = 0
select count(note) as n from item where status = @s option (recompile)
exec uses
GO
-- There variables are as good as constants: what they decide is not asked row by row.
create procedure search @id int = null, @status int = null, @made datetime = null as
    select count(note) as n from item
    where (@id is null or id = @id) and (@status is null or status = @status) and (made >= @made or @made is null)
    option (recompile)
GO
exec search @id = 77
exec uses
exec search @status = 1
exec uses
exec search @made = '2024-01-14 21:00'
exec uses
exec search
exec uses
exec search @id = 3000, @status = 1
exec search @id = 3001, @status = 1
GO
-- Where a statement assigns variables it reads them as they are at each row.
declare @n int = 0, @all varchar(max) = ''
select @n = @n + status, @all = @all + iif(@n = 1, 'x', '') from item where id <= 3000 option (recompile)
select @n as n, len(@all) as len
update item set @n = status = status + iif(@n > 0, 0, 0) where id <= 1000 option (recompile)
select @n as n
exec uses
GO
-- Other values than those, or none in particular.
exec sp_executesql N'select count(note) as n from item where status = @s option (optimize for (@s = 1))', N'@s int', 0
exec uses
exec sp_executesql N'select count(note) as n from item where status = @s option (optimize for (@s = 0))', N'@s int', 1
exec uses
exec sp_executesql N'select count(note) as n from item where status = @s option (optimize for (@s unknown))', N'@s int', 1
exec sp_executesql N'select count(note) as n from item where status = @s option (optimize for unknown)', N'@s int', 1
exec sp_executesql N'select count(note) as n from item where status = @s option (use hint (''DISABLE_PARAMETER_SNIFFING''))', N'@s int', 1
exec uses
GO
-- Such a value is for estimates alone.
exec sp_executesql N'select count(note) as n from item where status = @s option (optimize for (@s = 1), recompile)', N'@s int', 0
GO
exec sp_executesql N'select 1 from item where status = @s option (optimize for (@nowhere = 1))', N'@s int', 0
GO
exec sp_executesql N'select count(*) as n from item where status = @s option (optimize for (@s = ''x''))', N'@s int', 0
GO
-- A procedure's parameters; WITH RECOMPILE, of one call and of the procedure.
create procedure of_status @s int as select count(note) as n from item where status = @s
GO
create procedure of_status_anew @s int with recompile as select count(note) as n from item where status = @s
GO
exec of_status 0
exec of_status 1
exec uses
exec of_status 1 with recompile
exec uses
exec of_status 1
exec uses
exec of_status_anew 1
exec uses
exec of_status_anew 0
exec uses
exec sp_recompile 'of_status'
exec of_status 1
exec uses
GO
-- Turned off for the database.
alter database scoped configuration set parameter_sniffing = off
exec sp_executesql N'select count(note) as n from item where status = @s /* off */', N'@s int', 1
exec uses
alter database scoped configuration set parameter_sniffing = on
exec sp_executesql N'select count(note) as n from item where status = @s /* on */', N'@s int', 1
exec uses
GO
-- A table that was nearly empty when a plan was made: it is made anew when there is more.
create table event (id int primary key, kind int not null, note char(100) not null default '')
create index by_kind on event (kind)
insert event (id, kind) select value, value % 3 from generate_series(1, 10)
GO
create procedure of_kind as select count(note) as n from event where kind = 7
GO
create procedure event_uses as
    select left(iif(i.name like 'PK%', 'PK', i.name), 10) as name, user_seeks, user_scans from sys.dm_db_index_usage_stats u
    join sys.indexes i on i.object_id = u.object_id and i.index_id = u.index_id
    where u.object_id = object_id('event') and u.database_id = db_id() order by 1
GO
exec of_kind
exec event_uses
insert event (id, kind) select value, 7 from generate_series(11, 20000)
exec of_kind
exec event_uses
select plan_generation_num from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.objectid = object_id('of_kind')
GO
-- Rows of the same transaction count as well.
create table event_of_day (id int primary key, kind int not null, note char(100) not null default '')
create index by_kind on event_of_day (kind)
GO
begin transaction
insert event_of_day (id, kind) select value, value % 1000 from generate_series(1, 20000)
select count(note) as n from event_of_day where kind = 7
select left(iif(i.name like 'PK%', 'PK', i.name), 10) as name, user_seeks, user_scans from sys.dm_db_index_usage_stats u
    join sys.indexes i on i.object_id = u.object_id and i.index_id = u.index_id
    where u.object_id = object_id('event_of_day') and u.database_id = db_id() order by 1
commit
drop table event_of_day
GO
-- Temporary tables grow, too.
create table #event (id int primary key, kind int not null, note char(100) not null default '')
create index by_kind on #event (kind)
insert #event (id, kind) select value, value % 3 from generate_series(1, 10)
exec sp_executesql N'select count(note) as n from #event where kind = 7'
exec sp_executesql N'select count(note) as n from #event where kind = 7'
insert #event (id, kind) select value, value % 1000 from generate_series(11, 20000)
exec sp_executesql N'select count(note) as n from #event where kind = 7'
select plan_generation_num from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.text = 'select count(note) as n from #event where kind = 7'
drop table #event
GO
-- The time counts as a value.
insert item (id, status, made, code) select 20000 + value, 0, dateadd(second, -value, getdate()), 'new' from generate_series(1, 20) 
update statistics item with fullscan
select count(note) as n from item where made > dateadd(day, -1, getdate())
exec uses
select count(note) as n from item where made > dateadd(year, -100, getdate())
exec uses
GO
drop table item, seen, event
drop procedure uses, search, of_status, of_status_anew, of_kind, event_uses
