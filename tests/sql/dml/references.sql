-- Foreign keys are checked when a statement is through, whatever its rows went through.
create table parent (id int primary key, code varchar(10) unique, note varchar(10))
create table child (id int primary key, parent int null references parent, code varchar(10) null references parent (code))
insert parent values (1, 'one', ''), (2, 'two', ''), (3, 'three', '')
insert child values (10, 1, 'one'), (20, 2, null)
GO
-- A key that is given its own value goes nowhere.
update parent set id = id, code = 'one', note = 'same' where id = 1
update parent set code = 'ONE' where id = 1
merge parent using (values (1, 'One')) s (id, code) on parent.id = s.id when matched then update set code = s.code, id = s.id;
select * from parent order by id
GO
-- Keys change places, or move up by one into each other's.
update parent set id = 3 - id where id in (1, 2)
update parent set code = case code when 'One' then 'three' when 'three' then 'one' else code end
select * from parent order by id
GO
-- All of a row goes with it, also what was not assigned.
create table swapped (id int primary key, code varchar(10) unique, note varchar(10), x int, y as x + 1)
create unique index i on swapped (x) include (note) where x is not null
insert swapped (id, code, note, x) values (1, 'one', 'a', 5), (2, 'two', 'b', 6), (3, 'three', 'c', 7)
update swapped set code = case code when 'one' then 'three' when 'three' then 'one' else code end
select * from swapped order by id
update swapped set x = 12 - x
select * from swapped order by id
merge swapped using (values (1, 'three'), (2, 'two')) s (id, code) on swapped.id = s.id when matched then update set code = case s.id when 1 then 'two' else 'three' end;
GO
select * from swapped with (index (i)) where x is not null order by id
GO
-- One that is left without.
update parent set id = id + 1
GO
update parent set code = 'four' where code = 'one'
GO
delete parent where id = 1
GO
-- What takes its place in the same statement keeps it: MERGE takes away, changes and adds, in this order.
merge parent using (values (1, 'two'), (7, 'one'), (2, 'three')) s (id, code) on parent.id = s.id
when not matched by target then insert values (s.id, s.code, 'new')
when matched then update set note = 'kept', code = case s.id when 1 then 'three' else 'two' end
when not matched by source and parent.id = 3 then delete
output $action, deleted.id as old, inserted.id as new, inserted.code;
select * from parent order by id
GO
-- Rows that refer to each other come in any order, and go in any.
create table tree (id int primary key, up int null references tree)
insert tree values (3, 2), (2, 1), (1, null), (4, 4)
update tree set id = id + 10, up = up + 10
select * from tree order by id
GO
insert tree values (5, 6)
GO
insert tree values (5, 6), (6, 7)
GO
update tree set up = 99 where id = 11
GO
update tree set id = 99 where id = 12
GO
delete tree where id = 12
GO
merge tree using (values (12)) s (id) on tree.id = s.id when matched then delete;
GO
delete tree where id in (11, 12)
GO
delete tree
select count(*) as trees from tree
GO
-- Cascades go with what moves only.
create table owner (id int primary key, name varchar(10) unique)
create table owned (id int primary key, owner int null references owner on update cascade, name varchar(10) references owner (name) on update set null)
insert owner values (1, 'a'), (2, 'b')
insert owned values (1, 1, 'a'), (2, 2, 'b')
update owner set id = id, name = name
select * from owned order by id
update owner set id = 5, name = 'a' where id = 1
update owner set name = 'c' where id = 2
select * from owned order by id
GO
