CREATE TABLE dept (id int PRIMARY KEY, name nvarchar(20) NOT NULL);
CREATE TABLE emp (id int PRIMARY KEY, name nvarchar(20) NOT NULL, dept int NULL, salary money NULL, boss int NULL, hired date NULL);
CREATE INDEX ix_emp_dept ON emp (dept, salary);
INSERT dept VALUES (1, N'Sales'), (2, N'Tech'), (3, N'Empty');
INSERT emp VALUES (1, N'Ann', 1, 100, NULL, '2020-01-05'), (2, N'Bob', 1, 200, 1, '2020-02-01'), (3, N'Cid', 2, 150, 1, '2021-03-01'),
 (4, N'Dee', 2, 150, 3, '2021-03-02'), (5, N'Eve', NULL, 300, 3, NULL);
GO
SELECT e.name, d.name FROM emp e JOIN dept d ON e.dept = d.id ORDER BY e.id;
SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id ORDER BY e.id;
SELECT e.name, d.name FROM emp e RIGHT JOIN dept d ON e.dept = d.id ORDER BY d.id, e.id;
SELECT e.name, d.name FROM emp e FULL JOIN dept d ON e.dept = d.id ORDER BY d.id, e.id;
SELECT COUNT(*) FROM emp, dept;
SELECT a.name, b.name FROM emp a JOIN emp b ON a.salary < b.salary AND a.dept = 1 ORDER BY a.id, b.id;
GO
SELECT name FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id) ORDER BY id;
SELECT name FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id);
SELECT name FROM emp WHERE dept IN (SELECT id FROM dept WHERE name LIKE 'T%') ORDER BY id;
SELECT name FROM dept WHERE id NOT IN (SELECT dept FROM emp);
SELECT name FROM dept WHERE id NOT IN (SELECT dept FROM emp WHERE dept IS NOT NULL);
SELECT name, (SELECT COUNT(*) FROM emp e WHERE e.dept = d.id) AS n FROM dept d ORDER BY id;
SELECT name FROM emp e WHERE salary > (SELECT AVG(salary) FROM emp x WHERE x.dept = e.dept) ORDER BY id;
SELECT name FROM emp WHERE salary >= ALL (SELECT salary FROM emp);
SELECT name FROM emp WHERE salary = ANY (SELECT salary FROM emp WHERE dept = 2) ORDER BY name;
SELECT (SELECT name FROM emp);
GO
SELECT d.name, x.name, x.salary FROM dept d CROSS APPLY (SELECT TOP 1 * FROM emp e WHERE e.dept = d.id ORDER BY salary DESC) x ORDER BY d.id;
SELECT d.name, x.name FROM dept d OUTER APPLY (SELECT TOP 1 name FROM emp e WHERE e.dept = d.id ORDER BY salary DESC, id) x ORDER BY d.id;
WITH c AS (SELECT dept, SUM(salary) AS total FROM emp GROUP BY dept) SELECT d.name, c.total FROM c JOIN dept d ON d.id = c.dept ORDER BY total;
WITH r (id, name, lvl) AS (SELECT id, name, 0 FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, e.name, r.lvl + 1 FROM emp e JOIN r ON e.boss = r.id)
SELECT * FROM r ORDER BY lvl, id;
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT COUNT(*) FROM n;
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT COUNT(*) FROM n OPTION (MAXRECURSION 0);
GO
SELECT dept, COUNT(*) n, SUM(salary) s FROM emp GROUP BY ROLLUP (dept) ORDER BY GROUPING(dept), dept;
SELECT dept, salary, COUNT(*) FROM emp GROUP BY GROUPING SETS ((dept), (salary), ()) ORDER BY 1, 2, 3;
SELECT COUNT(DISTINCT salary), SUM(DISTINCT salary), COUNT(dept) FROM emp;
SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY name DESC) FROM emp;
SELECT dept, MAX(name) FROM emp GROUP BY dept HAVING MAX(salary) > 150 ORDER BY dept;
SELECT name, CASE dept WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'other' END, IIF(salary > 150, 'hi', 'lo'), COALESCE(dept, -1), NULLIF(dept, 2), ISNULL(dept, 7) FROM emp ORDER BY id;
GO
SELECT name, ROW_NUMBER() OVER (ORDER BY salary DESC, id) rn, RANK() OVER (ORDER BY salary DESC) rk, DENSE_RANK() OVER (ORDER BY salary DESC) dr, NTILE(2) OVER (ORDER BY id) nt FROM emp ORDER BY id;
SELECT name, SUM(salary) OVER (PARTITION BY dept ORDER BY id) run, COUNT(*) OVER () c, LAG(name) OVER (ORDER BY id) prev, LEAD(name, 1, N'-') OVER (ORDER BY id) nxt FROM emp ORDER BY id;
SELECT name, AVG(salary) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) a, FIRST_VALUE(name) OVER (PARTITION BY dept ORDER BY id) f, LAST_VALUE(name) OVER (PARTITION BY dept ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) l FROM emp ORDER BY id;
SELECT * FROM (SELECT name, ROW_NUMBER() OVER (PARTITION BY dept ORDER BY salary DESC) rn FROM emp) x WHERE rn = 1 ORDER BY name;
SELECT ROW_NUMBER() FROM emp;
GO
SELECT id FROM emp ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;
SELECT TOP 1 WITH TIES name, salary FROM emp WHERE dept = 2 ORDER BY salary;
SELECT TOP 40 PERCENT id FROM emp ORDER BY id;
SELECT dept FROM emp INTERSECT SELECT id FROM dept ORDER BY 1;
SELECT id FROM dept EXCEPT SELECT dept FROM emp;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(x, y) ORDER BY x DESC;
SELECT MIN(salary), MAX(salary) FROM emp;
SELECT MAX(salary) FROM emp WHERE dept = 1;
SELECT MAX(id) FROM emp WHERE id < 0;
SELECT * FROM (SELECT dept, salary FROM emp) p PIVOT (SUM(salary) FOR dept IN ([1], [2])) x;
SELECT id, k, v FROM (SELECT id, CAST(dept AS int) AS dept, boss FROM emp) p UNPIVOT (v FOR k IN (dept, boss)) u ORDER BY id, k;
GO
CREATE VIEW v_emp AS SELECT e.id, e.name, d.name AS dname FROM emp e JOIN dept d ON d.id = e.dept
GO
SELECT * FROM v_emp WHERE id = 3;
SELECT name FROM emp WHERE name LIKE 'A%' OR name LIKE N'%e' ORDER BY name;
SELECT id FROM emp WHERE hired BETWEEN '2020-01-01' AND '2021-03-01' ORDER BY id;
SELECT id FROM emp WHERE id IN (1, 3, 5, 77) ORDER BY id DESC;
SELECT id FROM emp WHERE dept IN (2, 1) ORDER BY id;
SELECT UPPER(name), LEN(name), SUBSTRING(name, 1, 2), name + '!' FROM emp WHERE id = 1;
SELECT DATEDIFF(day, hired, '2020-02-01'), YEAR(hired), DATEADD(month, 1, hired) FROM emp WHERE id = 1;
SELECT CAST('12' AS int) + 1, CONVERT(varchar(10), 5.25), TRY_CAST('x' AS int), 7 / 2, 7.0 / 2, 5 % 3, -id FROM emp WHERE id = 1;
SELECT name AS n FROM emp ORDER BY emp.name DESC;
SELECT d.name, COUNT(e.id) c FROM dept d LEFT JOIN emp e ON e.dept = d.id AND e.salary > 100 GROUP BY d.name ORDER BY c DESC, d.name;
SELECT e.name INTO copy FROM emp e WHERE dept = 1;
SELECT * FROM copy;
GO
