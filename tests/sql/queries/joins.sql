-- Joins, APPLY, subqueries.
create table a (id int, x varchar(5))
create table b (id int, y varchar(5))
insert a values (1, 'a1'), (2, 'a2'), (3, 'a3'), (null, 'an')
insert b values (2, 'b2'), (3, 'b3'), (3, 'b3b'), (4, 'b4'), (null, 'bn')
GO
select x, y from a join b on a.id = b.id order by x, y
GO
select x, y from a left join b on a.id = b.id order by x, y
GO
select x, y from a right join b on a.id = b.id order by y, x
GO
select x, y from a full join b on a.id = b.id order by x, y
GO
select count(*) as n from a cross join b
select count(*) as n from a, b where a.id < b.id
GO
select x, t.y from a cross apply (select top (1) y from b where b.id = a.id order by y desc) t order by x
select x, t.y from a outer apply (select top (1) y from b where b.id = a.id order by y desc) t order by x
GO
select x from a where id in (select id from b) order by x
select x from a where id not in (select id from b where id is not null) order by x
select x from a where id not in (select id from b) order by x
select x from a where exists (select * from b where b.id = a.id) order by x
select x from a where id > all (select id from b where id < 3) order by x
select x, (select count(*) from b where b.id = a.id) as n from a order by x
GO
select (select id from b)
GO
select x from a join b on a.id = b.id where id = 2
GO
select a.nope from a
GO
select nope.x from a
GO
select t.n, v.m from (values (1), (2)) t (n) join (values (2, 'two')) v (n, m) on v.n = t.n
GO
select x from a inner hash join b on a.id = b.id order by x, y
select a.x, y from a left loop join (b join a as a2 on a2.id = b.id) on a.id = b.id order by a.x, y
GO
drop table a, b
