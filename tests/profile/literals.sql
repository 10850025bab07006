-- Texts that differ in their literals, beside calls with parameters: docs/benchmarks.md.
IF DB_ID('literals') IS NULL CREATE DATABASE literals
GO
USE literals
DROP TABLE IF EXISTS t
CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(40) NOT NULL, n int NOT NULL, price decimal(10, 2) NOT NULL)
INSERT t SELECT value, CONCAT('row ', value), value % 7, value FROM GENERATE_SERIES(1, 20000)
CREATE TABLE result (kind varchar(40) NOT NULL, us int NOT NULL)
CREATE TABLE sink (name varchar(40), n int, price decimal(10, 2))
GO
-- Each of 20,000 texts once; @what is the text, with a number in it.
CREATE OR ALTER PROCEDURE ask @kind varchar(40), @what nvarchar(200), @call nvarchar(200) = NULL AS
BEGIN
  SET NOCOUNT ON
  DECLARE @i int = 1, @text nvarchar(200), @began datetime2 = SYSDATETIME()
  BEGIN TRANSACTION
  WHILE @i <= 20000
  BEGIN
    IF @call IS NULL
    BEGIN
      SET @text = REPLACE(@what, '{}', @i)
      INSERT sink EXEC (@text)
    END
    ELSE INSERT sink EXEC sp_executesql @call, N'@i int', @i
    SET @i += 1
  END
  COMMIT
  INSERT result VALUES (@kind, DATEDIFF(microsecond, @began, SYSDATETIME()) / 20000)
  TRUNCATE TABLE sink
END
GO
EXEC ask 'key, literal', N'SELECT name, n, price FROM t WHERE id = {}'
EXEC ask 'key, parameter', N'', N'SELECT name, n, price FROM t WHERE id = @i'
EXEC ask 'update by key, literals', N'UPDATE t SET price = {}.5, name = ''new {}'' OUTPUT inserted.name, inserted.n, inserted.price WHERE id = {}'
EXEC ask 'key in a list, not parameterized', N'SELECT name, n, price FROM t WHERE id IN ({}, -{})'
GO
SELECT kind, us AS [us each] FROM result
DROP TABLE result, sink
GO
