-- Logins of accounts of a domain: how they are made, shown, changed and used. Nobody can log in as one here: that takes a domain.
CREATE LOGIN [CORP\ann] FROM WINDOWS WITH DEFAULT_DATABASE = tempdb, DEFAULT_LANGUAGE = us_english
CREATE LOGIN [NT AUTHORITY\SYSTEM] FROM WINDOWS
CREATE LOGIN [BUILTIN\Administrators] FROM WINDOWS
GO
SELECT name, type, type_desc, sid, default_database_name FROM sys.server_principals WHERE name LIKE '%\%' ORDER BY name
SELECT name FROM sys.sql_logins WHERE name LIKE '%\%'
SELECT name, hasaccess, denylogin, isntname, isntgroup, isntuser FROM sys.syslogins WHERE name LIKE '%\%' OR name = 'sa' ORDER BY name
SELECT SUSER_SNAME(SUSER_SID('corp\ANN'))
GO
-- What is none
CREATE LOGIN ann2 FROM WINDOWS
GO
CREATE LOGIN [CORP\] FROM WINDOWS
GO
CREATE LOGIN [A\b\c] FROM WINDOWS
GO
CREATE LOGIN [corp\Ann] FROM WINDOWS
GO
CREATE LOGIN [CORP\eve] WITH PASSWORD = 'Passw0rd.1'
GO
-- It has no password, and is not given to another account
ALTER LOGIN [CORP\ann] WITH PASSWORD = 'Passw0rd.1'
GO
ALTER LOGIN [CORP\ann] WITH NAME = [CORP\anna]
GO
ALTER LOGIN [CORP\ann] WITH NAME = [CORP\Ann], DEFAULT_DATABASE = master
GO
CREATE LOGIN plain WITH PASSWORD = 'Passw0rd.1'
ALTER LOGIN plain WITH NAME = [CORP\plain]
GO
-- Users: of a login, and of an account without one
CREATE USER [CORP\ann]
CREATE USER [CORP\dan]
CREATE USER eve FOR LOGIN [CORP\eve]
GO
CREATE USER plain
GO
SELECT name, type, type_desc, authentication_type_desc FROM sys.database_principals WHERE name LIKE '%\%' OR name = 'plain' ORDER BY name
SELECT name, isntname, isntgroup, isntuser, issqluser FROM sys.sysusers WHERE name LIKE '%\%' OR name = 'plain' ORDER BY name
GO
CREATE USER again FOR LOGIN [CORP\ann]
GO
ALTER USER plain WITH LOGIN = [CORP\ann]
GO
ALTER USER [CORP\dan] WITH LOGIN = plain
GO
-- A login that comes later is the user's
CREATE LOGIN [CORP\dan] FROM WINDOWS
GO
EXECUTE AS LOGIN = 'CORP\dan'
SELECT SUSER_SNAME(), USER_NAME(), IIF(SUSER_SID() = SUSER_SID('CORP\dan'), 1, 0)
REVERT
GO
ALTER SERVER ROLE sysadmin ADD MEMBER [CORP\ann]
SELECT IS_SRVROLEMEMBER('sysadmin', 'CORP\ann')
GO
-- The old procedures
EXEC sp_grantlogin 'CORP\old'
EXEC sp_denylogin 'CORP\old'
SELECT name, hasaccess, denylogin FROM sys.syslogins WHERE name = 'CORP\old'
EXEC sp_grantlogin 'CORP\old'
SELECT name, hasaccess, denylogin FROM sys.syslogins WHERE name = 'CORP\old'
EXEC xp_logininfo
EXEC sp_helplogins 'CORP\ann'
EXEC sp_helpuser 'CORP\ann'
EXEC xp_logininfo 'CORP\ann'
DECLARE @p varchar(10)
EXEC xp_logininfo 'CORP\ann', 'all', @p OUTPUT
SELECT @p
EXEC xp_logininfo 'CORP\nobody', 'all', @p OUTPUT
SELECT @p
EXEC sp_revokelogin 'CORP\old'
SELECT name FROM sys.syslogins WHERE name = 'CORP\old'
GO
EXEC sp_revokelogin 'CORP\old'
GO
EXEC sp_grantlogin 'old'
GO
EXEC xp_logininfo 'ann'
GO
EXEC xp_logininfo 'CORP\ann', 'some'
GO
DROP USER [CORP\ann]
DROP USER [CORP\dan]
DROP USER plain
DROP LOGIN [CORP\ann]
DROP LOGIN [CORP\dan]
DROP LOGIN [NT AUTHORITY\SYSTEM]
DROP LOGIN [BUILTIN\Administrators]
DROP LOGIN plain
GO
