-- What queries over a large table with small ones around it need from the planner.
CREATE TABLE facts (id int PRIMARY KEY, day int NOT NULL, customer int NULL, item int NOT NULL, amount int NULL);
CREATE TABLE web (id int PRIMARY KEY, day int NOT NULL, customer int NULL, item int NULL);
CREATE TABLE days (day int PRIMARY KEY, week int NOT NULL, year int NOT NULL);
CREATE TABLE customers (customer int PRIMARY KEY, name varchar(20) NOT NULL, visits int NULL);
INSERT facts VALUES (1, 1, 1, 1, 10), (2, 1, 2, 1, 20), (3, 2, 1, 2, 30), (4, 3, 3, 2, 40), (5, 3, NULL, 3, 50);
INSERT web VALUES (1, 1, 1, 7), (2, 2, 1, 7), (3, 3, 4, NULL), (4, 3, NULL, 8);
INSERT days VALUES (1, 1, 2001), (2, 1, 2001), (3, 2, 2002);
INSERT customers VALUES (1, 'a', 7), (2, 'b', NULL), (3, 'c', 9), (4, 'd', 8);
GO
-- EXISTS and IN under OR: the subquery's distinct values are joined, it does not run once per row.
SELECT name FROM customers c WHERE EXISTS (SELECT * FROM facts f, days d WHERE f.customer = c.customer AND d.day = f.day AND d.year = 2002)
    OR EXISTS (SELECT * FROM web w WHERE w.customer = c.customer) ORDER BY name;
SELECT name FROM customers c WHERE name = 'b' OR NOT EXISTS (SELECT * FROM web w WHERE w.customer = c.customer) ORDER BY name;
SELECT name FROM customers c WHERE name = 'b' OR visits IN (SELECT item FROM web) ORDER BY name;
-- With NULL among the values nothing is known to be outside.
SELECT name FROM customers c WHERE name = 'b' OR visits NOT IN (SELECT item FROM web) ORDER BY name;
SELECT name FROM customers c WHERE name = 'b' OR visits NOT IN (SELECT item FROM web WHERE item IS NOT NULL) ORDER BY name;
SELECT name FROM customers c WHERE name = 'z' OR visits IN (SELECT item FROM web w WHERE w.customer = c.customer) ORDER BY name;
SELECT name FROM customers c WHERE NOT (name = 'b' OR EXISTS (SELECT * FROM web w WHERE w.customer = c.customer)) ORDER BY name;
-- A semi join that is about one table comes before that table's joins, where there would be more rows.
SELECT f.id, g.id FROM facts f JOIN facts g ON g.item = f.item JOIN days d ON d.day = f.day WHERE d.week IN (SELECT x.week FROM days x WHERE x.year = 2001) ORDER BY 1, 2;
-- Grouped rows joined with each other on several columns.
SELECT a.item, a.n, b.n, c.n FROM (SELECT item, day, COUNT(*) AS n FROM facts GROUP BY item, day) a,
    (SELECT item, day, MAX(id) AS n FROM facts GROUP BY item, day) b, (SELECT item, day, MIN(id) AS n FROM facts GROUP BY item, day) c
WHERE b.item = a.item AND b.day = a.day AND c.item = a.item AND c.day = a.day AND c.n = b.n AND a.n = 1 ORDER BY 1, 3;
SET SHOWPLAN_TEXT ON;
GO
SELECT name FROM customers c WHERE EXISTS (SELECT * FROM facts f, days d WHERE f.customer = c.customer AND d.day = f.day AND d.year = 2002)
    OR EXISTS (SELECT * FROM web w WHERE w.customer = c.customer);
SELECT name FROM customers c WHERE name = 'b' OR visits IN (SELECT item FROM web);
SELECT name FROM customers c WHERE name = 'b' OR EXISTS (SELECT * FROM facts f WHERE f.id = c.customer);
SELECT f.id, g.id FROM facts f JOIN facts g ON g.item = f.item JOIN days d ON d.day = f.day WHERE d.week IN (SELECT x.week FROM days x WHERE x.year = 2001);
SELECT a.item, a.n, b.n, c.n FROM (SELECT item, day, COUNT(*) AS n FROM facts GROUP BY item, day) a,
    (SELECT item, day, MAX(id) AS n FROM facts GROUP BY item, day) b, (SELECT item, day, MIN(id) AS n FROM facts GROUP BY item, day) c
WHERE b.item = a.item AND b.day = a.day AND c.item = a.item AND c.day = a.day AND c.n = b.n AND a.n = 1;
GO
