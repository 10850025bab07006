-- REGEXP_LIKE is a condition.
CREATE TABLE people (id int PRIMARY KEY, name nvarchar(40), mail varchar(80) CHECK (REGEXP_LIKE(mail, '^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$')), phone varchar(20));
INSERT people VALUES (1, N'Ann', 'ann@example.com', '123-456-7890'), (2, N'ben', 'ben.b@example.org', '555-0000'), (3, N'Élan', NULL, NULL);
GO
INSERT people VALUES (4, N'Dan', 'nowhere', NULL);
GO
SELECT name FROM people WHERE REGEXP_LIKE(name, '^[a-z]') ORDER BY id;
SELECT name FROM people WHERE NOT REGEXP_LIKE(name, '^[a-z]', 'i') ORDER BY id;
SELECT id, CASE WHEN REGEXP_LIKE(phone, '^\d{3}-\d{3}-\d{4}$') THEN 'long' WHEN NOT REGEXP_LIKE(phone, '-') THEN 'none' END AS kind FROM people ORDER BY id;
SELECT COUNT(*) FROM people WHERE REGEXP_LIKE(mail, 'EXAMPLE', 'i') AND (REGEXP_LIKE(mail, 'com$') OR id = 2);
GO
SELECT REGEXP_LIKE('a', 'a');
GO
SELECT 1 WHERE REGEXP_LIKE('a');
GO
SELECT 1 WHERE REGEXP_LIKE(1, 'a');
GO
-- Counts and positions.
SELECT REGEXP_COUNT('banana', 'an'), REGEXP_COUNT('abc', ''), REGEXP_COUNT('abc', 'x*'), REGEXP_COUNT('', ''), REGEXP_COUNT('abc', '', 2), REGEXP_COUNT('ABC', 'a'), REGEXP_COUNT('ABC', 'a', 1, 'i'), REGEXP_COUNT('abc', 'a', 9);
SELECT REGEXP_INSTR('abc', 'x*'), REGEXP_INSTR('abc', 'x*', 1, 1, 1), REGEXP_INSTR('abc', '$'), REGEXP_INSTR('a1b22', '\d+', 1, 2), REGEXP_INSTR('a1b22', '\d+', 1, 2, 1), REGEXP_INSTR('a1b22', '([a-z])(\d+)', 1, 2, 0, 'c', 2), REGEXP_INSTR('abc', 'b', 1, 2);
DECLARE @e nvarchar(10) = N'a😀b';
SELECT REGEXP_COUNT(@e, N'.') AS characters, REGEXP_INSTR(@e, N'b', 3) AS units, REGEXP_INSTR(@e, N'b', 4) AS gone, REGEXP_SUBSTR(@e, N'.', 3) AS third, REGEXP_REPLACE(@e, N'.', N'x') AS replaced;
GO
-- Parts.
SELECT REGEXP_SUBSTR('abc123', '\d+'), REGEXP_SUBSTR('abc', 'x*'), REGEXP_SUBSTR('abc', '\d'), REGEXP_SUBSTR('k1=v1;k2=v2', '(\w+)=(\w+)', 1, 2, 'c', 2), REGEXP_SUBSTR('ab', '(x)?b', 1, 1, 'c', 1), REGEXP_SUBSTR('ab', 'b', 1, 1, 'c', 7);
SELECT REGEXP_SUBSTR(CONCAT('one', CHAR(10), 'two'), '^t.*$', 1, 1, 'm'), REGEXP_COUNT(CONCAT('a', CHAR(10)), '.', 1, 's'), REGEXP_COUNT(CONCAT('a', CHAR(10)), '.');
GO
-- Replacements.
SELECT REGEXP_REPLACE('123-456-7890', '(\d{3})-(\d{3})-(\d{4})', '(\1) \2-\3'), REGEXP_REPLACE('123-456-7890', '(\d{3})-(\d{3})-(\d{4})', '(\1) (\4)-xxxx'), REGEXP_REPLACE('a1b2', '\d'), REGEXP_REPLACE('a1b2', '\d', 'n', 1, 2), REGEXP_REPLACE('a1b2', '\d', 'n', 3), REGEXP_REPLACE('a.b', '\.', '\\&$1\0\');
SELECT REGEXP_REPLACE('abc', '', '-'), REGEXP_REPLACE('abc', 'x*', '-'), REGEXP_REPLACE('abc', '^', '-'), REGEXP_REPLACE('abc', '$', '-'), REGEXP_REPLACE('', 'x*', '-'), REGEXP_REPLACE('', '', '-');
SELECT LEN(REGEXP_REPLACE(REPLICATE('a', 8000), 'a', 'bb')), LEN(REGEXP_REPLACE(REPLICATE(CAST('a' AS varchar(max)), 10000), 'a', 'bb'));
GO
-- What patterns may have: classes of ASCII, literal parts, brackets.
SELECT REGEXP_COUNT(N'é1٣', '\d'), REGEXP_COUNT(N'éa', '\w'), REGEXP_COUNT(N'éa', '\pL'), REGEXP_COUNT('a+b', '\Qa+b\E'), REGEXP_COUNT('a[b]', '[[\]]'), REGEXP_COUNT('a&&b~~', '[a&&b~]'), REGEXP_COUNT('a1 ]', '[]\d\s]'), REGEXP_COUNT('abc1', '[[:alpha:]]'), REGEXP_COUNT('abc', '(?i)B'), REGEXP_COUNT('éa a', '\ba');
GO
-- NULL gives NULL.
SELECT REGEXP_COUNT(NULL, '('), REGEXP_REPLACE('a', NULL, 'b'), REGEXP_SUBSTR('a', 'a', NULL), CASE WHEN REGEXP_LIKE(NULL, 'a') THEN 1 WHEN NOT REGEXP_LIKE(NULL, 'a') THEN 2 END;
GO
-- Errors.
SELECT REGEXP_COUNT('a', '(');
GO
SELECT REGEXP_COUNT('a', '[a');
GO
SELECT REGEXP_COUNT('a', ')');
GO
SELECT REGEXP_COUNT('a', 'a\');
GO
SELECT REGEXP_COUNT('a', 'a{2,1}');
GO
SELECT REGEXP_COUNT('a', 'a(?=b)');
GO
SELECT REGEXP_COUNT('a', 'a', 1, 'x');
GO
SELECT REGEXP_COUNT('a', 'a', 1, REPLICATE('i', 31));
GO
SELECT REGEXP_COUNT('a', 'a', 0);
GO
SELECT REGEXP_INSTR('a', 'a', 1, 0);
GO
SELECT REGEXP_INSTR('a', 'a', 1, 1, 2);
GO
SELECT REGEXP_SUBSTR('a', 'a', 1, 1, 'c', -1);
GO
SELECT REGEXP_REPLACE('a', 'a', 'b', 1, -1);
GO
SELECT REGEXP_COUNT('a');
GO
SELECT REGEXP_COUNT('a', CAST('a' AS varchar(max)));
GO
-- In FROM.
SELECT * FROM REGEXP_MATCHES('Learning #SQL #Rust2', '#([A-Za-z0-9_]+)');
SELECT * FROM REGEXP_MATCHES('abc', '');
SELECT * FROM REGEXP_MATCHES('', 'x*');
SELECT * FROM REGEXP_MATCHES('a"b', '(a)(x)?"');
SELECT * FROM REGEXP_SPLIT_TO_TABLE('a, b;c', '[,;]\s*');
SELECT * FROM REGEXP_SPLIT_TO_TABLE(',a,', ',');
SELECT * FROM REGEXP_SPLIT_TO_TABLE('abc', 'x*');
SELECT COUNT(*) FROM REGEXP_SPLIT_TO_TABLE('abc', NULL);
SELECT p.id, m.match_value FROM people AS p CROSS APPLY REGEXP_MATCHES(p.phone, '\d+') AS m ORDER BY p.id, m.match_id;
GO
SELECT * FROM REGEXP_MATCHES('a', '(');
GO
SELECT * FROM REGEXP_MATCHES('a');
GO
SELECT * FROM REGEXP_MATCHES(1, 'a');
GO
