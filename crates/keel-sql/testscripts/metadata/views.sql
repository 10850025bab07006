select name, database_id from sys.databases order by database_id
GO
create database meta
GO
use meta
GO
create table dbo.t (id int identity primary key, name nvarchar(50) not null default N'x', price decimal(9, 2) null)
create index ix on t (name desc) include (price)
GO
create procedure p @a int, @b varchar(10) = 'z' output as select 1
GO
select name, type, type_desc from sys.objects order by name
select c.name, t.name as type, c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity from sys.columns c join sys.types t on t.user_type_id = c.user_type_id where c.object_id = object_id('dbo.t') order by c.column_id
select name, index_id, type_desc, is_unique from sys.indexes where object_id = object_id('t') order by index_id
select index_id, column_id, key_ordinal, is_descending_key, is_included_column from sys.index_columns order by index_id, index_column_id
select name, parameter_id, is_output, has_default_value from sys.parameters order by parameter_id
GO
select table_name, column_name, data_type, character_maximum_length, is_nullable from information_schema.columns order by ordinal_position
select * from information_schema.tables
GO
select db_name() as d, object_name(object_id('t')) as o, object_schema_name(object_id('t')) as s, col_name(object_id('t'), 2) as c, col_length('t', 'name') as l, schema_name() as sc, type_name(56) as ty, suser_sname() as u, user_name() as un
select objectproperty(object_id('t'), 'IsTable') as t, columnproperty(object_id('t'), 'id', 'IsIdentity') as i, indexproperty(object_id('t'), 'ix', 'IsUnique') as u
select cast(serverproperty('ProductVersion') as varchar(20)) as v, serverproperty('EngineEdition') as e, databasepropertyex('meta', 'Recovery') as r
select name, xtype from sysobjects where xtype = 'U'
select name from sys.schemas where schema_id < 5 order by schema_id
GO
alter database meta set recovery simple, read_committed_snapshot on
select recovery_model_desc, is_read_committed_snapshot_on from sys.databases where name = 'meta'
alter database meta set read_only
GO
insert t (name) values ('q')
GO
alter database meta set read_write
insert t (name) values ('q')
GO
sp_configure 'show advanced options', 1
GO
reconfigure
exec sp_configure 'max degree of parallelism'
GO
dbcc checkident ('t')
dbcc checkdb with no_infomsgs
GO
drop database meta
GO
use master
drop database meta
drop database meta
