-- Precision and scale of results follow the product's rules.
select cast(1 as decimal(10, 2)) / cast(3 as decimal(10, 2)) as q
GO
select cast(12345.678 as decimal(8, 2)) as rounded, cast(-2.5 as decimal(3, 0)) as away
GO
select cast(123456 as decimal(5, 0))
GO
select 1.5 + 2.25 as s, 1.5 * 2.25 as p, 1.10 - 0.1 as d, 10.0 % 3 as m
GO
select cast(99999999999999999999999999999999999999 as decimal(38, 0)) + 1
GO
select cast(1.25 as money) as m, $1.99 * 3 as t, cast('$1,234.5678' as money) as c, cast(1 as money) / 3 as q
GO
select cast(214748.3648 as smallmoney)
GO
select cast(0.1 as float) + cast(0.2 as float) as f, cast(1e10 as real) as r, 1e308 * 10 as o
GO
select round(123.456, 2) as a, round(123.456, -1) as b, round(123.456, 1, 1) as c, ceiling(1.2) as d, floor(-1.2) as e, abs(-3.5) as f, sign(-2) as g
GO
declare @d decimal(5, 2) = 1.005
select @d as d
set @d = 1000
