-- NOT IN over a subquery with a NULL is never true, whatever stands on its left: a constant, a variable, a column of a query further out.
CREATE DATABASE nots;
GO
USE nots;
CREATE TABLE items (id int NOT NULL PRIMARY KEY, n int);
INSERT items VALUES (1, 10), (2, 20), (3, NULL);
GO
SELECT 'found' AS a WHERE 5 NOT IN (SELECT n FROM items);
SELECT 'found' AS b WHERE 5 NOT IN (SELECT CAST(NULL AS int));
SELECT 'found' AS c WHERE 5 NOT IN (SELECT MIN(n) FROM items WHERE n > 1000);
SELECT 'found' AS d WHERE 5 <> ALL (SELECT SUM(n) FROM items WHERE n > 1000);
SELECT id AS e FROM items WHERE 5 NOT IN (SELECT n FROM items) ORDER BY e;
DECLARE @five int = 5;
SELECT id AS f FROM items WHERE @five NOT IN (SELECT n FROM items) ORDER BY f;
GO
-- Where no value is NULL, it may be true; where there is no row, it is, for NULL too.
SELECT id AS g FROM items WHERE 5 NOT IN (SELECT n FROM items WHERE n IS NOT NULL) ORDER BY g;
SELECT id AS h FROM items WHERE NULLIF(5, 5) NOT IN (SELECT n FROM items WHERE n > 1000) ORDER BY h;
SELECT id AS i FROM items WHERE NULLIF(5, 5) NOT IN (SELECT n FROM items WHERE n = 10) ORDER BY i;
GO
-- A column of the query around the one that has the NOT IN.
SELECT o.id AS j FROM items o WHERE NOT EXISTS (SELECT * FROM items WHERE o.n NOT IN (SELECT n FROM items)) ORDER BY j;
SELECT o.id AS k FROM items o WHERE EXISTS (SELECT * FROM items WHERE o.n NOT IN (SELECT n FROM items WHERE n = 10)) ORDER BY k;
UPDATE items SET n = 0 WHERE 5 NOT IN (SELECT n FROM items);
DELETE items WHERE 5 NOT IN (SELECT n FROM items);
SELECT COUNT(*) AS l FROM items;
