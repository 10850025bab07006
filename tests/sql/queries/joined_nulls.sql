-- NULL is equal to NULL in conditions that say so, and a hash table finds them.
create table l (id int primary key, a int, s varchar(10))
create table r (id int primary key, a bigint, s varchar(10))
insert l values (1, 1, 'x'), (2, null, 'Y'), (3, null, null), (4, 4, null), (5, 5, 'z')
insert r values (1, 1, 'X'), (2, null, 'y'), (3, 4, null), (4, null, null), (5, 6, 'w')
GO
select l.id, r.id from l join r on l.a = r.a or (l.a is null and r.a is null) order by 1, 2
select l.id, r.id from l left join r on (l.s is null and r.s is null) or l.s = r.s order by 1, 2
select l.id, r.id from l full join r on l.a is not distinct from r.a and l.s is not distinct from r.s order by 1, 2
select l.id from l where exists (select * from r where (r.s is null and l.s is null or l.s = r.s) and (l.a = r.a or l.a is null and r.a is null)) order by 1
select l.id from l where not exists (select * from r where r.a is not distinct from l.a) order by 1
-- These are something else.
select l.id, r.id from l join r on l.a = r.a or (l.a is null and r.s is null) order by 1, 2
select l.id, r.id from l join r on l.a = r.a or l.a is null or r.a is null order by 1, 2
select l.id, r.id from l join r on (l.a = r.a and l.s is not null) or (l.a is null and r.a is null) order by 1, 2
select l.id, r.id from l join r on l.a is distinct from r.a where l.id < 3 and r.id < 3 order by 1, 2
-- Another collation compares as it says.
select l.id, r.id from l join r on l.s = r.s collate Latin1_General_BIN2 or (l.s is null and r.s is null) order by 1, 2
GO
set showplan_text on
GO
select l.id, r.id from l join r on l.a = r.a or (l.a is null and r.a is null)
select l.id, r.id from l full join r on l.a is not distinct from r.a and l.s is not distinct from r.s
select l.id from l where not exists (select * from r where r.a is not distinct from l.a)
select l.id, r.id from l join r on l.a = r.a or l.a is null
GO
