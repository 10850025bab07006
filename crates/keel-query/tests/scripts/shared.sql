-- A part of the query that stands in it twice is computed once: its operators are shown below the first place that reads it.
CREATE TABLE sales (id int PRIMARY KEY, shop int NOT NULL, item int NOT NULL, amount int NULL);
CREATE TABLE shops (shop int PRIMARY KEY, name varchar(20) NOT NULL);
INSERT sales VALUES (1, 1, 1, 10), (2, 1, 2, 20), (3, 2, 1, 5), (4, 2, 1, 7), (5, 3, 2, NULL), (6, 3, 3, 1);
INSERT shops VALUES (1, 'north'), (2, 'south'), (3, 'east');
GO
WITH by_item AS (SELECT shop, item, SUM(amount) AS total FROM sales GROUP BY shop, item)
SELECT a.shop, a.item, a.total, b.shop, b.total FROM by_item a JOIN by_item b ON b.item = a.item AND b.shop > a.shop ORDER BY 1, 2, 4;
-- Each place reads other columns of it.
WITH by_item AS (SELECT shop, item, SUM(amount) AS total, MAX(id) AS last FROM sales GROUP BY shop, item)
SELECT 'total' AS what, SUM(total) AS value FROM by_item UNION ALL SELECT 'last', MAX(last) FROM by_item;
-- A shared part inside of a shared part, and once more outside.
WITH by_item AS (SELECT shop, item, SUM(amount) AS total FROM sales GROUP BY shop, item),
     ranked AS (SELECT shop, item, total, RANK() OVER (PARTITION BY shop ORDER BY total DESC) AS place FROM by_item)
SELECT a.shop, a.item, b.item, (SELECT COUNT(*) FROM by_item) AS groups
FROM ranked a JOIN ranked b ON b.shop = a.shop AND b.place = a.place + 1 JOIN by_item c ON c.shop = a.shop AND c.item = b.item ORDER BY 1, 2;
-- With different conditions they are different parts.
WITH by_item AS (SELECT shop, item, SUM(amount) AS total FROM sales GROUP BY shop, item)
SELECT a.item, a.total, b.total FROM by_item a JOIN by_item b ON b.item = a.item WHERE a.shop = 1 AND b.shop = 2 ORDER BY 1;
SET SHOWPLAN_TEXT ON;
GO
WITH by_item AS (SELECT shop, item, SUM(amount) AS total FROM sales GROUP BY shop, item)
SELECT a.shop, a.item, a.total, b.shop, b.total FROM by_item a JOIN by_item b ON b.item = a.item AND b.shop > a.shop ORDER BY 1, 2, 4;
WITH by_item AS (SELECT shop, item, SUM(amount) AS total, MAX(id) AS last FROM sales GROUP BY shop, item)
SELECT 'total' AS what, SUM(total) AS value FROM by_item UNION ALL SELECT 'last', MAX(last) FROM by_item;
WITH by_item AS (SELECT shop, item, SUM(amount) AS total FROM sales GROUP BY shop, item),
     ranked AS (SELECT shop, item, total, RANK() OVER (PARTITION BY shop ORDER BY total DESC) AS place FROM by_item)
SELECT a.shop, a.item, b.item FROM ranked a JOIN ranked b ON b.shop = a.shop AND b.place = a.place + 1
JOIN by_item c ON c.shop = a.shop AND c.item = b.item;
WITH by_item AS (SELECT shop, item, SUM(amount) AS total FROM sales GROUP BY shop, item)
SELECT a.item, a.total, b.total FROM by_item a JOIN by_item b ON b.item = a.item WHERE a.shop = 1 AND b.shop = 2;
GO
