-- DEFAULT is all that may be said of a rowversion column.
create table v (id int identity primary key, s varchar(9) not null, rv rowversion)
insert v (s, rv) values ('a', default)
insert v (s, rv) values ('b', default), ('c', default)
insert v values ('d', default)
insert v values ('e'), ('f')
insert v (rv, s) output inserted.id values (default, 'g')
merge v using (values ('h'), ('i')) as q (s) on v.s = q.s when not matched then insert (s, rv) values (q.s, default);
merge v using (values ('j')) as q (s) on v.s = q.s when not matched then insert values (q.s, default);
select id, s from v order by id
select count(distinct rv) as versions from v
GO
insert v (s, rv) values ('x', 0x01)
GO
insert v (s, rv) values ('x', default), ('y', null)
GO
insert v values ('x', 0x01)
GO
insert v (s, rv) select 'x', 0x01
GO
insert v values ('x', default, 1)
GO
merge v using (values ('z')) as q (s) on v.s = q.s when not matched then insert (s, rv) values (q.s, 0x02);
GO
drop table v
GO
-- What an identity has reached is asked for each row, in a query of its own too.
create table u (id int identity primary key, n varchar(10))
insert u (n) values ('a'), ('b')
set identity_insert u on
merge u using (values (null, 'x'), (null, 'y')) as q (id, n) on u.id = q.id
when not matched then insert (id, n) values ((select isnull(ident_current('u') + ident_incr('u'), 1)), q.n);
select * from u
drop table u
GO
