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
-- Those that look back, ahead or at the size of the partition.
INSERT sales VALUES ('c', 1, 1), ('c', 2, NULL), ('c', 3, 3), ('c', 4, 4), ('c', 5, NULL), ('c', 6, 6);
SELECT day, amount, LAG(amount) OVER (ORDER BY day) AS p, LAG(amount, 2, -1) OVER (ORDER BY day) AS p2, LAG(amount, 0) OVER (ORDER BY day) AS p0, LEAD(amount) OVER (ORDER BY day) AS n, LEAD(amount, 2, day * 100) OVER (ORDER BY day) AS n2, LEAD(amount, 9) OVER (ORDER BY day) AS n9 FROM sales WHERE region = 'c' ORDER BY day;
SELECT day, LAG(amount) IGNORE NULLS OVER (ORDER BY day) AS p, LAG(amount, 2) IGNORE NULLS OVER (ORDER BY day) AS p2, LEAD(amount) IGNORE NULLS OVER (ORDER BY day) AS n, LEAD(amount, day - 1) OVER (ORDER BY day) AS own FROM sales WHERE region = 'c' ORDER BY day;
SELECT region, day, amount, NTILE(4) OVER (PARTITION BY region ORDER BY day, amount) AS t, PERCENT_RANK() OVER (PARTITION BY region ORDER BY day) AS pr, CUME_DIST() OVER (PARTITION BY region ORDER BY day) AS cd FROM sales ORDER BY region, day, amount;
SELECT region, day, amount, FIRST_VALUE(amount) OVER (PARTITION BY region ORDER BY day, amount) AS f, LAST_VALUE(amount) OVER (PARTITION BY region ORDER BY day) AS l, LAST_VALUE(amount) OVER (PARTITION BY region ORDER BY day, amount ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS last, FIRST_VALUE(amount) IGNORE NULLS OVER (PARTITION BY region ORDER BY day DESC, amount) AS fn FROM sales ORDER BY region, day, amount;
GO
SELECT day, amount, SUM(amount) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s3, COUNT(*) OVER (ORDER BY day ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) AS later, MAX(amount) OVER (ORDER BY day ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS before, SUM(amount) OVER (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS upto, SUM(amount) OVER (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS past, SUM(amount) OVER (ORDER BY day ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS rest, ROW_NUMBER() OVER (ORDER BY day) AS rn, LAST_VALUE(amount) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS lv FROM sales WHERE region = 'c' ORDER BY day;
DECLARE @k int = 2; SELECT day, LAG(day, @k) OVER (PARTITION BY region ORDER BY day) AS p, LEAD(day, @k) OVER (PARTITION BY region ORDER BY day) AS n FROM sales WHERE region <> 'a' ORDER BY region, day;
GO
SELECT LAG(day, -1) OVER (ORDER BY day) AS p FROM sales;
GO
SELECT NTILE(0) OVER (ORDER BY day) AS p FROM sales;
GO
