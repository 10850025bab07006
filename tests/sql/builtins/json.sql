-- What is JSON already is put in as it is.
SELECT JSON_MODIFY('{"a":1}', '$.a', JSON_QUERY('[1,2]')) AS queried, JSON_MODIFY('{"a":1}', '$.b', JSON_OBJECT('k': 1)) AS object, JSON_MODIFY('{"a":[1]}', 'append $.a', JSON_ARRAY(2, 3)) AS appended;
SELECT JSON_MODIFY('{}', '$.n', JSON_MODIFY('{}', '$.m', 1)) AS nested, JSON_MODIFY('{}', '$.rows', (SELECT 1 AS x FOR JSON PATH)) AS rows, JSON_MODIFY('{}', '$.text', '[1,2]') AS text;
SELECT JSON_MODIFY('{"a":1}', '$.a', JSON_QUERY(NULL)) AS removed, JSON_ARRAY(JSON_MODIFY('{}', '$.a', JSON_ARRAY(1))) AS kept;
GO
SELECT ISJSON('5', VALUE) AS v, ISJSON('"x"', SCALAR) AS s, ISJSON('[1]', OBJECT) AS o, ISJSON('[1]', array) AS a;
GO
SELECT ISJSON('5', NUMBER);
GO
-- What follows the value is not looked at.
SELECT JSON_VALUE('{"a":1, x', '$.a') AS v, JSON_QUERY('{"a":[1], x', '$.a') AS q;
GO
SELECT JSON_VALUE('{"a":1, x', '$.b');
GO
SELECT * FROM OPENJSON('{"b":"SGVsbG8=","n":null}') WITH (b varbinary(10), n varbinary(10));
SELECT system_type_name FROM sys.dm_exec_describe_first_result_set(N'SELECT STRING_ESCAPE(''a'', ''json'') AS e', NULL, 0);
GO
