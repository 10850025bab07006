-- DATABASE_DEFAULT, table types, and the rows of JSON and XML have the collation of the database where they are used
create database sensitive collate SQL_Latin1_General_CP1_CS_AS
GO
use sensitive
GO
create table #a (id varchar(5) collate database_default not null, other varchar(5))
alter table #a add c varchar(5) collate database_default
alter table #a alter column other varchar(6) collate database_default
GO
select name, collation_name from tempdb.sys.columns where object_id = object_id('tempdb..#a')
GO
create table p (id varchar(5))
insert p values ('a')
insert #a (id) values ('A')
select count(*) as same from p join #a on p.id = #a.id
GO
create type tt as table (a varchar(10), b varchar(10) collate database_default, c varchar(10) collate Latin1_General_CI_AS)
GO
select c.name, c.collation_name from sys.table_types t join sys.columns c on c.object_id = t.type_table_object_id where t.name = 'tt'
declare @t tt
insert @t values ('x', 'x', 'x')
select count(*) as none from @t where a = 'X'
GO
select [key], value, type from openjson('{"a":1,"A":"x"}') where [key] = 'A'
select case type when 1 then (select t.value a for json path) else value end as v from openjson('["x",2]') t
GO
select count(*) as none from openjson('{"b":"a"}') with (b nvarchar(10)) where b = 'A'
GO
declare @h int
exec sp_xml_preparedocument @h output, '<r b="a"/>'
select count(*) as none from openxml(@h, '/r') with (b nvarchar(10)) where b = 'A'
select count(*) as none from openxml(@h, '/r') with p where id = 'A'
exec sp_xml_removedocument @h
GO
use master
GO
drop database sensitive
GO
select count(*) as none from openjson('{"a":1}') where [key] = 'A'
select count(*) as one from openjson('["a"]') where value = 'A'
GO
-- bytes are characters of one byte beside LIKE
select 1 as found where 0x4142 like 'A%'
select 1 as found where 0x4142 like 0x4125
select 1 as found where cast('1:/a' as varbinary(max)) like cast('_:/%' as varbinary(50))
select 1 as found where 0x41004200 like N'A%'
GO
