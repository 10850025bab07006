-- Dates of numbers have the form that a style says.
SELECT CONVERT(date, '05/13/2026', 101) AS us, CONVERT(datetime, '13.05.26', 4) AS de, CONVERT(date, '2026-05-13', 23) AS iso, CONVERT(datetime, '2026-05-13T10:11:12', 126) AS tee, CONVERT(date, '20260513', 103) AS plain;
GO
SELECT TRY_CONVERT(date, '2026-05-13', 101) AS iso_as_us, TRY_CONVERT(datetime, '01/02/99', 101) AS two, TRY_CONVERT(datetime, '01/02/1999', 1) AS four, TRY_CONVERT(date, '05/13/2026', 23) AS us_as_iso, TRY_CONVERT(datetime, '2026-05-13 10:11', 126) AS blank;
GO
SELECT CONVERT(datetime, '2026-05-13', 101) AS year_first;
GO
SELECT CONVERT(date, '2026-05-13', 101);
GO
SELECT CAST('04/2008/15' AS date) AS year_within, CAST('15 1996 apr' AS datetime) AS month_last, CAST('1996 15 apr' AS date) AS year_first;
SET DATEFORMAT dmy;
SELECT CAST('15/2008/04' AS date) AS year_within;
SET DATEFORMAT mdy;
SELECT CAST('01:01:01.1234567 +01:01' AS time) AS t;
GO
SELECT CONVERT(varchar(40), 1234567.89e0, 126) AS f, CONVERT(varchar(40), CAST(1234567.89 AS real), 126) AS r, CONVERT(varchar(40), 0.1e0, 3) AS whole, CAST('99999999999999999999' AS bit) AS b;
SELECT 4|1<<2 AS shifted, 1 + 1 << 3 AS added, 2 * 1 << 3 AS multiplied;
GO
