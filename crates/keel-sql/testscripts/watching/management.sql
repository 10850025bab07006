-- What management tools ask: files and drives, the registry, the error log, the agent, policies, modules of the system.
select count(*) as drives from sys.dm_os_enumerate_fixed_drives where free_space_in_bytes < 0
select file_exists, file_is_a_directory, parent_directory_exists from sys.dm_os_file_exists('/etc')
select file_exists, file_is_a_directory, parent_directory_exists from sys.dm_os_file_exists('/etc/passwd/nothing')
select left(file_or_directory_name, 10) as name, is_directory, level from sys.dm_os_enumerate_filesystem('/', 'et?')
set nocount on
create table #found (name nvarchar(512), depth int, isfile int)
insert #found exec master.dbo.xp_dirtree '/etc', 1, 1
set nocount off
select left(name, 10) as name, depth, isfile from #found where name = 'passwd'
create table #file (a tinyint, b tinyint, c tinyint)
insert #file exec master.dbo.xp_fileexist '/etc/passwd'
select * from #file
go
-- What the registry has, and what it has not.
declare @mode int, @absent nvarchar(100) = 'kept', @path nvarchar(512)
exec master.dbo.xp_instance_regread N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\MSSQLServer', N'LoginMode', @mode output
exec master.sys.xp_instance_regread N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\MSSQLServer', N'Nothing', @absent output,
    @no_output = N'no_output'
exec xp_regread N'HKEY_LOCAL_MACHINE', N'SOFTWARE\Microsoft\MSSQLServer\Setup', N'SQLPath', @path output
select @mode as mode, @absent as absent, case when @path = serverproperty('InstanceDefaultDataPath') then 'data' end as path
exec xp_regread N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\MSSQLServer', N'Nothing'
exec xp_regread N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\SuperSocketNetLib\Tcp', N'Enabled'
declare @name sysname
exec master.dbo.xp_getnetname @name output
select case when @name = serverproperty('MachineName') then 'machine' end as netname
go
-- This server keeps no log: there is none to read.
exec sp_enumerrorlogs
exec xp_readerrorlog 0, 1, N'started'
go
select left(name, 30) as name, convert(int, current_value) as value from msdb.dbo.syspolicy_configuration
select msdb.dbo.fn_syspolicy_is_automation_enabled() as automated
select sid_binary(N'DOMAIN\somebody') as sid
go
select type, count(distinct sign(object_id)) as ids, max(convert(int, is_ms_shipped)) as shipped from sys.system_objects
where name in ('sp_tables', 'xp_msver', 'tables', 'dm_os_file_exists') group by type order by type
select case when definition like 'create procedure sys.sp_tables%' then 'text' end as module
from sys.system_sql_modules where object_id = object_id('sys.sp_tables')
select object_name(object_id('sys.sp_tables')) as name, object_id('sys.sp_tables', 'V') as not_a_view
select count(*) as views_that_are_functions from sys.system_views where name in ('dm_os_file_exists', 'dm_exec_sql_text')
go
-- Table types have an object, with columns and an index.
create type dbo.ids as table (id int not null primary key, twice as id * 2)
go
select left(t.name, 10) as type, left(c.name, 10) as name, c.column_id, columnproperty(t.type_table_object_id, c.name, 'IsComputed') as computed
from sys.table_types t join sys.columns c on c.object_id = t.type_table_object_id order by c.column_id
select i.is_primary_key, ic.column_id from sys.table_types t join sys.indexes i on i.object_id = t.type_table_object_id
    join sys.index_columns ic on ic.object_id = i.object_id and ic.index_id = i.index_id
go
drop type dbo.ids
create sequence dbo.numbers as int start with 5
select start_value, last_used_value, is_ms_shipped from sys.sequences where name = 'numbers'
select next value for dbo.numbers as first
select last_used_value from sys.sequences where name = 'numbers'
drop sequence dbo.numbers
create table dbo.t (a int)
create statistics st on dbo.t (a)
select indexproperty(object_id('dbo.t'), 'st', 'IsStatistics') as is_statistics, objectproperty(object_id('dbo.t'), 'IsQuotedIdentOn') as quoted
drop table dbo.t
select loginproperty('sa', 'DefaultDatabase') as [default], loginproperty('sa', 'IsLocked') as locked, loginproperty('nobody', 'IsLocked') as nobody
select name, collationproperty(name, 'ComparisonStyle') as style from sys.fn_helpcollations() where name like 'SQL_Latin1_General_CP1_C%' or name in ('Latin1_General_BIN2', 'Latin1_General_CI_AI') order by name
go
create table #version (id int, name sysname, internal int, text nvarchar(512))
set nocount on
insert #version exec master.dbo.xp_msver
select case when v.internal = i.cpu_count and v.text = convert(nvarchar(20), i.cpu_count) then 'counted' end as processors
from #version v cross join sys.dm_os_sys_info i where v.name = 'ProcessorCount'
select case when v.internal = i.physical_memory_kb / 1024 then 'counted' end as memory
from #version v cross join sys.dm_os_sys_info i where v.name = 'PhysicalMemory'
go
