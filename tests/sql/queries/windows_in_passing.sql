-- Windows that are computed as rows pass: ranks, running totals over rows and over peers, totals of the partition.
CREATE TABLE sales (region char(1), day int, amount int NULL);
INSERT sales VALUES ('a', 1, 10), ('a', 2, 5), ('a', 2, 7), ('a', 3, NULL), ('b', 1, 1), ('b', 1, 2);
SELECT region, day, amount, ROW_NUMBER() OVER (PARTITION BY region ORDER BY day, amount) AS n, RANK() OVER (PARTITION BY region ORDER BY day) AS r, DENSE_RANK() OVER (PARTITION BY region ORDER BY day) AS d FROM sales ORDER BY region, n;
SELECT region, day, amount, SUM(amount) OVER (PARTITION BY region ORDER BY day) AS running, COUNT(*) OVER (PARTITION BY region) AS own, MAX(amount) OVER () AS most, AVG(amount) OVER (PARTITION BY region) AS mean FROM sales ORDER BY region, day, amount;
SELECT day, amount, SUM(amount) OVER (ORDER BY day, amount ROWS UNBOUNDED PRECEDING) AS running FROM sales WHERE region = 'a' ORDER BY day, amount;
GO
SELECT COUNT(*) OVER () AS n FROM sales WHERE region = 'z';
SELECT s.region, x.n FROM (SELECT DISTINCT region FROM sales) s CROSS APPLY (SELECT TOP 1 COUNT(*) OVER () AS n FROM sales i WHERE i.region = s.region) x ORDER BY s.region;
GO
-- ORDER BY of a set operation may name a column as its first query wrote it.
WITH t AS (SELECT region, day FROM sales) SELECT t.region, t.day FROM t UNION SELECT region, 9 FROM sales ORDER BY t.region, t.day DESC;
SELECT region FROM sales UNION SELECT 'q' ORDER BY x.region;
GO
