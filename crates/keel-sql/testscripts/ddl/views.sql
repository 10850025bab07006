-- Changing rows through views.
create table m (a int primary key, b int not null default 0); create table i (id int identity, v int);
insert m values (1, 1), (2, 2); insert i values (10)
GO
create view vc as select a, b from m where b < 10 with check option
GO
create view vcc as select a, b from vc
GO
insert vc values (5, 50)
GO
insert vcc values (5, 50)
GO
update vc set b = 50 where a = 1
GO
insert vcc values (5, 5); update vc set b = 9 where a = 5; select a, b from m order by a
GO
create view vj as select m.a, m.b, i.id, i.v from m join i on i.id = m.a
GO
insert vj (a, b, v) values (9, 9, 9)
GO
insert vj (a, b) values (9, 9)
GO
update vj set b = 1, v = 2
GO
update vj set b = 7; update vj set v = 8; select a, b, id, v from vj
GO
delete vj
GO
create view vg as select b, count(*) c from m group by b
GO
update vg set c = 1
GO
update vg set b = 1
GO
delete vg
GO
insert vg (b) values (1)
GO
create view vd as select distinct b from m
GO
delete vd
GO
create view vu as select a, b from m union all select id, v from i
GO
delete vu
GO
create view vx as select a, b + 1 as b1 from m
GO
update vx set b1 = 3
GO
insert vx (a, b1) values (11, 1)
GO
insert vx (a) values (11); select a, b1 from vx where a = 11
GO
with c as (select a, row_number() over (order by a) as n from m) delete c where n > 3; select count(*) as n from m
GO
create table #t (a int constraint fk_a references m (a), b int references m); insert #t values (99, 99); select a, b from #t
GO
