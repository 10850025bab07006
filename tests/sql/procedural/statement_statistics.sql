-- How often each statement ran and what that cost, by its place in its batch or module.
create table item (id int not null primary key, grp int not null, price int not null)
insert item select value, value % 10, value from generate_series(1, 1000)
go
create procedure prices @grp int as
begin
  declare @n int = 0
  select @n = count(*) from item where grp = @grp
  if @n > 0
    select top (3) id, price from item where grp = @grp order by price desc
  else
    select 'none' as found
  update item set price += 1 where grp = @grp;
end
go
exec prices 1
exec prices 2
exec prices 77
go
create view counted as
  select object_name(t.objectid) as module, substring(t.text, s.statement_start_offset / 2 + 1, 28) as statement, s.execution_count as times, s.total_rows as rows, s.last_rows, s.min_rows, s.max_rows, s.plan_generation_num as generation,
    iif(s.total_logical_reads > 0, 'some', 'none') as reads, iif(s.total_worker_time <= s.total_elapsed_time + 100 * s.execution_count, 'sound', 'too much') as worker, s.statement_start_offset as starts
  from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t
go
select statement, times, rows, last_rows, min_rows, max_rows, generation, reads, worker from counted where module = 'prices' order by starts
go
-- Where each begins and ends: its own text.
select substring(t.text, s.statement_start_offset / 2 + 1, (s.statement_end_offset - s.statement_start_offset) / 2) as text
  from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.objectid = object_id('prices') order by s.statement_start_offset
go
-- Statements that differ in literals alone have one hash; so have their plans.
select price from item where id in (5)
go
select price from item where id in (6)
go
SELECT   price FROM item WHERE id IN (7)
go
select grp from item where id in (7)
go
select count(*) as statements, count(distinct s.query_hash) as queries, count(distinct s.query_plan_hash) as plans, sum(s.execution_count) as times
  from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.text like 'select % from item where id in ([567])'
go
-- One that fails is not counted; a batch of one statement is all of its text.
select 1 / (id - 500) as bad from item where id in (500)
go
select 1 / (id - 500) as bad from item where id in (501)
go
select s.execution_count as times, s.statement_start_offset as starts, s.statement_end_offset as ends, t.text from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.text like 'select 1 / (id%'
go
-- The plan of one statement, by its place.
declare @plan varbinary(64), @from int, @to int
select @plan = s.plan_handle, @from = s.statement_start_offset, @to = s.statement_end_offset
  from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.objectid = object_id('prices') and s.max_rows = 100;
with xmlnamespaces (default 'http://schemas.microsoft.com/sqlserver/2004/07/showplan')
select 'all' as asked, x.document.value('count(//StmtSimple)', 'int') as statements, x.document.value('(//StmtSimple/@StatementType)[1]', 'sysname') as first from sys.dm_exec_text_query_plan(@plan, 0, -1) p cross apply (select cast(p.query_plan as xml)) x(document)
union all
select 'one', x.document.value('count(//StmtSimple)', 'int'), x.document.value('(//StmtSimple/@StatementType)[1]', 'sysname') from sys.dm_exec_text_query_plan(@plan, @from, @to) p cross apply (select cast(p.query_plan as xml)) x(document)
select count(*) as rows from sys.dm_exec_text_query_plan(@plan, 2, 4)
go
-- Triggers and functions, and the statements in them.
create function rate (@grp int) returns int as
begin
  declare @most int
  select @most = max(price) from item where grp = @grp
  return @most
end
go
create trigger watch on item after update as
begin
  set nocount on
  if exists (select * from inserted where price < 0) rollback
  select count(*) as changed from inserted
end
go
select dbo.rate(1) as rate
select dbo.rate(grp) as rate from item where id in (3, 4)
update item set price += 1 where id = 9
go
select object_name(object_id) as name, type, type_desc, execution_count from sys.dm_exec_function_stats where database_id = db_id()
select object_name(object_id) as name, type, type_desc, execution_count from sys.dm_exec_trigger_stats where database_id = db_id()
select object_name(object_id) as name, execution_count from sys.dm_exec_procedure_stats where database_id = db_id() and object_id > 0
go
select module, statement, times, rows from counted where module in ('rate', 'watch') order by module, starts
go
-- What a running request is at, by the same hash, once it has run.
go
select iif(r.query_hash = s.query_hash, 'same', 'other') as hash from sys.dm_exec_requests r left join sys.dm_exec_query_stats s on s.sql_handle = r.sql_handle where r.session_id = @@spid
go
select iif(r.query_hash = s.query_hash, 'same', 'other') as hash from sys.dm_exec_requests r left join sys.dm_exec_query_stats s on s.sql_handle = r.sql_handle where r.session_id = @@spid
go
-- A statement that is compiled again has another generation, the others of its module do not.
alter table item add more int
go
exec prices 1
go
select statement, times, generation from counted where module = 'prices' order by starts
go
-- Conditions, assignments and results with queries in them, and what is filled by a call, count as well; those without do not.
create procedure asks_whom @grp int as
begin
  declare @n int = 0, @most int = (select max(price) from item where grp = @grp)
  if exists (select * from item where grp = @grp) set @n = @n + 1 -- select
  while @n < (select count(*) from item where id < 3) set @n += 1
  create table #got (id int, price int)
  insert #got exec ('select id, price from item where grp = 3 and id < 50')
  return (select count(*) from #got)
end
go
declare @result int
exec @result = asks_whom 1
select @result as result
exec @result = asks_whom 2
go
select substring(statement, 1, 24) as statement, times, rows, max_rows from counted where module = 'asks_whom' order by starts
go
-- Looking at plans is no execution.
set showplan_text on
go
select price from item where id = 12345
go
set showplan_text off
go
select count(*) as rows from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.text like '%= 12345%' and t.text not like '%sys.%'
