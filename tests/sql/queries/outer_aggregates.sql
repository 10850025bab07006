-- An aggregate in a subquery belongs to the query whose columns it reads.
create table pub (id int, awards int); create table book (pub int, rating float, price float)
insert pub values (1, 3), (2, 1), (3, 9)
insert book values (1, 4, 30), (1, 5, 20), (2, 3, 1), (2, 1, 2)
GO
select p.id, p.awards, (select max(value) from (values (avg(b.rating)), (avg(b.price))) as g(value)) as greatest
from pub p left join book b on b.pub = p.id
group by p.id, p.awards
having (select max(value) from (values (avg(b.rating)), (avg(b.price))) as g(value)) >= p.awards
order by (select min(value) from (values (avg(b.rating)), (avg(b.price))) as g(value))
GO
select sum(rating) as own, (select sum(b.rating)) as outer_sum, (select count(*) from pub where awards > min(b.rating)) as n,
  (select top (1) count(b.rating) from pub) as pubs
from book b
GO
-- Of both: the inner one's.
select p.id, (select sum(b.rating + p.awards) from book b where b.pub = p.id) as s from pub p order by p.id
select id, (select (select max(p.awards) from book) from book b where b.pub = 9) as nothing from pub p group by id order by id
select (select max(awards) from pub) as m, (select count(*) from book) as n
GO
select p.id, (select sum(p.awards)) from pub p
GO
select 1 from pub p where exists (select 1 from book having sum(p.awards) > 1)
GO
select (select 1 from book b where sum(b.price) > 1) from pub p
GO
select id from pub p group by id having exists (select 1 from book b where b.pub = p.id and b.rating > max(p.awards)) order by id
GO
