-- dbas may everything; readers read shop, and not its secrets; interns are kept out; island lets in whoever is of the domain.
CREATE DATABASE shop;
GO
CREATE LOGIN [KEELAD\bob] FROM WINDOWS;
CREATE LOGIN [KEELAD\dbas] FROM WINDOWS;
CREATE LOGIN [KEELAD\readers] FROM WINDOWS WITH DEFAULT_DATABASE = shop;
CREATE LOGIN [KEELAD\interns] FROM WINDOWS;
ALTER SERVER ROLE sysadmin ADD MEMBER [KEELAD\dbas];
DENY CONNECT SQL TO [KEELAD\interns];
EXEC sp_configure 'contained database authentication', 1;
RECONFIGURE;
GO
CREATE DATABASE island CONTAINMENT = PARTIAL;
GO
USE island;
GO
CREATE USER [KEELAD\Domain Users];
GO
USE shop;
GO
CREATE TABLE orders (amount int);
INSERT orders VALUES (42);
CREATE TABLE secrets (amount int);
CREATE USER [KEELAD\bob];
CREATE USER [KEELAD\readers];
GRANT SELECT TO [KEELAD\readers];
DENY SELECT ON secrets TO [KEELAD\readers];
GO
