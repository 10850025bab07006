-- Change data capture: jobs, and the clean-up of what is old.
create database shop
GO
use shop
exec sys.sp_cdc_enable_db
create table dbo.item (id int not null primary key)
GO
exec sys.sp_cdc_change_job N'cleanup', @retention = 1
GO
exec sys.sp_cdc_add_job N'capture', @maxtrans = 100, @start_job = 0
GO
exec sys.sp_cdc_add_job @job_type = N'cleanup'
GO
select job_type, maxtrans, maxscans, continuous, pollinginterval, retention, threshold from msdb.dbo.cdc_jobs where database_id = db_id() order by job_type
GO
exec sys.sp_cdc_stop_job N'capture'
GO
exec sys.sp_cdc_start_job
exec sys.sp_cdc_change_job @job_type = N'capture', @maxtrans = 2, @maxscans = 3, @continuous = 1, @pollinginterval = 0
exec sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 100, @threshold = 2
create table #jobs (job_id uniqueidentifier, job_type nvarchar(20), job_name sysname, maxtrans int, maxscans int, continuous bit, pollinginterval bigint, retention bigint, threshold bigint)
insert #jobs exec sys.sp_cdc_help_jobs
select job_type, job_name, maxtrans, maxscans, continuous, pollinginterval, retention, threshold from #jobs
GO
exec sys.sp_cdc_change_job N'other'
GO
exec sys.sp_cdc_change_job N'capture', @maxtrans = 0
GO
exec sys.sp_cdc_change_job N'capture', @maxscans = 0
GO
exec sys.sp_cdc_change_job N'capture', @pollinginterval = 86400
GO
exec sys.sp_cdc_change_job N'capture', @retention = 5
GO
exec sys.sp_cdc_change_job N'cleanup', @maxtrans = 5
GO
exec sys.sp_cdc_change_job N'cleanup', @retention = 0
GO
exec sys.sp_cdc_change_job N'cleanup', @threshold = 0
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null
GO
insert dbo.item values (1)
insert dbo.item values (2)
insert dbo.item values (3)
insert dbo.item values (4)
-- Two transactions at once, three times at most.
exec sys.sp_cdc_scan @maxtrans = 1, @maxscans = 3
select count(*) as told from cdc.dbo_item_CT
exec sys.sp_cdc_scan
select count(*) as told from cdc.dbo_item_CT
GO
exec sys.sp_cdc_scan @maxtrans = 0
GO
begin transaction
exec sys.sp_cdc_scan
rollback
GO
-- Clean-up by hand.
declare @third binary(10) = (select __$start_lsn from cdc.dbo_item_CT where id = 3), @failed bit
exec sys.sp_cdc_cleanup_change_table N'dbo_item', @third, 2, @failed output
select @failed as failed
select id from cdc.dbo_item_CT order by id
select case when sys.fn_cdc_get_min_lsn(N'dbo_item') = @third then 'third' end as least, count(*) as transactions from cdc.lsn_time_mapping
select count(*) as all_ from cdc.fn_cdc_get_all_changes_dbo_item(@third, sys.fn_cdc_get_max_lsn(), N'all')
GO
select count(*) from cdc.fn_cdc_get_all_changes_dbo_item(sys.fn_cdc_decrement_lsn(sys.fn_cdc_get_min_lsn(N'dbo_item')), sys.fn_cdc_get_max_lsn(), N'all')
GO
exec sys.sp_cdc_cleanup_change_table N'nothing', null
GO
begin try
    exec sys.sp_cdc_cleanup_change_table N'dbo_item', 0x00000000000000000001
end try
begin catch
    select error_number() as number, left(error_message(), 137) as message
end catch
GO
-- The job: changes of the last hundred minutes stay.
exec sys.sp_cdc_start_job N'cleanup'
select count(*) as kept from cdc.dbo_item_CT
update cdc.lsn_time_mapping set tran_end_time = dateadd(minute, -200, getdate()) where start_lsn < (select max(start_lsn) from cdc.lsn_time_mapping)
exec sys.sp_cdc_start_job N'cleanup'
select id from cdc.dbo_item_CT order by id
GO
exec sys.sp_cdc_drop_job N'capture'
exec sys.sp_cdc_drop_job N'cleanup'
exec sys.sp_cdc_help_jobs
GO
