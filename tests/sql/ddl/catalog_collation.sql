-- Names in the catalog are in their database's collation, those of the instance in the instance's, words of the system in one of its own.
create database cased collate Latin1_General_CS_AS
GO
use cased
create table Thing (Id int primary key, Label varchar(10) default 'none')
create table mine (name sysname, kind char(2), words nvarchar(60))
insert mine values ('Thing', 'U', 'USER_TABLE'), ('thing', 'U', 'USER_TABLE'), ('cased', 'U', 'user_table')
GO
select t.name from sys.tables t join mine m on m.name = t.name
select t.TABLE_NAME from INFORMATION_SCHEMA.TABLES t join mine m on m.name = t.TABLE_NAME
select c.COLUMN_NAME, c.COLUMN_DEFAULT from INFORMATION_SCHEMA.COLUMNS c join mine m on m.name = c.TABLE_NAME order by c.ORDINAL_POSITION
select name from sys.objects where name = 'THING'
select name from sysobjects where name = 'Thing'
GO
-- Those of the instance do not tell upper from lower case here.
select name from sys.databases where name = 'CASED'
select count(*) as settings from sys.configurations where name = 'MAX degree OF parallelism'
GO
select d.name from sys.databases d join mine m on m.name = d.name
GO
-- Words of the system do not, either, whatever is beside them.
select name from sys.tables where type_desc = 'user_TABLE' and type = 'u' and name = 'mine'
GO
select t.name from sys.tables t join mine m on m.words = t.type_desc
GO
select distinct t.name from sys.tables t join mine m on m.words = t.type_desc collate database_default
GO
-- A temporary table has the collation of tempdb, those of a contained database and variables that of the database.
create table #t (name sysname)
select c.collation_name from tempdb.sys.columns c where c.object_id = object_id('tempdb..#t')
declare @t table (name sysname)
insert @t values ('Thing')
select t.name from @t t join mine m on m.name = t.name
GO
select count(*) from #t t join mine m on m.name = t.name
GO
drop table #t
exec sp_configure 'contained database authentication', 1
reconfigure
GO
alter database cased set containment = partial
GO
create table #t (name sysname)
insert #t values ('Thing')
select t.name from #t t join mine m on m.name = t.name
drop table #t
GO
use master
drop database cased
exec sp_configure 'contained database authentication', 0
reconfigure
GO
-- Tables of msdb that the server fills are objects like others.
select name, schema_name(schema_id) as of_schema, type, is_ms_shipped from msdb.sys.tables where name like 'restore%' order by name
select object_id('msdb.dbo.backupset', 'U') - object_id('msdb..backupset') as same, object_id('backupset') as elsewhere, object_id('msdb.dbo.nothing') as nothing
select object_name(object_id('msdb.dbo.restorehistory'), db_id('msdb')) as name
select column_name, data_type from msdb.information_schema.columns where table_name = 'restorefilegroup' order by ordinal_position
select count(*) as columns from msdb.sys.columns where object_id = object_id('msdb.dbo.restorehistory')
select count(*) as indexes from msdb.sys.indexes where object_id = object_id('msdb.dbo.restorehistory')
GO
