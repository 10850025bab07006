SELECT 1, 2147483647, 2147483648, 1.5, .5, 007.250, 1., 1e3, 1E-2, $1,234.5678, -$5, 0x, 0xABC, 'a', N'b', NULL
GO
SELECT a + b * c - d / e % f, -a * b, 6 / -3 * 2, ~a & b | c ^ d, a << 1 >> 2, a || b, (a + b) * c, - -1, +a
GO
SELECT CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END, CASE WHEN a > 1 AND b < 2 THEN 1 ELSE 0 END, IIF(a = 1 OR b = 2, 'y', 'n'), COALESCE(a, b, 1), NULLIF(a, '')
GO
SELECT CAST(a AS decimal(10, 2)), TRY_CAST(a AS int), CONVERT(varchar(max), a, 121), TRY_CONVERT(dbo.MyType, a), PARSE('1' AS money USING 'en-US'), CAST(x AS double precision), CAST(x AS national character varying(10)), CAST(x AS char varying(5))
GO
SELECT GETDATE(), CURRENT_TIMESTAMP, SYSTEM_USER, USER, USER_NAME(), LEFT('abc', 2), DATEADD(day, 1, a), TRIM(BOTH 'x' FROM a), TRIM(a), dbo.f(1, DEFAULT), geography::Point(1, 2, 4326), hierarchyid::GetRoot(), @g.STAsText(), NEXT VALUE FOR dbo.s OVER (ORDER BY a)
GO
SELECT a COLLATE Latin1_General_CI_AS AT TIME ZONE 'UTC' AT TIME ZONE 'Central European Standard Time'
GO
SELECT {fn NOW()}, {fn UCASE(a)}, {fn CONVERT(a, SQL_INTEGER)}, {d '2020-01-01'}, {t '10:00:00'}, {ts '2020-01-01 10:00:00'}, {guid '6F9619FF-8B86-D011-B42D-00C04FC964FF'}
GO
SELECT 1 WHERE a = 1 AND b <> 2 AND c != 3 OR d < = 4 AND e > = 5 OR f !< 6 AND g !> 7 AND h < > 8
GO
SELECT 1 WHERE a IS NULL AND b IS NOT NULL AND a BETWEEN 1 AND 2 AND a NOT BETWEEN b + 1 AND c AND a LIKE 'x' {escape '\'} AND a IS NOT DISTINCT FROM b AND (a = 1 OR (b = 2)) AND NOT (NOT EXISTS (SELECT 1)) AND a > ANY (SELECT 1) AND a IN ((SELECT 1))
GO
SELECT 1 WHERE CONTAINS((a, b), 'x') OR FREETEXT(*, 'y')
GO
SELECT (SELECT MAX(x) FROM t), ((SELECT 1) + 1), (((SELECT 1) UNION SELECT 2))
