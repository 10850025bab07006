-- Who sees which logins: everybody his own and sa, and the fixed roles; all of them takes a permission.
create login alice with password = 'Alice-Keel-1'
create login bob with password = 'Bob-Keel-1234'
grant view server state to bob
alter server role dbcreator add member bob
GO
execute as login = 'alice'
select name from sys.server_principals where type = 'S' order by name
select count(*) as roles from sys.server_principals where type = 'R' and name in ('public', 'sysadmin', 'dbcreator')
select name from sys.sql_logins order by name
select name from sys.syslogins order by name
select count(*) as n from sys.server_permissions p join sys.server_principals l on l.principal_id = p.grantee_principal_id where l.name = 'bob'
select count(*) as n from sys.server_role_members m join sys.server_principals r on r.principal_id = m.role_principal_id where r.name = 'dbcreator'
revert
GO
grant view any definition to alice
GO
execute as login = 'alice'
select name from sys.server_principals where type = 'S' order by name
select name from sys.sql_logins order by name
select count(*) as n from sys.server_role_members m join sys.server_principals r on r.principal_id = m.role_principal_id where r.name = 'dbcreator'
revert
GO
revoke view any definition from alice
alter server role securityadmin add member alice
GO
execute as login = 'alice'
select name from sys.sql_logins order by name
revert
GO
select name from sys.sql_logins order by name
drop login alice
drop login bob
GO
