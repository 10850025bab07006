-- Bits of integers and binary strings; shifts fill with zeros, whatever the sign.
SELECT BIT_COUNT(0xabcdef) AS b, BIT_COUNT(17) AS i, BIT_COUNT(CAST(-1 AS smallint)) AS s, BIT_COUNT(NULL) AS n;
SELECT GET_BIT(0xabcdef, 2) AS second, GET_BIT(0xabcdef, 4) AS fourth, GET_BIT(5, 31) AS highest;
SELECT SET_BIT(0x00, 3) AS b, SET_BIT(0xff, 0, 0) AS cleared, SET_BIT(CAST(0 AS tinyint), 7) AS t, SET_BIT(0, 31) AS sign;
SELECT LEFT_SHIFT(12345, 5) AS l, RIGHT_SHIFT(12345, 5) AS r, LEFT_SHIFT(12345, -5) AS back, LEFT_SHIFT(1, 32) AS gone, RIGHT_SHIFT(-1, 28) AS logical;
SELECT LEFT_SHIFT(0x0f00, 4) AS l, RIGHT_SHIFT(0x0ff0, 8) AS r, LEFT_SHIFT(0x01, 9) AS gone, 1 << 4 AS a, 256 >> 4 AS b;
GO
SELECT BIT_COUNT('x');
GO
-- gzip, there and back.
SELECT CAST(DECOMPRESS(COMPRESS('the quick brown fox')) AS varchar(max)) AS text, CAST(DECOMPRESS(COMPRESS(N'日本')) AS nvarchar(max)) AS wide, COMPRESS(CAST(NULL AS varchar(10))) AS n;
SELECT LEFT(CONVERT(varchar(100), COMPRESS('x'), 2), 6) AS magic, DATALENGTH(COMPRESS(REPLICATE(CAST('a' AS varchar(max)), 100000))) / 1000 AS thousands;
SELECT DECOMPRESS(0x0102);
GO
SELECT COMPRESS(1);
GO
-- The Hijri calendar, both ways.
SELECT CONVERT(varchar(30), CAST('2000-08-07 12:14:35.727' AS datetime), 131) AS d, CONVERT(nvarchar(40), CAST('2006-12-30' AS date), 130) AS named;
SELECT CONVERT(datetime, ' 7/05/1421 12:14:35:727PM', 131) AS back, CONVERT(date, '10/12/1427', 131) AS day;
GO
-- Texts as cultures write them.
SELECT PARSE('1.234,56' AS decimal(10, 2) USING 'de-DE') AS n, PARSE('Monday, 13 December 2010' AS datetime2 USING 'en-US') AS d, PARSE('-345,98 €' AS money USING 'de-DE') AS m;
SELECT TRY_PARSE('x' AS int) AS x, TRY_PARSE('13/12/2010' AS date USING 'en-GB') AS gb, TRY_PARSE('13/12/2010' AS date USING 'en-US') AS us, PARSE('14 juillet 2020' AS date USING 'fr-FR') AS fr;
GO
SELECT PARSE('x' AS int USING 'en-US');
GO
SELECT PARSE('1' AS int USING 'xx-YY');
GO
-- Checksums over all columns.
CREATE TABLE sums (a int, b varchar(10), c datetime);
INSERT sums VALUES (1, 'x', '2020-01-01'), (1, 'X', '2020-01-01'), (2, 'x', '2020-01-01');
SELECT COUNT(DISTINCT CHECKSUM(*)) AS folded, COUNT(DISTINCT BINARY_CHECKSUM(*)) AS exact, CASE WHEN CHECKSUM_AGG(CHECKSUM(*)) IS NULL THEN 'null' ELSE 'number' END AS agg FROM sums;
SELECT CASE WHEN CHECKSUM(*) = CHECKSUM(a, b, c) THEN 'same' END AS c FROM sums WHERE a = 2;
GO
SELECT LEN(*) FROM sums;
GO
-- JSON made and asked.
SELECT JSON_OBJECT('a': 1, 'b': 'x"y', 'c': NULL) AS o, JSON_OBJECT('a': 1, 'c': NULL ABSENT ON NULL) AS absent, JSON_OBJECT() AS e;
SELECT JSON_ARRAY(1, 'two', NULL, 2.5) AS a, JSON_ARRAY(1, NULL NULL ON NULL) AS n, JSON_ARRAY(JSON_OBJECT('k': JSON_ARRAY(1, 2))) AS nested;
SELECT JSON_PATH_EXISTS('{"a":{"b":1}}', '$.a.b') AS y, JSON_PATH_EXISTS('{"a":1}', '$.c') AS n, JSON_VALUE('{"a":{"b":[1,"x"]}}', '$.a.b[1]') AS v, JSON_QUERY('{"z":1, "a":{"b" : [1, 2]}}', '$.a') AS kept;
SELECT JSON_VALUE('{"a":1}', 'strict $.b');
GO
SELECT JSON_VALUE('not json', '$.a');
GO
-- Percentiles of groups, in one pass.
CREATE TABLE marks (class int, mark int);
INSERT marks VALUES (1, 10), (1, 20), (1, 40), (2, 7), (2, NULL);
SELECT class, APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY mark) AS c, APPROX_PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY mark DESC) AS d, APPROX_COUNT_DISTINCT(mark) AS n FROM marks GROUP BY class ORDER BY class;
GO
SELECT COUNT(DISTINCT mark) OVER (PARTITION BY class) FROM marks;
GO
-- Series and splits.
SELECT value FROM GENERATE_SERIES(0.0, 1.0, 0.25);
SELECT * FROM STRING_SPLIT('a,b', ',', 1);
SELECT * FROM STRING_SPLIT('a,b', ',', 0);
GO
SELECT GREATEST(1, 5, 3) AS g, LEAST('b', 'a') AS l, TRANSLATE('2*[3+4]', '[]', '()') AS t, DATETRUNC(month, CAST('2021-05-17' AS date)) AS d;
SELECT SUM(mark) OVER w AS s, ROW_NUMBER() OVER w AS n FROM marks WHERE mark IS NOT DISTINCT FROM 7 OR class = 1 WINDOW w AS (ORDER BY mark);
GO
declare @i int = 6
select cast(5 as tinyint) & '' as a, 0 | '12' as b, @i & '5' as c, '3' ^ @i as d
GO
select 1 & 'x'
GO
