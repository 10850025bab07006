-- Server roles of one's own: members, permissions, names.
create login watcher with password = 'Watcher-Keel-1'
create login other with password = 'Other-Keel-123'
create server role monitoring
create server role monitoring
create server role watcher
create server role sysadmin
create login monitoring with password = 'Monitoring-1'
create server role staff authorization sa
GO
grant view server state, view any definition to monitoring
alter server role monitoring add member watcher
select name, type, type_desc, is_fixed_role, is_disabled from sys.server_principals where name in ('monitoring', 'staff', 'watcher') order by name
select r.name as role, m.name as member from sys.server_role_members x join sys.server_principals r on r.principal_id = x.role_principal_id
join sys.server_principals m on m.principal_id = x.member_principal_id where r.is_fixed_role = 0
select p.name, q.permission_name, q.state_desc from sys.server_permissions q join sys.server_principals p on p.principal_id = q.grantee_principal_id where p.type = 'R'
select count(*) as logins from sys.sql_logins where name = 'monitoring'
select count(*) as logins from sys.syslogins where name = 'monitoring'
select is_srvrolemember('monitoring', 'watcher') as watcher, is_srvrolemember('monitoring', 'other') as other, is_srvrolemember('monitoring') as sa, is_srvrolemember('none') as none
GO
execute as login = 'watcher'
select iif(count(*) > 0, 'seen', 'not') as waits from sys.dm_os_wait_stats
select is_srvrolemember('monitoring') as inside
alter server role monitoring add member other
create server role mine
grant view server state to other
revert
execute as login = 'other'
select count(*) from sys.dm_os_wait_stats
revert
GO
-- Roles in roles, and none in itself.
alter server role monitoring add member staff
alter server role staff add member other
alter server role staff add member monitoring
alter server role staff add member staff
alter server role sysadmin add member staff
select is_srvrolemember('monitoring', 'other') as other
execute as login = 'other'
select iif(count(*) > 0, 'seen', 'not') as waits from sys.dm_os_wait_stats
revert
-- What is denied to a role is denied to who is in it.
deny view server state to staff
execute as login = 'other'
select count(*) from sys.dm_os_wait_stats
revert
revoke view server state from staff
GO
-- Fixed roles for them.
alter server role dbcreator add member staff
execute as login = 'other'
create database made
revert
select count(*) as n from sys.databases where name = 'made'
GO
-- Names, and who may.
alter server role monitoring with name = watching
alter server role watching with name = staff
select is_srvrolemember('watching', 'watcher') as watcher, is_srvrolemember('monitoring', 'watcher') as by_the_old_name
grant alter any server role to watcher
execute as login = 'watcher'
create server role theirs
alter server role theirs add member other
alter server role dbcreator add member watcher
revert
GO
drop server role watching
alter server role watching drop member watcher
alter server role watching drop member staff
drop server role watching
drop server role watching
drop server role if exists watching
drop server role dbcreator
create user monitoring for login theirs
execute as login = 'theirs'
GO
