-- Users who log in to a database itself.
CREATE DATABASE boxed;
GO
ALTER DATABASE boxed SET CONTAINMENT = PARTIAL;
GO
CREATE DATABASE other CONTAINMENT = PARTIAL;
GO
USE boxed;
CREATE USER visitor WITH PASSWORD = 'Abc12345!';
GO
EXEC sp_configure 'contained database authentication', 1;
RECONFIGURE;
ALTER DATABASE boxed SET CONTAINMENT = PARTIAL;
CREATE DATABASE other CONTAINMENT = PARTIAL;
SELECT name, containment, containment_desc FROM sys.databases WHERE name IN ('boxed', 'other', 'master') ORDER BY name;
GO
ALTER DATABASE boxed SET CONTAINMENT = WHOLE;
GO
USE boxed;
CREATE USER visitor WITH PASSWORD = 'Abc12345!', DEFAULT_SCHEMA = dbo;
CREATE USER known WITH PASSWORD = 'Abc12345!', SID = 0x0102030405060708090A0B0C0D0E0F10;
CREATE LOGIN outer_login WITH PASSWORD = 'Abc12345!';
CREATE USER outer_login;
CREATE USER nobody WITHOUT LOGIN;
SELECT name, authentication_type, authentication_type_desc, CASE name WHEN 'known' THEN sid END AS sid FROM sys.database_principals
WHERE name IN ('visitor', 'known', 'outer_login', 'nobody') ORDER BY name;
GO
CREATE USER again WITH PASSWORD = 'Abc12345!', SID = 0x0102;
GO
ALTER USER outer_login WITH PASSWORD = 'Xyz12345!';
GO
ALTER USER visitor WITH PASSWORD = 'Xyz12345!' OLD_PASSWORD = 'wrong';
GO
ALTER USER visitor WITH PASSWORD = 'Xyz12345!' OLD_PASSWORD = 'Abc12345!';
ALTER USER visitor WITH PASSWORD = 'Abc12345!', DEFAULT_SCHEMA = dbo;
GO
ALTER DATABASE boxed SET CONTAINMENT = NONE;
GO
-- Who is a user of a database only is nobody on the server, whatever the name.
CREATE USER sa WITH PASSWORD = 'Abc12345!';
EXECUTE AS USER = 'sa';
SELECT SUSER_NAME() AS login, USER_NAME() AS [user], SUSER_ID() AS id, IS_SRVROLEMEMBER('sysadmin') AS admin, HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') AS sees;
ALTER SERVER ROLE dbcreator ADD MEMBER outer_login;
GO
USE master;
GO
REVERT;
EXECUTE AS USER = 'visitor';
ALTER USER visitor WITH PASSWORD = 'Own12345!' OLD_PASSWORD = 'Abc12345!';
GO
ALTER USER visitor WITH PASSWORD = 'Own12345!';
GO
ALTER USER known WITH PASSWORD = 'Own12345!' OLD_PASSWORD = 'Abc12345!';
GO
REVERT;
EXEC sp_migrate_user_to_contained N'outer_login', N'copy_login_name', N'disable_login';
SELECT u.authentication_type_desc, l.is_disabled, IIF(l.sid = u.sid, 1, 0) AS same FROM sys.database_principals u JOIN sys.server_principals l ON l.name = u.name WHERE u.name = 'outer_login';
GO
EXEC sp_migrate_user_to_contained N'outer_login', N'keep_name', N'do_not_disable_login';
GO
EXEC sp_migrate_user_to_contained N'nobody', N'other_name', N'do_not_disable_login';
GO
DROP USER visitor; DROP USER outer_login; DROP USER known; DROP USER sa;
ALTER DATABASE boxed SET CONTAINMENT = NONE;
USE master;
DROP DATABASE boxed; DROP DATABASE other; DROP LOGIN outer_login;
EXEC sp_configure 'contained database authentication', 0;
RECONFIGURE;
