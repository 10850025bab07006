CREATE TABLE t (id int PRIMARY KEY, name varchar(20) NULL, tag varchar(20) NULL);
INSERT t VALUES (1, 'a<b', 'x'), (2, 'c&d', NULL), (3, NULL, 'z');
SELECT id, name, tag AS [sub.tag] FROM t ORDER BY id FOR JSON PATH;
SELECT id, name FROM t WHERE id = 3 FOR JSON PATH, INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER;
SELECT id, (SELECT id, tag FROM t x WHERE x.id = t.id FOR JSON PATH) AS inner_rows FROM t WHERE id = 1 FOR JSON PATH, ROOT('r');
SELECT STUFF((SELECT ', ' + name FROM t ORDER BY id FOR XML PATH('')), 1, 2, '');
SELECT STUFF((SELECT ', ' + name FROM t ORDER BY id FOR XML PATH(''), TYPE).value('.', 'nvarchar(100)'), 1, 2, '');
SELECT id AS [@id], name FROM t ORDER BY id FOR XML PATH('row'), ROOT('rows');
SELECT id, name FROM t ORDER BY id FOR XML RAW;
GO
SELECT value FROM STRING_SPLIT('a,b,c', ',');
SELECT t.id, s.value FROM t CROSS APPLY STRING_SPLIT(t.name, '<') s ORDER BY t.id, s.value;
SELECT COUNT(*), SUM(value) FROM GENERATE_SERIES(1, 10);
SELECT [key], value, type FROM OPENJSON('{"a":1,"b":[1,2],"c":null,"d":"x"}');
SELECT * FROM OPENJSON('[{"id":1,"n":{"x":"p"}},{"id":2}]') WITH (id int, x varchar(10) '$.n.x', n nvarchar(max) AS JSON);
SELECT JSON_VALUE('{"a":{"b":5}}', '$.a.b'), JSON_QUERY('{"a":{"b":5}}', '$.a'), ISJSON('x'), ISJSON('[]');
GO
