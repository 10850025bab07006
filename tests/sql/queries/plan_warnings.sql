-- What plans warn of: conversions of columns on whose account no index can be searched.
create table part (id int not null primary key, code varchar(20) not null index by_code, weight varchar(10) null, made datetime not null index by_made, price decimal(9, 2) null)
insert part select value, concat('p', value), value, dateadd(day, value, '2020-01-01'), value from generate_series(1, 1000)
go
create view warned as
  select substring(t.text, s.statement_start_offset / 2 + 1, 60) as statement, w.n.value('@ConvertIssue', 'sysname') as issue, w.n.value('@Expression', 'nvarchar(200)') as expression
  from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t cross apply (select cast(query_plan as xml) from sys.dm_exec_text_query_plan(s.plan_handle, s.statement_start_offset, s.statement_end_offset)) p(document)
  cross apply p.document.nodes('declare namespace s="http://schemas.microsoft.com/sqlserver/2004/07/showplan"; //s:PlanAffectingConvert') w(n)
  where t.objectid = object_id('warns')
go
create procedure warns @n int, @code nvarchar(20) as
begin
  declare @found int
  select @found = count(*) from part where weight = @n
  select @found = count(*) from part where weight in (1, 2)
  select @found = count(*) from part where cast(made as time) = '10:00'
  select @found = count(*) from part where cast(made as date) = '2020-02-02'
  -- These are searched, whatever is converted: the order stays.
  select @found = count(*) from part where code = @code
  select @found = count(*) from part where id = cast(@n as bigint)
  select @found = count(*) from part where price > @n
  select @found = count(*) from part where code = cast(@n as varchar(20))
end
go
exec warns 5, N'p7'
go
select * from warned order by statement, issue
