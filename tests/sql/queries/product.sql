SELECT PRODUCT(v) AS p, PRODUCT(DISTINCT v) AS d FROM (VALUES (2), (3), (3), (NULL)) AS t(v);
SELECT PRODUCT(v) AS none FROM (VALUES (1)) AS t(v) WHERE v > 1;
SELECT PRODUCT(b) AS b, PRODUCT(m) AS m, PRODUCT(d) AS d, PRODUCT(w) AS w, PRODUCT(f) AS f FROM (VALUES (CAST(4000000000 AS bigint), CAST(1.5 AS money), 1.1626, CAST(7 AS decimal(5, 0)), 0.5e0), (2, 2.25, 0.8056, 3, 4)) AS t(b, m, d, w, f);
SELECT k, PRODUCT(1 + r) OVER (PARTITION BY k) AS compounded, PRODUCT(1 + r) OVER (ORDER BY r ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS moving FROM (VALUES (0.1626, 'A'), (0.0483, 'B'), (0.2689, 'C'), (-0.1944, 'A'), (0.2423, 'A')) AS t(r, k) ORDER BY k, r;
SELECT g, PRODUCT(v) AS p, SUM(v) AS s FROM (VALUES (1, 2), (1, 5), (2, 7)) AS t(g, v) GROUP BY ROLLUP (g) ORDER BY g;
SELECT a, b FROM (VALUES ('a', 2), ('a', 4), ('b', 3)) AS t(k, v) PIVOT (PRODUCT(v) FOR k IN (a, b)) AS p;
GO
SELECT PRODUCT(v) FROM (VALUES (100000), (100000)) AS t(v);
GO
SELECT PRODUCT(v) FROM (VALUES ('a')) AS t(v);
GO
SELECT PRODUCT(CAST(1 AS bit));
GO
-- Deviations of whole numbers, windowed and pivoted.
SELECT v, STDEV(v) OVER (ORDER BY v) AS s, VARP(v) OVER () AS p FROM (VALUES (1), (2), (4)) AS t(v) ORDER BY v;
SELECT a, b FROM (VALUES ('a', 1), ('a', 4), ('b', 3)) AS t(k, v) PIVOT (STDEVP(v) FOR k IN (a, b)) AS p;
GO
