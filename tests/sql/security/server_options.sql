-- Options of sp_configure that act.
exec sp_configure 'show advanced options', 1
reconfigure
GO
select committed_target_kb as kb from sys.dm_os_sys_info
exec sp_configure 'max server memory (MB)', 20
GO
-- The instance of these scripts was started with 64 MB: less than what may be configured, so nothing more comes of it.
exec sp_configure 'max server memory', 256
reconfigure
select committed_target_kb as kb from sys.dm_os_sys_info
GO
exec sp_configure 'min server memory', 512
reconfigure
GO
exec sp_configure 'min server memory', 0
exec sp_configure 'max server memory', 2147483647
reconfigure with override
GO
create table t (id int)
GO
create trigger tr on t after insert as select count(*) as n from inserted
GO
insert t values (1)
exec sp_configure 'disallow results from triggers', 1
reconfigure
insert t values (2)
GO
select count(*) as rows_there from t
exec sp_configure 'disallow results from triggers', 0
reconfigure
insert t values (3)
GO
exec sp_configure 'default language', 1
reconfigure
create login german with password = 'A-password-1'
select default_language_name from sys.sql_logins where name = 'german'
exec sp_configure 'default language', 0
reconfigure
drop login german
GO
