-- Functions and views that describe.
create table dbo.m (id int identity not null, n nvarchar(20) null, d decimal(10, 2) not null default 0, constraint pk_m primary key (id))
GO
select object_name(object_id('dbo.m')) as n, schema_name(1) as s, type_name(56) as t, col_name(object_id('m'), 2) as c, columnproperty(object_id('m'), 'id', 'IsIdentity') as i, objectproperty(object_id('m'), 'IsTable') as it, db_id('master') as db, object_id('nope') as nope
GO
select name, column_id, type_name(user_type_id) as type, max_length, precision, scale, is_nullable, is_identity from sys.columns where object_id = object_id('dbo.m') order by column_id
GO
select table_name, column_name, ordinal_position, data_type, character_maximum_length, is_nullable from information_schema.columns where table_name = 'm' order by ordinal_position
GO
select name, type, type_desc from sys.objects where parent_object_id = object_id('m') order by name
select definition from sys.default_constraints where parent_object_id = object_id('m')
GO
select t.name as tab, s.name as sch from sys.tables t join sys.schemas s on s.schema_id = t.schema_id where t.name = 'm'
GO
select serverproperty('IsHadrEnabled') as hadr, serverproperty('Collation') as coll, serverproperty('EngineEdition') as ed
select @@servername as sn, suser_sname() as login, user_name() as u, app_name() as app, is_srvrolemember('sysadmin') as sa
GO
exec sp_helptext 'nope'
GO
exec sp_columns 'm'
GO
drop table m
