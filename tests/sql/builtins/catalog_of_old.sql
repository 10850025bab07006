-- Texts in syscomments are in rows of 4,000 characters, and as bytes.
declare @text nvarchar(max) = N'create procedure long_one as select 1 --' + replicate(cast(N'x' as nvarchar(max)), 9000)
exec (@text)
select colid, len(text) as characters, datalength(ctext) as bytes, cast(left(text, 8) as nvarchar(8)) as begins from syscomments where id = object_id('long_one') order by colid
select iif(count(*) > 100, 'yes', 'no') as of_the_system from master..syscomments
GO
-- Parameters of the system's procedures.
select name, type_name(user_type_id) as type, max_length from sys.all_parameters where object_id = object_id('sys.sp_columns') order by parameter_id
select name from sys.system_parameters where object_id = object_id('sys.sp_addrole')
GO
-- Temporary tables have the same names in all views.
create table #seen (id int primary key)
select count(*) as n from tempdb.sys.objects o join tempdb.information_schema.columns c on c.table_name = o.name where o.name like '#seen%'
select count(*) as n from tempdb.sys.objects o join tempdb.information_schema.table_constraints c on c.table_name = o.name where o.name like '#seen%' and o.type = 'U'
GO
-- A parameter that goes to one of a table type.
create type dbo.list as table (a int)
GO
create procedure takes_list @list dbo.list readonly, @n int as select count(*) as c from @list
GO
exec sp_describe_undeclared_parameters N'exec takes_list @P1, @P2'
drop procedure takes_list, long_one
drop type list
GO
