-- Aggregates, HAVING, ROLLUP, DISTINCT.
create table s (region varchar(5), product varchar(5), qty int, price decimal(8, 2))
insert s values ('n', 'p1', 1, 10.00), ('n', 'p2', 2, 5.50), ('s', 'p1', 3, 10.00), ('s', 'p1', null, 1.25), ('s', 'p2', 4, 2.00)
GO
select count(*) as c, count(qty) as cq, count(distinct product) as cd, sum(qty) as s, avg(qty) as a, min(price) as mi, max(price) as ma, sum(price) as sp, avg(price) as ap from s
GO
select region, sum(qty * price) as v from s group by region having sum(qty) > 3 order by region
GO
select region, product, sum(qty) as q, grouping(product) as g from s group by rollup (region, product) order by region, product
GO
select region, product, sum(qty) as q from s group by grouping sets ((region), (product), ()) order by region, product
GO
select region, count(*) as n from s group by region with cube order by region
GO
select region, qty from s group by region
GO
select region from s where sum(qty) > 1 group by region
GO
select sum(qty) as s, count(*) as c from s where 1 = 0
select region, sum(qty) as s from s where 1 = 0 group by region
GO
select distinct region from s order by region
select distinct top (1) product from s order by product desc
GO
select stdev(qty) as sd, var(qty) as v, stdevp(qty) as sp from s
GO
select upper(region) as r, count(*) as n from s group by upper(region) order by upper(region)
GO
select checksum_agg(qty) as c, count_big(*) as b from s
GO
drop table s
-- EXISTS does not look at the select list, not even at a star over groups.
create table doubles (a int, b int)
insert doubles values (1, 1), (1, 2), (2, 1)
if exists (select * from doubles group by a having count(*) > 1) print 'twice'
if not exists (select * from doubles group by b having count(*) > 2) print 'not thrice'
select d.a from doubles d where exists (select * from doubles x where x.a = d.a having count(*) > 1) group by d.a
select * from doubles group by a
GO
drop table doubles
GO
