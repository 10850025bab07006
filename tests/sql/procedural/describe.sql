-- Statements described without running them: result sets and parameters.
create table t (id int identity primary key, name nvarchar(30) not null, price decimal(9,2) null, twice as id * 2)
GO
create procedure p @id int, @name nvarchar(30) = null, @n bigint output as
begin
  if @id > 0 select name, price from t where id = @id
  set @n = 1
end
GO
create procedure temporary as begin create table #x (a int); select a from #x end
GO
select name, system_type_name, is_nullable as n, max_length as len, precision as p, scale as s, is_identity_column as i, is_computed_column as c, is_updateable as u,
  ordinal_in_order_by_list as o, order_by_is_descending as d, order_by_list_length as l, tds_type_id as tds, tds_length as tl
from sys.dm_exec_describe_first_result_set(N'declare @x int = 1; select id, name as label, price, twice, price + 1 from t where id = @p order by label desc, id', N'@p int', 0)
select name, source_database as db, source_schema as s, source_table as t, source_column as c, is_part_of_unique_key as k
from sys.dm_exec_describe_first_result_set('select id, name as label, 1 as one from t', null, 1)
select name, system_type_name from sys.dm_exec_describe_first_result_set(N'exec p 1, @n = 1', null, 0)
select name, system_type_name from sys.dm_exec_describe_first_result_set_for_object(object_id('p'), 0)
select name, system_type_name from sys.dm_exec_describe_first_result_set(N'update t set price = 1 output inserted.price, deleted.id', null, 0)
select error_number as e, error_message as m, error_type_desc as d from sys.dm_exec_describe_first_result_set(N'exec temporary', null, 0)
select error_number as e, error_message as m, error_type_desc as d from sys.dm_exec_describe_first_result_set(N'exec (''select 1'')', null, 0)
select error_number as e, error_message as m, error_type_desc as d from sys.dm_exec_describe_first_result_set(N'select * from nowhere', null, 0)
select count(*) as n from sys.dm_exec_describe_first_result_set(N'insert t (name) values (N''x'')', null, 0)
exec sp_describe_first_result_set N'exec sp_executesql N''select 1'''
GO
-- Parameters take the types of what they meet.
create table #d (o int, name sysname, a int, type nvarchar(256), len smallint, p tinyint, s tinyint, b1 int null, b2 sysname null, b3 sysname null, b4 sysname null,
  b5 nvarchar(4000) null, b6 int null, b7 sysname null, b8 sysname null, b9 sysname null, x1 bit, x2 bit, x3 bit, input bit, output bit, formal sysname null, tds int, tdslen int)
insert #d exec sp_describe_undeclared_parameters N'insert t (name, price) values (@a, @b)'
insert #d exec sp_describe_undeclared_parameters N'update t set price = price + @a where id in (@b, 2) and name like @c and price between @d and @e'
insert #d exec sp_describe_undeclared_parameters N'select * from (select top (@a) * from t) as t join t as u on u.id = t.id and u.name = @b where exists (select * from t as v where v.price > @c) order by 1 offset @d rows', N'@e int'
insert #d exec sp_describe_undeclared_parameters N'exec @a = p @b, @name = @c, @n = @d output'
insert #d exec sp_describe_undeclared_parameters N'declare @x int; select @x = id from t where id = @x and name = @a; if @b > getdate() delete t where id = @x + @c'
insert #d exec sp_describe_undeclared_parameters N'select * from t where id = case when @a = 5 then @b else id end and coalesce(@c, price) > 1'
select o, name, type, len, p, s, input, output, formal, tds, tdslen from #d
GO
exec sp_describe_undeclared_parameters N'select @a'
exec sp_describe_undeclared_parameters N'select * from t where id = @a or id = @a'
exec sp_describe_undeclared_parameters N'select * from t where nothing = @a'
GO
exec sp_describe_undeclared_parameters N'select * from'
GO
GO
-- Several rows of VALUES.
create table several (a varbinary(max) null, b xml null, c decimal(5,2) null)
GO
exec sp_describe_undeclared_parameters N'insert several (a, b, c) output inserted.a values (@P1, @P2, @P3), (@P4, null, @P6)'
GO
