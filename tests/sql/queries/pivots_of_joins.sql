-- PIVOT behind a join is of all that is joined: columns of both sides that it does not name make the groups.
create table product (id int, name varchar(10))
create table sale (product int, year int, amount int)
insert product values (1, 'plum'), (2, 'pear')
insert sale values (1, 2024, 10), (1, 2025, 20), (2, 2025, 5), (1, 2025, 1)
GO
select p.name, p.[2024], p.[2025]
from product join (select product, year, amount from sale) s on s.product = product.id
pivot (sum(amount) for year in ([2024], [2025])) p
order by p.name
GO
select * from product join sale on sale.product = product.id pivot (sum(amount) for year in ([2025])) p order by id
GO
-- So behind CROSS APPLY and CROSS JOIN, and a join goes on behind it.
select p.product, p.low, p.high, n.name
from sale cross apply (values ('low', case when amount < 10 then amount end), ('high', case when amount >= 10 then amount end)) v (kind, part)
pivot (sum(part) for kind in (low, high)) p
join product n on n.id = p.product
order by p.product, p.year, p.amount
GO
select * from product cross join (values ('a', 1), ('b', 2)) v (k, n) pivot (max(n) for k in (a, b)) p order by id
GO
select id, what, value
from (select cast(id as int) as id, 3 as size from product) a join (select 4 as weight) b on 1 = 1
unpivot (value for what in (size, weight)) u
order by id, what
