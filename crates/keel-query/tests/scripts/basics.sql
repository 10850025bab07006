CREATE TABLE t (id int PRIMARY KEY, a varchar(10), b int NULL, c decimal(10,2) DEFAULT 1.5);
INSERT t (id, a, b) VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', NULL);
INSERT INTO t VALUES (4, 'four', 40, 9.99);
SELECT * FROM t;
GO
SELECT id, a FROM t WHERE id = 2;
SELECT id, b + 1 AS b1, c * 2 FROM t WHERE id >= 2 AND id < 4;
SELECT COUNT(*), SUM(b), AVG(b), MIN(a), MAX(id) FROM t;
GO
UPDATE t SET b = b + 1, a = 'x' + a WHERE id = 1;
UPDATE t SET b = 0 WHERE b IS NULL;
SELECT id, a, b FROM t ORDER BY id DESC;
DELETE FROM t WHERE id = 3;
SELECT TOP 2 id FROM t ORDER BY b DESC;
GO
DECLARE @x int = 5, @s varchar(20);
SELECT @x = b, @s = a FROM t WHERE id = 2;
SELECT @x AS x, @s AS s;
UPDATE t SET @x = b, b = b * 2 WHERE id = 2;
SELECT @x, b FROM t WHERE id = 2;
UPDATE t SET @x = b = b + 5 WHERE id = 2;
SELECT @x;
GO
INSERT t (id) VALUES (1);
INSERT t (id, a) VALUES (9, 'this is far too long');
INSERT t (a) VALUES ('z');
SELECT nosuch FROM t;
SELECT * FROM nosuch;
SELECT t.x FROM t;
SELECT q.x FROM t;
GO
SELECT a, COUNT(*) FROM t GROUP BY b;
SELECT b % 2, COUNT(*) AS n FROM t GROUP BY b % 2 HAVING COUNT(*) > 0 ORDER BY n DESC, 1;
SELECT DISTINCT LEN(a) FROM t ORDER BY 1;
SELECT id FROM t UNION ALL SELECT 100 UNION SELECT 4 ORDER BY id;
SELECT 1/0;
GO
