-- Every system view can be read; what fails is printed.
create database shop
GO
use shop
GO
create table t (id int primary key, name varchar(10) default 'x')
GO
create procedure p @a int as select @a as a
GO
create view v as select id from t
GO
declare @name nvarchar(300), @sql nvarchar(400)
declare every_view cursor local static for select schema_name(schema_id) + '.' + quotename(name) from sys.system_objects where type in ('V', 'IF')
open every_view
fetch next from every_view into @name
while @@fetch_status = 0
begin
    set @sql = 'declare @n int; select @n = count(*) from ' + @name
    begin try
        exec (@sql)
    end try
    begin catch
        print @name + ': ' + error_message()
    end catch
    fetch next from every_view into @name
end
GO
select count(*) as n from msdb..backupset
select count(*) as n from msdb.dbo.backupmediafamily
GO
if not exists (select * from sys.availability_groups) print 'none'
if not exists (select * from sys.dm_hadr_database_replica_states) print 'none'
GO
select text from sys.dm_exec_requests r cross apply sys.dm_exec_sql_text(r.sql_handle) where r.session_id = @@spid
select event_info from sys.dm_exec_input_buffer(@@spid, null)
select command, status from sys.dm_exec_requests where session_id = @@spid
GO
select object_name(object_id) as t, index_id, row_count from sys.dm_db_partition_stats where object_id = object_id('t')
select index_type_desc from sys.dm_db_index_physical_stats(db_id(), object_id('t'), null, null, null)
select text from sys.messages where message_id = 1205
GO
select count(*) as nameless from sys.system_objects where schema_name(schema_id) is null
select case when count(*) > 150 then 'many' else 'few' end as views from sys.system_objects
GO
-- Sums over all partitions are numbers in a database without tables as well.
create database bare
GO
use bare
select case when sum(a.total_pages) >= 0 and sum(a.used_pages) >= 0 and sum(a.data_pages) >= 0 then 'counted' end as pages from sys.partitions p join sys.allocation_units a on p.partition_id = a.container_id left join sys.internal_tables it on p.object_id = it.object_id
select case when sum(used_page_count) >= 0 then 'counted' end as pages, min(object_id) as object_id from sys.dm_db_partition_stats
create table t (a int primary key)
select p.object_id, p.index_id, p.rows from sys.partitions p where p.object_id < 100
select t.name, p.index_id from sys.tables t join sys.partitions p on p.object_id = t.object_id
GO
use master
drop database bare
GO
