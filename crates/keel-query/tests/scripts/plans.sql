CREATE TABLE a (id int PRIMARY KEY, x int NULL, y int NULL, s varchar(20) NULL);
CREATE TABLE b (aid int NOT NULL, n int NOT NULL, v int NULL, CONSTRAINT pk_b PRIMARY KEY (aid, n));
CREATE INDEX ix_a ON a (x, y);
SET SHOWPLAN_TEXT ON;
GO
SELECT s FROM a WHERE id = 5;
SELECT s FROM a WHERE id BETWEEN 5 AND 9 AND y = 3;
SELECT x, y FROM a WHERE x = 5 ORDER BY y DESC;
SELECT s FROM a WHERE x = 5 AND y > 3;
SELECT * FROM a JOIN b ON b.aid = a.id WHERE a.id = 3;
SELECT * FROM a JOIN b ON b.aid = a.id;
SELECT MAX(n) FROM b WHERE aid = 4;
SELECT TOP 1 n FROM b WHERE aid = 4 ORDER BY n;
SELECT aid, COUNT(*) FROM b GROUP BY aid;
SELECT x FROM a WHERE EXISTS (SELECT * FROM b WHERE b.aid = a.id AND v = 1);
UPDATE a SET y = y + 1 WHERE id = 3;
DELETE b WHERE aid = 3;
GO
SELECT a.s FROM a JOIN b ON b.aid = a.id WHERE (a.x = 1 AND b.v = 2) OR (a.x = 3 AND b.v = 4);
SELECT a.s FROM a, b WHERE (b.aid = a.id AND a.x = 1 AND b.v > 2 AND b.v < 9) OR (b.aid = a.id AND a.x = 5 AND a.y = 1 AND b.v = 4);
SELECT a.s FROM a JOIN b ON b.aid = a.id WHERE (a.x = 1 AND b.v = 2) OR b.v = 4;
