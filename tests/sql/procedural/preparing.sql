-- What cannot be prepared says so behind what is wrong with it, and there is no handle.
create table t (a int, b varchar(10))
insert t values (1, 'one'), (2, 'two')
GO
declare @h int
exec sp_prepare @h output, N'@p int', N'select b, a + @p as c from t', 1
select case when @h is null then 'no handle' else 'handle' end as h
exec sp_execute @h, 10
exec sp_prepare @h output, N'', N'insert t values (3, ''three''); select a from t where 1 = 0; select b from t', 1
exec sp_prepare @h output, N'', N'update t set a = a', 1
exec sp_prepare @h output, N'', N'create table #x (a int); select * from #x', 1
exec sp_prepare @h output, N'', N'exec (''select 1'')', 1
select count(*) as rows from t
GO
declare @h int
exec sp_prepare @h output, N'', N'select nosuch from t', 1
select case when @h is null then 'no handle' else 'handle' end as h
GO
declare @h int
exec sp_prepare @h output, N'', N'select * fron t'
select case when @h is null then 'no handle' else 'handle' end as h
GO
declare @h int
exec sp_prepexec @h output, N'@p int', N'select nosuch from t where a = @p', 1
select case when @h is null then 'no handle' else 'handle' end as h
GO
declare @h int
exec sp_prepexec @h output, N'@p int', N'select * from nosuch where a = @p', 1
select case when @h is null then 'no handle' else 'handle' end as h
GO
declare @h int
exec sp_prepexec @h output, N'@p int', N'create table #made (a int); insert #made values (@p); select a from #made', 5
select case when @h is null then 'no handle' else 'handle' end as h
GO
begin try
  declare @h int
  exec sp_prepexec @h output, N'@p int', N'select nosuch from t where a = @p', 1
end try
begin catch
  select error_number() as n, error_message() as message
end catch
GO
-- Errors of running a statement are not errors of preparing it.
declare @h int
exec sp_prepexec @h output, N'@p int', N'select 1 / @p', 0
select case when @h is null then 'no handle' else 'handle' end as h
GO
-- A result is described before its parameters are known.
select name, system_type_name from sys.dm_exec_describe_first_result_set(N'select b, a + @p as c, @q as d from t where a > @p1', null, 0)
GO
-- Table types as drivers ask for them.
create type list as table (id int not null primary key, name nvarchar(20) null, amount decimal(9, 2))
exec sp_table_types 'li%'
exec sp_table_type_columns_100 @table_name = 'list', @table_owner = '%', @ODBCVer = 3
exec sp_table_type_pkeys 'list'
GO
