CREATE TABLE p (id int IDENTITY(1,1) PRIMARY KEY, code varchar(5) NOT NULL UNIQUE, qty int NOT NULL DEFAULT 1 CHECK (qty >= 0), twice AS qty * 2, rv rowversion);
CREATE TABLE c (id int PRIMARY KEY, pid int NULL REFERENCES p(id) ON DELETE CASCADE, note varchar(20) NULL);
CREATE TABLE n (id int PRIMARY KEY, pid int NULL REFERENCES p(id));
CREATE TABLE log (what nvarchar(10), a int NULL, b int NULL);
CREATE TABLE heap (x int, y varchar(10));
INSERT p (code) OUTPUT inserted.id, inserted.qty, inserted.twice VALUES ('a'), ('b'), ('c');
INSERT p (code, qty) VALUES ('a', 5);
INSERT p (code, qty) VALUES ('d', -1);
INSERT p (id, code) VALUES (10, 'x');
INSERT p VALUES (10, 'x', 1);
INSERT c VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 2, 'z'), (4, NULL, 'w');
INSERT c VALUES (5, 99, 'bad');
INSERT n VALUES (1, 2);
GO
SELECT id, code, qty, twice FROM p;
UPDATE p SET qty = qty + 10 OUTPUT deleted.qty, inserted.qty, inserted.twice WHERE code = 'b';
UPDATE p SET qty = -5;
UPDATE p SET code = 'a' WHERE id = 2;
UPDATE p SET id = 5 WHERE id = 1;
UPDATE p SET twice = 1;
UPDATE p SET qty = 1, qty = 2;
UPDATE c SET pid = 77 WHERE id = 1;
UPDATE c SET note = p.code + '!', pid = p.id FROM c JOIN p ON p.id = c.pid WHERE p.qty < 5;
UPDATE x SET note = 'q' FROM c AS x WHERE x.id = 4;
SELECT * FROM c;
GO
DELETE FROM p WHERE id = 2;
DELETE FROM n;
DELETE p OUTPUT deleted.id, deleted.code INTO log (a, what) WHERE id = 2;
SELECT * FROM log;
SELECT * FROM c;
DELETE TOP (1) FROM c;
DELETE c FROM c JOIN p ON p.id = c.pid WHERE p.code = 'a';
SELECT * FROM c;
INSERT log (what, a) SELECT code, id FROM p;
INSERT log SELECT what, a, b FROM log;
SELECT COUNT(*) FROM log;
UPDATE log SET a = a + 1 WHERE a > 0;
SELECT what, a FROM log ORDER BY a, what;
DELETE log WHERE a IN (SELECT id + 1 FROM p);
SELECT COUNT(*) FROM log;
GO
INSERT heap VALUES (3, 'c'), (1, 'a'), (2, 'b');
UPDATE heap SET x = x * 10 WHERE y = 'a';
DELETE heap WHERE x = 3;
SELECT * FROM heap;
SET IDENTITY_INSERT p ON;
INSERT p (id, code) VALUES (50, 'fifty');
INSERT p (code) VALUES ('no');
SET IDENTITY_INSERT p OFF;
INSERT p (code) VALUES ('next');
SELECT id, code FROM p;
INSERT log DEFAULT VALUES;
GO
MERGE p AS t USING (VALUES ('a', 100), ('zz', 7)) AS s(code, q) ON t.code = s.code
WHEN MATCHED THEN UPDATE SET qty = s.q
WHEN NOT MATCHED THEN INSERT (code, qty) VALUES (s.code, s.q)
WHEN NOT MATCHED BY SOURCE AND t.id = 50 THEN DELETE
OUTPUT $action, inserted.code, deleted.code, inserted.qty;
SELECT id, code, qty FROM p ORDER BY id;
GO
BEGIN TRANSACTION;
UPDATE p SET qty = 0;
SELECT SUM(qty) FROM p;
ROLLBACK;
SELECT SUM(qty) FROM p;
WITH d AS (SELECT *, ROW_NUMBER() OVER (ORDER BY id DESC) rn FROM p) DELETE FROM d WHERE rn = 1;
WITH d AS (SELECT id, qty FROM p WHERE code = 'a') UPDATE d SET qty = 55;
SELECT id, qty FROM p ORDER BY id;
UPDATE p SET qty = (SELECT MAX(qty) FROM p) + 1;
SELECT id, qty FROM p ORDER BY id;
INSERT p (code, qty) VALUES ('q', 1), ('a', 2);
SELECT COUNT(*) FROM p;
INSERT p (code, nosuch) VALUES (1, 2);
INSERT p (code, qty) VALUES ('q');
INSERT p (code, code) VALUES ('q', 'r');
INSERT p (code) SELECT 'x', 2;
GO
CREATE VIEW vw AS SELECT code AS c, qty AS q FROM p WHERE qty > 1
GO
INSERT vw (c, q) VALUES ('v1', 77);
INSERT vw VALUES ('v2', 78);
INSERT vw (nosuch) VALUES (1);
UPDATE vw SET q = q + 1 WHERE c = 'v1';
DELETE vw WHERE c = 'v2';
SELECT * FROM vw WHERE c LIKE 'v%';
GO
