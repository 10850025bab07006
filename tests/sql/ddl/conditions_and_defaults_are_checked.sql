-- A CHECK that no row could be asked, and a DEFAULT that no row could get, are refused when they are declared.
CREATE TABLE no_column (a int, CHECK (nosuch > 1));
GO
CREATE TABLE clash (a int, b date, CHECK (b > a));
GO
CREATE TABLE clash_of_column (a int CHECK (a > CAST('<a/>' AS xml)));
GO
CREATE TABLE no_function (a int CHECK (dbo.nosuch(a) > 1));
GO
CREATE TABLE default_of_column (a int, b int DEFAULT (a));
GO
CREATE TABLE default_of_type (a int, b date DEFAULT 5);
GO
-- What may be right for some value is taken.
CREATE TABLE kept (
    a int CONSTRAINT a_is_short CHECK (a + '1' > 1) DEFAULT 'x',
    b date DEFAULT GETDATE(),
    c AS a * 2,
    d uniqueidentifier DEFAULT NEWSEQUENTIALID(),
    e varbinary(4) DEFAULT 7,
    f sysname DEFAULT SUSER_SNAME(),
    CHECK (c < 100 AND f LIKE '%'));
GO
INSERT kept (a) VALUES (3);
SELECT a, c, e FROM kept;
GO
INSERT kept (a) VALUES (50);
GO
ALTER TABLE kept ADD CONSTRAINT later CHECK (nosuch > 1);
GO
ALTER TABLE kept WITH NOCHECK ADD CONSTRAINT later CHECK (b > a);
GO
ALTER TABLE kept ADD g int, CONSTRAINT of_new CHECK (g > a);
GO
ALTER TABLE kept ADD CONSTRAINT default_later DEFAULT (a) FOR g;
GO
ALTER TABLE kept ADD CONSTRAINT default_later DEFAULT (CAST('<a/>' AS xml)) FOR g;
GO
CREATE SEQUENCE numbers AS int START WITH 5;
CREATE TABLE numbered (n int DEFAULT (NEXT VALUE FOR numbers), m int);
INSERT numbered (m) VALUES (1);
SELECT n FROM numbered;
GO
DECLARE @t TABLE (a int, CHECK (nosuch > 1));
GO
-- No queries in them.
CREATE TABLE asking (a int CHECK (a IN (SELECT 1)));
GO
CREATE TABLE asking (a int, CONSTRAINT there CHECK (a > 1 AND EXISTS (SELECT 1)));
GO
CREATE TABLE asking (a int DEFAULT (SELECT 1));
GO
-- Functions of a table in another database are that database's.
CREATE DATABASE functions_home;
GO
USE functions_home;
GO
CREATE FUNCTION one_more (@a int) RETURNS int AS BEGIN RETURN @a + 1 END
GO
USE master;
GO
CREATE TABLE functions_home.dbo.guarded (a int CHECK (dbo.one_more(a) > 1), b int DEFAULT (dbo.one_more(6)));
INSERT functions_home.dbo.guarded (a) VALUES (5);
SELECT * FROM functions_home.dbo.guarded;
GO
INSERT functions_home.dbo.guarded (a, b) VALUES (0, 1);
GO
-- So it is where rows are asked that are there already: of a new condition, a new column and a temporary table.
ALTER TABLE functions_home.dbo.guarded ADD CONSTRAINT low CHECK (dbo.one_more(b) < 3);
GO
ALTER TABLE functions_home.dbo.guarded ADD CONSTRAINT high CHECK (dbo.one_more(b) < 100), c int DEFAULT (dbo.one_more(1)) WITH VALUES, d AS dbo.one_more(b);
ALTER TABLE functions_home.dbo.guarded WITH CHECK CHECK CONSTRAINT ALL;
SELECT * FROM functions_home.dbo.guarded;
GO
USE functions_home;
CREATE TABLE #t (a int);
INSERT #t VALUES (5);
ALTER TABLE #t ADD CONSTRAINT low CHECK (dbo.one_more(a) < 3);
GO
ALTER TABLE #t ADD CONSTRAINT high CHECK (dbo.one_more(a) < 100);
DROP TABLE #t;
USE master;
GO
DROP DATABASE functions_home;
