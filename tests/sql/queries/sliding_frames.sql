-- Frames that leave rows behind, long and short, beside, before and behind the row, give what a join over the rows' numbers gives.
CREATE TABLE readings (id int PRIMARY KEY, part int NOT NULL, n int NOT NULL, v int NULL, f float NULL, s varchar(10) NULL);
INSERT readings
SELECT value, value % 3, ROW_NUMBER() OVER (PARTITION BY value % 3 ORDER BY value),
       CASE WHEN value % 11 = 0 THEN NULL ELSE value * 7919 % 1009 - 500 END,
       CASE WHEN value % 13 = 0 THEN NULL ELSE value * 31 % 257 END,
       CASE WHEN value % 5 = 0 THEN NULL ELSE CONCAT('k', value * 613 % 97) END
FROM GENERATE_SERIES(1, 600);
GO
CREATE FUNCTION joined (@from int, @to int) RETURNS TABLE AS RETURN
SELECT r.id, COUNT(o.id) c, SUM(o.v) s, MIN(o.v) lo, MAX(o.v) hi, SUM(o.f) f, MIN(o.s) slo, MAX(o.s) shi, CHECKSUM_AGG(o.v) k
FROM readings r LEFT JOIN readings o ON o.part = r.part AND o.n BETWEEN r.n + @from AND r.n + @to
GROUP BY r.id
GO
-- Each of these counts rows that differ.
SELECT COUNT(*) FROM
(SELECT id, COUNT(*) OVER w c, SUM(v) OVER w s, MIN(v) OVER w lo, MAX(v) OVER w hi, SUM(f) OVER w f, MIN(s) OVER w slo, MAX(s) OVER w shi, CHECKSUM_AGG(v) OVER w k
 FROM readings WINDOW w AS (PARTITION BY part ORDER BY n ROWS BETWEEN 40 PRECEDING AND CURRENT ROW)) x
JOIN joined(-40, 0) y ON y.id = x.id
WHERE EXISTS (SELECT x.c, x.s, x.lo, x.hi, x.f, x.slo, x.shi, x.k EXCEPT SELECT y.c, y.s, y.lo, y.hi, y.f, y.slo, y.shi, y.k);
SELECT COUNT(*) FROM
(SELECT id, COUNT(*) OVER w c, SUM(v) OVER w s, MIN(v) OVER w lo, MAX(v) OVER w hi, SUM(f) OVER w f, MIN(s) OVER w slo, MAX(s) OVER w shi, CHECKSUM_AGG(v) OVER w k
 FROM readings WINDOW w AS (PARTITION BY part ORDER BY n ROWS BETWEEN 3 PRECEDING AND 90 FOLLOWING)) x
JOIN joined(-3, 90) y ON y.id = x.id
WHERE EXISTS (SELECT x.c, x.s, x.lo, x.hi, x.f, x.slo, x.shi, x.k EXCEPT SELECT y.c, y.s, y.lo, y.hi, y.f, y.slo, y.shi, y.k);
SELECT COUNT(*) FROM
(SELECT id, COUNT(*) OVER w c, SUM(v) OVER w s, MIN(v) OVER w lo, MAX(v) OVER w hi, SUM(f) OVER w f, MIN(s) OVER w slo, MAX(s) OVER w shi, CHECKSUM_AGG(v) OVER w k
 FROM readings WINDOW w AS (PARTITION BY part ORDER BY n ROWS BETWEEN 25 PRECEDING AND 10 PRECEDING)) x
JOIN joined(-25, -10) y ON y.id = x.id
WHERE EXISTS (SELECT x.c, x.s, x.lo, x.hi, x.f, x.slo, x.shi, x.k EXCEPT SELECT y.c, y.s, y.lo, y.hi, y.f, y.slo, y.shi, y.k);
SELECT COUNT(*) FROM
(SELECT id, COUNT(*) OVER w c, SUM(v) OVER w s, MIN(v) OVER w lo, MAX(v) OVER w hi, SUM(f) OVER w f, MIN(s) OVER w slo, MAX(s) OVER w shi, CHECKSUM_AGG(v) OVER w k
 FROM readings WINDOW w AS (PARTITION BY part ORDER BY n ROWS BETWEEN 7 FOLLOWING AND 60 FOLLOWING)) x
JOIN joined(7, 60) y ON y.id = x.id
WHERE EXISTS (SELECT x.c, x.s, x.lo, x.hi, x.f, x.slo, x.shi, x.k EXCEPT SELECT y.c, y.s, y.lo, y.hi, y.f, y.slo, y.shi, y.k);
-- The same beside a function that needs its partition in memory.
SELECT COUNT(*) FROM
(SELECT id, COUNT(*) OVER w c, SUM(v) OVER w s, MIN(v) OVER w lo, MAX(v) OVER w hi, SUM(f) OVER w f, MIN(s) OVER w slo, MAX(s) OVER w shi, CHECKSUM_AGG(v) OVER w k,
  PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY v) OVER (PARTITION BY part) p
 FROM readings WINDOW w AS (PARTITION BY part ORDER BY n ROWS BETWEEN 40 PRECEDING AND 2 FOLLOWING)) x
JOIN joined(-40, 2) y ON y.id = x.id
WHERE EXISTS (SELECT x.c, x.s, x.lo, x.hi, x.f, x.slo, x.shi, x.k EXCEPT SELECT y.c, y.s, y.lo, y.hi, y.f, y.slo, y.shi, y.k);
-- Rows equal in the order, alone.
SELECT COUNT(*) FROM
(SELECT v, SUM(n) OVER (ORDER BY v RANGE BETWEEN CURRENT ROW AND CURRENT ROW) s FROM readings) x
WHERE s <> (SELECT SUM(n) FROM readings o WHERE o.v = x.v);
-- First and last of a frame, with NULLs and without.
SELECT TOP (6) id, v, FIRST_VALUE(v) OVER w a, LAST_VALUE(v) OVER w b,
       FIRST_VALUE(v) IGNORE NULLS OVER w c, LAST_VALUE(v) IGNORE NULLS OVER w d
FROM readings WHERE part = 1 AND n BETWEEN 2 AND 9
WINDOW w AS (ORDER BY n ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) ORDER BY id;
-- A sum that is too large for its type is still an error, and one whose parts are not is none.
SELECT SUM(x) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM (VALUES (1, 2000000000), (2, -2000000000), (3, 2000000000), (4, -2000000000)) t (i, x);
SELECT SUM(x) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (VALUES (1, 2000000000), (2, -2000000000), (3, 2000000000), (4, 2000000000)) t (i, x);
GO
DROP FUNCTION joined;
DROP TABLE readings;
