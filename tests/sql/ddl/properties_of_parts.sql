-- Extended properties of parameters and of the columns of views.
create procedure p @input nvarchar(10), @out int output as select 1
GO
create function f (@id int) returns table as return select @id as id
GO
create function g (@value int) returns int as begin return @value end
GO
create view v as select 1 as a, 2 as b
GO
exec sp_addextendedproperty 'MS_Description', 'what goes in', 'SCHEMA', 'dbo', 'PROCEDURE', 'p', 'PARAMETER', '@input'
exec sp_addextendedproperty 'MS_Description', 'what comes out', 'SCHEMA', 'dbo', 'PROCEDURE', 'p', 'PARAMETER', '@out'
exec sp_addextendedproperty 'MS_Description', 'of a table', 'SCHEMA', 'dbo', 'FUNCTION', 'f', 'PARAMETER', '@id'
exec sp_addextendedproperty 'MS_Description', 'of a value', 'SCHEMA', 'dbo', 'FUNCTION', 'g', 'PARAMETER', '@value'
exec sp_addextendedproperty 'MS_Description', 'second', 'SCHEMA', 'dbo', 'VIEW', 'v', 'COLUMN', 'b'
select class, class_desc, object_name(major_id) o, minor_id, value from sys.extended_properties order by class, o, minor_id
select * from sys.fn_listextendedproperty(null, 'schema', 'dbo', 'procedure', 'p', 'parameter', null)
select * from sys.fn_listextendedproperty('MS_Description', 'schema', 'dbo', 'view', 'v', 'column', 'b')
select p.name, e.value from sys.parameters p
  join sys.extended_properties e on e.class = 2 and e.major_id = p.object_id and e.minor_id = p.parameter_id order by 1
exec sp_updateextendedproperty 'MS_Description', 'in', 'SCHEMA', 'dbo', 'PROCEDURE', 'p', 'PARAMETER', '@input'
select value from sys.fn_listextendedproperty(null, 'schema', 'dbo', 'procedure', 'p', 'parameter', '@input')
GO
exec sp_addextendedproperty 'MS_Description', 'none', 'SCHEMA', 'dbo', 'PROCEDURE', 'p', 'PARAMETER', '@nothing'
GO
exec sp_addextendedproperty 'MS_Description', 'none', 'SCHEMA', 'dbo', 'VIEW', 'v', 'COLUMN', 'c'
GO
exec sp_dropextendedproperty 'MS_Description', 'SCHEMA', 'dbo', 'VIEW', 'v', 'COLUMN', 'b'
drop procedure p
drop function f, g
drop view v
select count(*) n from sys.extended_properties
