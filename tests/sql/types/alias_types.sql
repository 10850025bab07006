-- What was declared with a type that a user made is shown with it, and keeps it from being dropped.
create schema kinds
GO
create type dbo.flag from bit not null
create type kinds.name from nvarchar(50)
create type dbo.ids as table (id int not null primary key, of_kind kinds.name)
GO
create table people (id int not null, alive dbo.flag, name kinds.name, nick kinds.name not null, plain nvarchar(10), twice as id * 2)
alter table people add more kinds.name null
alter table people alter column plain kinds.name
GO
create procedure find @name kinds.name, @n int, @alive flag = 1 output, @in dbo.ids readonly as select 1 as one
GO
create function is_alive(@a int) returns dbo.flag as begin return 1 end
GO
create function of_kind(@k kinds.name) returns table as return select id, name from people where name = @k
GO
create function made_of(@n int, @in dbo.ids readonly) returns @r table (id int not null, name kinds.name) as begin return end
GO
select c.name, c.column_id, t.name as type, b.name as base, c.is_nullable from sys.columns c join sys.types t on t.user_type_id = c.user_type_id
    join sys.types b on b.user_type_id = c.system_type_id where c.object_id = object_id('people') order by c.column_id
select column_name, data_type, domain_catalog, domain_schema, domain_name from information_schema.columns where table_name = 'people' order by ordinal_position
select o.name, p.parameter_id, p.name, t.name as type, p.system_type_id, p.is_output, p.is_readonly from sys.parameters p join sys.objects o on o.object_id = p.object_id
    join sys.types t on t.user_type_id = p.user_type_id order by o.name, p.parameter_id
select o.name as function_name, c.column_id, c.name, type_name(c.system_type_id) as type, c.max_length, c.is_nullable from sys.columns c join sys.objects o on o.object_id = c.object_id
    where o.type in ('IF', 'TF') order by o.name, c.column_id
select c.name, t.name as type from sys.table_types tt join sys.columns c on c.object_id = tt.type_table_object_id join sys.types t on t.user_type_id = c.user_type_id order by c.column_id
GO
-- Copies of the table are of the same types where they are made by definition, and of what these stand for where by a query.
select * into copied from people
select c.name, type_name(c.user_type_id) as type from sys.columns c where c.object_id = object_id('copied') order by c.column_id
create table #t (name nvarchar(50))
select type_name(user_type_id) as type from tempdb.sys.columns where object_id = object_id('tempdb..#t')
GO
drop type dbo.flag
GO
drop type kinds.name
GO
drop type dbo.ids
GO
drop procedure find
drop function made_of, of_kind, is_alive
GO
drop type dbo.ids
drop table people
drop type dbo.flag
drop type kinds.name
GO
create trigger copies on copied for insert not for replication as return
GO
create trigger others on copied for update as return
GO
select name, is_not_for_replication from sys.triggers where parent_id = object_id('copied') order by name
drop table copied
drop schema kinds
GO
