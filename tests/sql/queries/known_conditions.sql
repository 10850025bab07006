-- What a condition is known to be before any row is looked at.
CREATE DATABASE known;
GO
USE known;
CREATE TABLE t (a int, b int, c decimal(6, 2));
INSERT t VALUES (1, 0, 1.5), (2, 0, 2.5), (2, 5, NULL);
GO
-- A comparison with NULL passes no row, and nothing else is evaluated.
SELECT a FROM t WHERE a / b = NULL;
SELECT a FROM t WHERE NOT a / b <> NULL;
SELECT a FROM t WHERE NOT a / b NOT BETWEEN NULL AND a;
SELECT a FROM t WHERE NULL IN (a / b) OR a = 1;
SELECT a FROM t WHERE a NOT IN (92, NULL, a / b);
GO
-- Columns that decide nothing need not be grouped.
SELECT a AS b FROM t GROUP BY a HAVING NULL > b;
SELECT a FROM t GROUP BY a HAVING NOT b IS NULL AND NULL IS NOT NULL;
SELECT a FROM t GROUP BY a HAVING NOT NULL IS NULL OR b NOT BETWEEN NULL AND NULL;
SELECT COALESCE(3, c) AS x FROM t GROUP BY a ORDER BY a;
SELECT COALESCE(a, 58, b * 2) AS x FROM t GROUP BY a ORDER BY a;
SELECT CASE -75 WHEN -96 THEN b WHEN a THEN NULL ELSE 4 END AS x FROM t GROUP BY a ORDER BY a;
GO
-- Those that do are refused, and what can be raised is.
SELECT a FROM t GROUP BY a HAVING b > 1;
GO
SELECT COALESCE(a, b) FROM t GROUP BY a;
GO
SELECT CASE 75 WHEN 75 THEN b END FROM t GROUP BY a;
GO
SELECT a FROM t WHERE a / b = 1;
GO
USE master;
DROP DATABASE known;
GO
GO
-- An alternative that is true for every row: the others are not evaluated, wherever they stand.
create table zeros (a int, b int)
insert zeros values (1, 1), (2, 0)
select a from zeros where 1 / (b - b) = 1 or null is null
select a from zeros where (1 / b = 1 or 1 = 1) and a > 1
select x.a, y.a from zeros x left join zeros y on x.a / y.b = 1 or 1 = 1 order by 1, 2
GO
select a from zeros where 1 / b = 1 or 1 = 2
GO
drop table zeros
GO
-- Alternatives inside of alternatives, as generated statements nest them: each is looked at once.
create table nested (a int)
insert nested values (7)
select a from nested where ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a = 100 or a = 101) or a = 102) or a = 103) or a = 104) or a = 105) or a = 106) or a = 107) or a = 108) or a = 109) or a = 110) or a = 111) or a = 112) or a = 113) or a = 114) or a = 115) or a = 116) or a = 117) or a = 118) or a = 119) or a = 120) or a = 121) or a = 122) or a = 123) or a = 124) or a = 125) or a = 126) or a = 127) or a = 128) or a = 129) or a = 130) or a = 131) or a = 132) or a = 133) or a = 134) or a = 135) or a = 136) or a = 137) or a = 138) or a = 139) or a = 140) or a = 141) or a = 142) or a = 143) or a = 144) or a = 145) or a = 146) or a = 147) or a = 148) or a = 149) or a = 150) or a = 151) or a = 152) or a = 153) or a = 154) or a = 155) or a = 156) or a = 157) or a = 158) or a = 159) or a = 7)
select count(*) from nested where ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a = 7 and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1) and a > 1)
GO
drop table nested
