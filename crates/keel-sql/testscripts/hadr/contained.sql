-- Contained availability groups: what is refused, what is made, and what is left of them.
create database shop
GO
create database ag_master
GO
create availability group ag with (reuse_system_databases) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag with (contained, reuse_system_databases, autoseeding_system_databases) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag with (contained, basic) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
-- The names are taken, by a database that is no system database.
create availability group ag with (contained) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag with (contained, reuse_system_databases) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for database ag_master replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
drop database ag_master
GO
-- What could not become a group leaves nothing.
create availability group ag with (contained) for database nowhere replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
select name from sys.databases where name like 'ag[_]%'
GO
create login boss with password = 'Boss-Pass-1'
alter server role sysadmin add member boss
create login clerk with password = 'Clerk-Pass-1'
GO
create availability group ag with (contained) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
select name, is_contained from sys.availability_groups
select database_name from sys.availability_databases_cluster order by database_name
GO
-- Its jobs' tables are there.
select count(*) from ag_msdb.dbo.sysjobs
GO
alter availability group ag remove database ag_msdb
GO
drop database ag_master
GO
alter database ag_msdb set recovery simple
GO
create database ag_other
GO
alter availability group ag add database ag_other
GO
drop availability group ag
GO
-- They stay, and are used again.
select name from sys.databases where name like 'ag[_]%' order by name
GO
create availability group ag with (contained) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag with (contained, reuse_system_databases) for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
select name, is_contained from sys.availability_groups
GO
drop availability group ag
drop database ag_master, ag_msdb, ag_other, shop
drop login boss
drop login clerk
