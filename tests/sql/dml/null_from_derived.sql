-- NULL in a derived table, which has no type of its own, is assigned to columns of every type.
create table md (id int, d date, g uniqueidentifier)
insert md values (1, '2026-01-01', newid())
merge md using (values (2, null)) s (a, b) on md.id = s.a when not matched then insert (id, d) values (s.a, s.b);
merge md using (select 1 a, null b) s on md.id = s.a when matched then update set g = s.b;
update m set d = s.b from md m join (select 1 a, null b) s on m.id = s.a
select * from md order by id
insert md (d) select c from (values (null)) x (c)
select count(*) from md where d is null
go
-- Where a type is asked for it is an int
select cast(c as date) from (values (null)) x (c)
go
select sql_variant_property(isnull(c, 1), 'BaseType') from (values (null)) x (c)
go
