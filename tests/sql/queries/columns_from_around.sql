-- A select list inside APPLY or a subquery may show columns of the query around it.
CREATE DATABASE around;
GO
USE around;
CREATE TABLE around (id int NOT NULL PRIMARY KEY, n int);
INSERT around VALUES (1, 10), (2, 20), (3, NULL);
GO
-- DISTINCT writes what it shows: the column around stays as it is.
SELECT a.id, a.n, l.c FROM around a OUTER APPLY (SELECT DISTINCT a.n AS c FROM (VALUES (1), (2)) v(x)) l ORDER BY a.id;
SELECT a.id, a.n, l.c FROM around a CROSS APPLY (SELECT DISTINCT a.n AS c, v.x FROM (VALUES (1), (1)) v(x)) l ORDER BY a.id;
SELECT a.id FROM around a WHERE 10 <> ALL (SELECT DISTINCT a.n FROM (VALUES (1), (2)) v(x)) ORDER BY a.id;
SELECT a.id FROM around a WHERE a.n IN (SELECT DISTINCT a.n FROM (VALUES (1), (2)) v(x)) ORDER BY a.id;
GO
-- OUTER APPLY without a row: NULL, though the column around has a value.
SELECT a.id, a.n, l.c, l.x FROM around a OUTER APPLY (SELECT a.n AS c, v.x FROM (VALUES (1), (2)) v(x) WHERE v.x = a.id) l ORDER BY a.id;
SELECT a.id, a.n, l.c FROM around a OUTER APPLY (SELECT TOP (1) a.n AS c FROM around b WHERE b.n > a.n ORDER BY b.n) l ORDER BY a.id;
SELECT COUNT(l.c) AS found FROM around a OUTER APPLY (SELECT a.n AS c WHERE a.n > 10) l;
GO
-- The same column twice, and through a second level.
SELECT a.id, l.c, l.d FROM around a OUTER APPLY (SELECT a.n AS c, a.n AS d WHERE a.id = 2) l ORDER BY a.id;
SELECT a.id, l.c FROM around a OUTER APPLY (SELECT m.c FROM (SELECT a.n AS c WHERE a.id = 1) m) l ORDER BY a.id;
SELECT a.id, l.c, l.k FROM around a CROSS APPLY (SELECT a.n AS c UNION SELECT a.n UNION SELECT 5) m CROSS APPLY (SELECT m.c, a.id AS k WHERE m.c > 5) l ORDER BY a.id;
