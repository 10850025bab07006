-- How well the instance is: one row a component, the groups last.
create table #rows (at datetime, kind sysname, name sysname, state int, word sysname, data varchar(max))
insert #rows exec sp_server_diagnostics
select kind, name, state, word, data from #rows
GO
-- Again and again: every five seconds at most.
exec sys.sp_server_diagnostics @repeat_interval = 4
GO
create login watcher with password = 'Keel-Test-1'
execute as login = 'watcher'
exec sys.sp_server_diagnostics
revert
GO
