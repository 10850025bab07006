-- Indexes that are not there and would have helped: in plans, and in views for administrators.
create table sale (id int not null primary key, customer int not null, region int not null, day date not null, amount decimal(10, 2) not null, note varchar(40) null)
insert sale select value, value % 2000, value % 7, dateadd(day, value % 365, '2025-01-01'), value % 97, concat('sale ', value) from generate_series(1, 20000)
create table [odd ]] name] (id int not null primary key, [a ]] b] int not null, c int not null)
insert [odd ]] name] select value, value % 5000, value % 3 from generate_series(1, 5000)
go
-- Equalities first, ranges behind, and what else is read.
select amount, note from sale where customer = 5 and day > '2025-12-01'
go
select equality_columns, inequality_columns, included_columns from sys.dm_db_missing_index_details where object_id = object_id('sale')
go
select g.unique_compiles, g.user_seeks, g.user_scans, iif(g.last_user_seek > dateadd(minute, -10, getdate()), 'now', 'then') as last, iif(g.avg_total_user_cost > 0.1, 'much', 'little') as cost, iif(g.avg_user_impact > 95, 'much', 'little') as impact, g.system_seeks
  from sys.dm_db_missing_index_group_stats g join sys.dm_db_missing_index_groups m on m.index_group_handle = g.group_handle
  join sys.dm_db_missing_index_details d on d.index_handle = m.index_handle where d.object_id = object_id('sale')
go
-- Another text with the same columns counts for the same index; so does one that runs again.
select amount, note from sale where customer = 6 and day > '2025-12-02'
go
select amount, note from sale where customer = 6 and day > '2025-12-02'
go
select c.column_id, c.column_name, c.column_usage, g.unique_compiles, g.user_seeks
  from sys.dm_db_missing_index_details d cross apply sys.dm_db_missing_index_columns(d.index_handle) c join sys.dm_db_missing_index_group_stats g on g.group_handle = d.index_handle
  where d.object_id = object_id('sale')
go
-- By statement: two texts that differ in their literals are one query.
select q.user_seeks, substring(t.text, q.last_statement_start_offset / 2 + 1, 30) as last_text, iif(q.query_hash = s.query_hash and q.query_plan_hash = s.query_plan_hash, 'same', 'other') as known_as
  from sys.dm_db_missing_index_group_stats_query q cross apply sys.dm_exec_sql_text(q.last_sql_handle) t
  join sys.dm_exec_query_stats s on s.sql_handle = q.last_sql_handle and s.statement_start_offset = q.last_statement_start_offset
go
-- Names in brackets; IN counts as equality, LIKE does not.
select c from [odd ]] name] where [a ]] b] in (7, 8)
select count(*) as n from sale where note like 'sale 77%'
go
select replace(statement, db_name(), 'db') as statement, equality_columns, inequality_columns, included_columns from sys.dm_db_missing_index_details where database_id = db_id() order by index_handle
go
-- Changes lack indexes, too. They fetch whole rows, so there is nothing to include.
update sale set amount += 1 where region = 3 and customer = 17
delete sale where day = '1999-01-01'
go
select equality_columns, inequality_columns, included_columns from sys.dm_db_missing_index_details where object_id = object_id('sale') and included_columns is null order by index_handle
go
-- A join by columns without an index, of few rows with many.
create table pick (customer int not null primary key)
insert pick values (3), (4)
go
select s.amount from pick p join sale s on s.customer = p.customer
go
select p.customer, s.id from pick p left join sale s on s.customer = p.customer and s.region = 1
go
select equality_columns, included_columns from sys.dm_db_missing_index_details where object_id = object_id('sale') and equality_columns like '%customer%' and inequality_columns is null order by index_handle
go
-- Nothing is missed where an index answers, where little is read, where a hint chooses, and of temporary tables.
create table small (id int not null primary key, a int)
insert small select value, value from generate_series(1, 500)
select value as id, value % 2000 as a into #temporary from generate_series(1, 20000)
go
declare @before int = (select count(*) from sys.dm_db_missing_index_details)
select id from sale where id = 9
select id from small where a = 9
select id from #temporary where a = 9
select max(id) as id from sale with (index(1)) where region = 9
select count(*) - @before as new from sys.dm_db_missing_index_details
go
-- In the plan.
set showplan_xml on
go
select amount from sale where region = 2 and customer = 3
go
set showplan_xml off
go
create or alter procedure lacking as select amount from sale where region = 2 and customer = 3
go
exec lacking
go
with xmlnamespaces (default 'http://schemas.microsoft.com/sqlserver/2004/07/showplan')
select i.value('@Table', 'sysname') as [table], i.value('@Schema', 'sysname') as [schema], iif(i.value('../@Impact', 'float') > 95, 'much', 'little') as impact, i.query('ColumnGroup') as columns
  from sys.dm_exec_procedure_stats s cross apply sys.dm_exec_query_plan(s.plan_handle) p cross apply p.query_plan.nodes('//MissingIndex') n(i) where s.object_id = object_id('lacking')
go
-- What was noted of a table is forgotten when it is defined otherwise: the index may be there.
create index by_customer on sale (customer, day) include (amount, note)
go
select count(*) as noted from sys.dm_db_missing_index_details where object_id = object_id('sale')
select amount, note from sale where customer = 5 and day > '2025-12-01'
select count(*) as noted from sys.dm_db_missing_index_details where object_id = object_id('sale')
drop table [odd ]] name]
select count(*) as noted from sys.dm_db_missing_index_details where database_id = db_id()
go
create login nobody with password = 'Passw0rd.1'
create user nobody for login nobody
execute as user = 'nobody'
select * from sys.dm_db_missing_index_groups
revert
drop user nobody
drop login nobody
