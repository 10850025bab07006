-- What is made of literals has the collation of the database, not of the server, and gives way to a column's.
CREATE DATABASE exact COLLATE Latin1_General_BIN2;
GO
USE exact;
CREATE TABLE words (w varchar(10) COLLATE Latin1_General_CI_AS, b varchar(10));
INSERT words VALUES ('a', 'A'), ('B', 'b');
GO
SELECT CASE WHEN NULLIF('a', 'b') = 'A' THEN 'same' ELSE 'other' END AS [nullif];
SELECT CASE WHEN value = 'A' THEN 'same' ELSE 'other' END AS [string_split] FROM STRING_SPLIT('a', ',');
SELECT CASE WHEN (SELECT MIN(NULLIF('a', 'b'))) = 'A' THEN 'same' ELSE 'other' END AS [min];
GO
-- An aggregate and a window function of a literal give way as the literal does.
SELECT w FROM words UNION SELECT MAX(NULLIF('A', 'b')) FROM words ORDER BY w;
SELECT b FROM words UNION SELECT MIN('a') FROM words ORDER BY b;
SELECT w.w FROM words w JOIN (SELECT MAX('A') AS m FROM words) x ON w.w = x.m;
SELECT w.w FROM words w JOIN (SELECT LAG('b', 0) OVER (ORDER BY w) AS m FROM words) x ON w.w = x.m;
GO
-- PIVOT gives a column's values in the column's collation.
SELECT CASE WHEN [1] = 'A' THEN 'same' ELSE 'other' END AS [w] FROM (SELECT 1 AS k, w FROM words) s PIVOT (MIN(w) FOR k IN ([1])) p;
SELECT CASE WHEN [1] = 'a' THEN 'same' ELSE 'other' END AS [b] FROM (SELECT 1 AS k, b FROM words) s PIVOT (MIN(b) FOR k IN ([1])) p;
