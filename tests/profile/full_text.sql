-- Full-text search over 100,000 rows of 50 words, 30,000 different ones, some frequent and most rare: how long it takes to index them, how large
-- the index is, and how long searches take beside LIKE. Run with keel sql -i; it drops its database in the end.
CREATE DATABASE corpus;
GO
USE corpus;
SET NOCOUNT ON;
CREATE TABLE dbo.doc (id int NOT NULL CONSTRAINT pk_doc PRIMARY KEY, t nvarchar(max) NOT NULL);
INSERT dbo.doc
SELECT d.value, STRING_AGG(CONVERT(nvarchar(max), CONCAT('w', CONVERT(int, POWER(30000e0,
    CONVERT(bigint, CONVERT(binary(4), HASHBYTES('MD5', CONCAT(d.value, ' ', w.value)))) / 4294967296e0)), 'x')), N' ')
FROM GENERATE_SERIES(1, 100000) d CROSS JOIN GENERATE_SERIES(1, 50) w GROUP BY d.value;
SELECT COUNT(*) AS texts, SUM(CONVERT(bigint, LEN(t))) / 1000000 AS million_characters FROM dbo.doc;
GO
DECLARE @begun datetime2 = SYSUTCDATETIME();
CREATE FULLTEXT CATALOG c AS DEFAULT;
CREATE FULLTEXT INDEX ON dbo.doc (t LANGUAGE 1033) KEY INDEX pk_doc;
WHILE FULLTEXTCATALOGPROPERTY('c', 'PopulateStatus') <> 0 WAITFOR DELAY '00:00:00.050';
SELECT DATEDIFF(ms, @begun, SYSUTCDATETIME()) AS populated_ms, FULLTEXTCATALOGPROPERTY('c', 'IndexSize') AS index_mb, FULLTEXTCATALOGPROPERTY('c', 'UniqueKeyCount') AS words;
GO
CREATE TABLE #searched (what varchar(60), found int, microseconds bigint);
DECLARE @n int = 1, @begun datetime2, @found int, @what varchar(60), @search nvarchar(200), @like nvarchar(200);
DECLARE searches CURSOR LOCAL FOR SELECT * FROM (VALUES
    ('frequent word', N'w3x', N'%w3x%'), ('rare word', N'w20000x', N'%w20000x%'), ('phrase', N'"w2x w3x"', N'%w2x w3x%'),
    ('both of two', N'w3x AND w200x', NULL), ('prefix', N'"w2000*"', N'%w2000%'), ('near', N'NEAR((w3x, w40x), 3)', NULL)) s(what, search, like_);
OPEN searches;
FETCH searches INTO @what, @search, @like;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @n = 1;
    WHILE @n <= 5
    BEGIN
        SET @begun = SYSUTCDATETIME();
        SELECT @found = COUNT(*) FROM dbo.doc WHERE CONTAINS(t, @search);
        INSERT #searched VALUES (@what, @found, DATEDIFF_BIG(mcs, @begun, SYSUTCDATETIME()));
        IF @like IS NOT NULL
        BEGIN
            SET @begun = SYSUTCDATETIME();
            SELECT @found = COUNT(*) FROM dbo.doc WHERE t LIKE @like;
            INSERT #searched VALUES (@what + ', LIKE', @found, DATEDIFF_BIG(mcs, @begun, SYSUTCDATETIME()));
        END
        SET @n += 1;
    END
    FETCH searches INTO @what, @search, @like;
END
SELECT what, MIN(found) AS found, MIN(microseconds) AS microseconds FROM #searched GROUP BY what ORDER BY what;
GO
DECLARE @begun datetime2 = SYSUTCDATETIME();
UPDATE dbo.doc SET t += N' later' WHERE id % 100 = 0;
WHILE FULLTEXTCATALOGPROPERTY('c', 'PopulateStatus') <> 0 WAITFOR DELAY '00:00:00.005';
SELECT DATEDIFF(ms, @begun, SYSUTCDATETIME()) AS changed_and_followed_ms, (SELECT COUNT(*) FROM dbo.doc WHERE CONTAINS(t, N'later')) AS found;
GO
USE master;
DROP DATABASE corpus;
GO
