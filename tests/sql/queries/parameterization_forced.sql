-- PARAMETERIZATION FORCED, and guides of type TEMPLATE.
create table item (id int not null primary key, name varchar(20) null, grp int not null index by_grp, price decimal(10, 2) not null, made date null)
insert item select value, concat('item ', value), value % 10, value, '2026-01-01' from generate_series(1, 100)
create table line (item int not null, number int not null, amount int not null, primary key (item, number))
insert line select i.value, n.value, i.value * n.value from generate_series(1, 20) i cross join generate_series(1, 3) n
go
create view parameterized as
  select t.text as text, s.execution_count as times, p.objtype from sys.dm_exec_query_stats s
    join sys.dm_exec_cached_plans p on p.plan_handle = s.plan_handle
    cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.dbid = db_id() and t.text not like '%parameterized%' and t.text like '%item%'
go
-- A query's template.
declare @text nvarchar(max), @parameters nvarchar(max)
exec sp_get_query_template N'SELECT i.name, SUM(l.amount) AS total, 5 FROM item AS i INNER JOIN line AS l ON l.item = i.id
  WHERE i.grp IN (3, 4) AND i.price > 12.5 AND i.name LIKE ''item%'' AND l.amount + 1 > 2 AND CONVERT(char(8), i.made, 112) = ''20260101'' GROUP BY i.name HAVING SUM(l.amount) > 6', @text output, @parameters output
select @text as text, @parameters as parameters
go
declare @text nvarchar(max), @parameters nvarchar(max)
exec sp_get_query_template @querytext = N'insert item (id, name, grp, price) values (1, N''a'', -2, $3)', @parameters = @parameters output, @templatetext = @text output
select @text as text, @parameters as parameters
exec sp_get_query_template N'update item set name = ''x'', price = price * 2 from item where id between 1 and 2 and exists (select 7 from line where item = 1)', @text output, @parameters output
select @text as text, @parameters as parameters
go
exec sp_get_query_template N'select 1; select 2'
go
exec sp_get_query_template N'select name from item'
go
exec sp_get_query_template N'select name from'
go
-- Not by itself: there is a choice of indexes.
dbcc freeproccache with no_infomsgs
go
select name from item where grp = 3 and price < 30
go
select text, times from parameterized where text like '%@%'
go
declare @db sysname = db_name()
exec ('alter database [' + @db + '] set parameterization forced')
select is_parameterization_forced, databasepropertyex(@db, 'IsParameterizationForced') as property from sys.databases where name = @db
go
select name from item where grp = 3 and price < 30
go
select name from item where grp = 4 and price < 30
go
select top (2) i.id, l.amount, 'kept' as kept from item i join line l on l.item = i.id where i.id in (3, 4, 5) and l.number = 1 order by 1 desc
go
select top (2) i.id, l.amount, 'kept' as kept from item i join line l on l.item = i.id where i.id in (6, 7, 8) and l.number = 2 order by 1 desc
go
select top (1) i.id, l.amount, 'kept' as kept from item i join line l on l.item = i.id where i.id in (6, 7, 8) and l.number = 2 order by 1 desc
go
with few as (select id from item where id < 4) select count(*) as n from few union all select number from line where item = 3 and number > 2
go
with few as (select id from item where id < 6) select count(*) as n from few union all select number from line where item = 4 and number > 1
go
merge item as t using (select 300 as id) as s on t.id = s.id when not matched then insert (id, name, grp, price) values (s.id, 'merged', 1, 2.50);
go
select id, name, grp, price from item where id = 300
go
select name from item where id = 1 option (recompile)
go
select name from item where id = 2 or name = 'item 3'
go
select name from item where id = 3 or name = 'item 4'
go
select text, times, objtype from parameterized order by text
go
-- A guide takes one form out, ...
declare @text nvarchar(max), @parameters nvarchar(max)
exec sp_get_query_template N'select name from item where grp = 3 and price < 30', @text output, @parameters output
exec sp_create_plan_guide 'as written', @text, 'TEMPLATE', null, @parameters, N'OPTION (PARAMETERIZATION SIMPLE)'
select name, query_text, scope_type_desc, parameters, hints from sys.plan_guides
go
select name from item where grp = 5 and price < 30
go
select text, times from parameterized where text like '%grp = 5%'
go
-- ... or in.
exec sp_control_plan_guide 'DROP', 'as written'
declare @db sysname = db_name()
exec ('alter database [' + @db + '] set parameterization simple')
declare @text nvarchar(max), @parameters nvarchar(max)
exec sp_get_query_template N'select name from item where grp = 3 and price < 30', @text output, @parameters output
exec sp_create_plan_guide 'with parameters', @text, 'TEMPLATE', null, @parameters, N'OPTION (PARAMETERIZATION FORCED)'
-- A guide of type SQL about that form.
exec sp_create_plan_guide 'hinted', @text, 'SQL', null, @parameters, N'OPTION (MAXDOP 1, TABLE HINT (item, INDEX (by_grp)))'
go
select name from item where grp = 6 and price < 30
go
select name from item where grp = 7 and price < 30
go
select name from item where grp = 7 and price > 90
go
select text, times from parameterized where text like '%grp%[67]%' or text like '%grp%@0%price <%' order by text
go
declare @plan nvarchar(max) = (select top (1) cast(p.query_plan as nvarchar(max)) from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t cross apply sys.dm_exec_query_plan(s.plan_handle) p where t.dbid = db_id() and t.text like '%)select name from item where grp = @0%price <%')
select iif(@plan like '%PlanGuideName="hinted"%', 'guided', 'not guided') as plan_of, iif(@plan like '%StatementParameterizationType="3"%', 'forced', 'not forced') as kind, iif(@plan like '%ParameterizedText="(@0 int,@1 int)select name%', 'declared', @plan) as text
go
select g.name, v.msgnum from sys.plan_guides g outer apply sys.fn_validate_plan_guide(g.plan_guide_id) v order by g.name
go
exec sp_create_plan_guide 'twice', N'select name from item where grp = @0 and price < @1', 'TEMPLATE', null, N'@0 int,@1 int', N'OPTION (PARAMETERIZATION SIMPLE)'
go
exec sp_create_plan_guide 'wrong', N'select name from item where grp = @0', 'TEMPLATE', N'select 1', N'@0 int', N'OPTION (PARAMETERIZATION FORCED)'
go
exec sp_create_plan_guide 'wrong', N'select name from item where grp = @0', 'TEMPLATE', null, null, N'OPTION (PARAMETERIZATION FORCED)'
go
exec sp_create_plan_guide 'wrong', N'select name from item where grp = @0', 'TEMPLATE', null, N'@0 int', N'OPTION (MAXDOP 1)'
go
exec sp_create_plan_guide 'wrong', N'select name from item where grp = @0', 'SQL', null, N'@0 int', N'OPTION (PARAMETERIZATION FORCED)'
go
select rtrim(counter_name) as counter, iif(cntr_value > 0, 'counted', 'not') as value from sys.dm_os_performance_counters where counter_name like '%auto-param%' or counter_name like 'Forced%' order by 1
go
-- The Query Store knows the kinds.
create database kinds
alter database kinds set query_store = on (query_capture_mode = all)
go
use kinds
create table item (id int not null primary key, name varchar(20) null)
insert item select value, concat('item ', value) from generate_series(1, 100)
go
select name from item where id = 21
go
select name from item where id = 22
go
exec sp_executesql N'SELECT [name] FROM [item] WHERE [id]=@1', N'@1 int', 23
go
select name from item where id in (24)
go
alter database kinds set parameterization forced
go
select name from item where id in (24)
go
select name from item where id in (25)
go
select t.query_sql_text, q.query_parameterization_type, q.query_parameterization_type_desc, sum(r.count_executions) as times, p.is_trivial_plan
  from sys.query_store_query q join sys.query_store_query_text t on t.query_text_id = q.query_text_id join sys.query_store_plan p on p.query_id = q.query_id
  join sys.query_store_runtime_stats r on r.plan_id = p.plan_id where t.query_sql_text like '%item%' and t.query_sql_text not like '%generate%'
  group by t.query_sql_text, q.query_parameterization_type, q.query_parameterization_type_desc, p.is_trivial_plan order by t.query_sql_text, q.query_parameterization_type
go
use master
drop database kinds
go
