-- Keys that many deleted or changed rows leave behind are looked for in one reading of the table that refers to them.
create database gone_keys
GO
use gone_keys
GO
create table parent (id int primary key, code varchar(10) collate Latin1_General_CI_AS not null unique, place int not null, room int not null, unique (place, room))
create table child (id int primary key, parent int null references parent, code varchar(10) collate Latin1_General_CI_AS null references parent (code))
create table seat (id int primary key, room int null, place int null, foreign key (place, room) references parent (place, room))
GO
insert parent select value, concat('C', value), value / 10, value % 10 from generate_series(1, 60)
insert child values (1, 50, 'c51 '), (2, null, null), (3, 50, null)
insert seat values (1, 3, 5), (2, null, 1), (3, 7, null)
GO
set statistics io on
delete parent where id <= 20
set statistics io off
select count(*) as n, min(id) as least from parent
GO
-- Some that are referred to, by the key, by a code that is written differently, and by two columns.
delete parent where id >= 45 and id <> 51 and id <> 53
GO
delete parent where id > 50 and id <> 53
GO
delete parent where id >= 52
GO
update child set code = null
delete parent where id in (51, 52, 54, 55, 56, 57)
select count(*) as n from parent
GO
-- With the last reference gone in time, by the same transaction.
begin transaction
update child set parent = 40
delete parent where id between 45 and 50
rollback
begin transaction
delete child where parent = 50
delete parent where id between 45 and 50
select count(*) as n from parent
rollback
select count(*) as n from parent
GO
-- Changed keys, and those that come back with another row.
update parent set id = id + 1000 where id < 50
update parent set id = id - 1000 where id > 1000
update parent set id = id + 1
GO
update parent set id = 109 - id where id between 49 and 60
select min(id) as least, max(id) as most from parent where code between 'C49' and 'C53'
GO
update parent set id = id + 1000 where id > 48
GO
-- MERGE
merge parent using (select value as id from generate_series(45, 60)) s on s.id = parent.id when matched then delete;
GO
merge parent using (select value as id from generate_series(21, 30)) s on s.id = parent.id when matched then delete;
select count(*) as n from parent
GO
-- Rows that refer to their own table
create table tree (id int primary key, up int null references tree)
insert tree select value, nullif(value / 2, 0) from generate_series(1, 40)
GO
delete tree where id between 10 and 19
GO
delete tree where id between 10 and 40
select count(*) as n from tree
delete tree
select count(*) as n from tree
GO
