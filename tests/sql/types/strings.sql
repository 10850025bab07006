-- Lengths, padding, comparison without regard to case and trailing blanks.
select len('abc  ') as l, datalength('abc  ') as d, len(N'abc') as nl, datalength(N'abc') as nd
GO
select case when 'abc' = 'ABC  ' then 'equal' else 'different' end as ci, case when 'abc' = 'ABC' collate Latin1_General_BIN2 then 'equal' else 'different' end as bin
GO
select cast('abcdef' as varchar(3)) as cut, '[' + cast('ab' as char(4)) + ']' as padded, cast('x' as varchar) as thirty
GO
create table #s (c char(3), v varchar(3), n nvarchar(3))
insert #s values ('a', 'b ', N'ç')
select '[' + c + ']' as c, '[' + v + ']' as v, n, datalength(n) as bytes from #s
GO
insert #s (v) values ('toolong')
GO
select v from #s where v = 'B'
GO
select 'a' + null as n, concat('a', null, 1) as c, 'it''s' as q
GO
select upper('abc') as u, left('abc', 2) as l, right('abc', 2) as r, substring('hello', 2, 3) as s, charindex('l', 'hello') as i, replace('hello', 'l', 'L') as rp, reverse('abc') as rv, stuff('abcdef', 2, 3, 'X') as st, replicate('ab', 3) as re, '[' + space(2) + ']' as sp
GO
select ltrim('  a') as l, rtrim('a  ') + '|' as r, trim('  a ') as t, ascii('A') as a, char(66) as c, unicode(N'é') as u, nchar(233) as n, patindex('%l%', 'hello') as p, quotename('a]b') as q
GO
select case when 'hello' like 'h%o' then 1 else 0 end as a, case when 'h_x' like 'h[_]x' then 1 else 0 end as b, case when '50%' like '50!%' escape '!' then 1 else 0 end as c, case when 'abc' like '[^b-z]%' then 1 else 0 end as d
GO
select string_agg(v, ',') within group (order by v desc) as agg from (values ('a'), ('c'), ('b')) t (v)
GO
select value from string_split('a,b,,c', ',')
