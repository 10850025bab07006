-- Accounts of the realm KEEL.TEST: bob has a login, dan is a user of a contained database, eve is nobody.
CREATE DATABASE shop;
GO
CREATE LOGIN [KEEL\bob] FROM WINDOWS WITH DEFAULT_DATABASE = shop;
EXEC sp_configure 'contained database authentication', 1;
RECONFIGURE;
GO
CREATE DATABASE island CONTAINMENT = PARTIAL;
GO
USE island;
GO
CREATE USER [KEEL\dan];
GO
USE shop;
GO
CREATE USER [KEEL\bob];
GRANT VIEW DATABASE STATE TO [KEEL\bob];
GO
USE master;
GO
GRANT VIEW SERVER STATE TO [KEEL\bob];
GO
