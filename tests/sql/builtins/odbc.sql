-- Functions of ODBC's grammar, which exist inside {fn } only.
SELECT {fn UCASE('a')} AS u, {fn LCASE('A')} AS l, {fn LENGTH('abc ')} AS n, {fn LOCATE('b', 'abc')} AS at, {fn POSITION('c' IN 'abc')} AS p, {fn REPEAT('x', 3)} AS r, {fn INSERT('abcd', 2, 2, 'x')} AS i;
SELECT {fn BIT_LENGTH(N'ab')} AS bits, {fn OCTET_LENGTH(N'ab')} AS bytes, {fn TRUNCATE(1.789, 1)} AS t, {fn MOD(7, 4)} AS m, {fn IFNULL(NULL, 5)} AS n, {fn CONVERT('12', SQL_INTEGER)} + 1 AS c;
DECLARE @d datetime = '2026-05-13 14:15:16';
SELECT {fn DAYNAME(@d)} AS dn, {fn MONTHNAME(@d)} AS mn, {fn DAYOFMONTH(@d)} AS dm, {fn DAYOFWEEK(@d)} AS dw, {fn DAYOFYEAR(@d)} AS dy, {fn HOUR(@d)} AS h, {fn MINUTE(@d)} AS mi, {fn SECOND(@d)} AS s, {fn QUARTER(@d)} AS q, {fn WEEK(@d)} AS w;
SELECT {fn EXTRACT(YEAR FROM @d)} AS y, {fn TIMESTAMPADD(SQL_TSI_DAY, 2, @d)} AS later, {fn TIMESTAMPDIFF(SQL_TSI_HOUR, @d, '2026-05-14')} AS hours;
SELECT LEN({fn CURDATE()}) AS cd, LEN({fn CURRENT_DATE()}) AS d, LEN({fn CURTIME()}) AS ct, LEN({fn CURRENT_TIME(6)}) AS t, DATEDIFF(day, {fn NOW()}, GETDATE()) AS n, {fn USER()} AS u;
SELECT CASE WHEN {fn DATABASE()} = DB_NAME() THEN 'same' END AS db;
GO
CREATE VIEW odbc_names AS SELECT {fn EXTRACT(MONTH FROM CAST('20260513' AS date))} AS m, {fn UCASE({fn REPEAT('a', 2)})} AS u;
GO
SELECT * FROM odbc_names;
GO
SELECT UCASE('a');
GO
SELECT {fn TIMESTAMPADD(DAY, 2, GETDATE())};
GO
-- RAND: the numbers that follow a seed, and one for all rows.
SELECT RAND(100) AS a, RAND() AS b, RAND() AS c;
SELECT RAND(1) AS one, RAND(2) AS two, RAND(0) AS zero;
SELECT COUNT(DISTINCT r) AS numbers, COUNT(*) AS rows FROM (SELECT RAND() AS r FROM GENERATE_SERIES(1, 5)) AS x;
SELECT COUNT(DISTINCT r) AS numbers FROM (SELECT RAND(value) AS r FROM GENERATE_SERIES(1, 5)) AS x;
GO
-- Each statement draws anew.
DECLARE @i int = 0, @r float, @numbers TABLE (r float);
WHILE @i < 5
BEGIN
    SET @r = RAND();
    INSERT @numbers VALUES (@r);
    SET @i += 1;
END;
SELECT COUNT(DISTINCT r) AS numbers FROM @numbers;
GO
