-- Many commits in a batch, beside one: docs/benchmarks.md.
IF DB_ID('commits') IS NULL CREATE DATABASE commits
GO
USE commits
DROP TABLE IF EXISTS t
CREATE TABLE t (a int NOT NULL PRIMARY KEY, b varchar(100))
GO
SET NOCOUNT ON
DECLARE @i int = 0, @began datetime2 = SYSDATETIME(), @each int
WHILE @i < 50000
BEGIN
  INSERT t VALUES (@i, 'a row of no importance')
  SET @i += 1
END
SET @each = DATEDIFF(millisecond, @began, SYSDATETIME())
SET @began = SYSDATETIME()
BEGIN TRANSACTION
WHILE @i < 100000
BEGIN
  INSERT t VALUES (@i, 'a row of no importance')
  SET @i += 1
END
COMMIT
SELECT @each AS [ms for 50,000 commits], DATEDIFF(millisecond, @began, SYSDATETIME()) AS [ms for the same in one]
GO
