-- Rows of other tables follow those that they refer to once all of these have changed, each table's together.
create table owner (id int primary key, name varchar(10) not null)
create table pet (id int primary key, owner int null references owner on delete cascade on update cascade, name varchar(10))
create table toy (id int primary key, pet int not null references pet on delete cascade, name varchar(10))
create table seen (n int identity primary key, what varchar(200))
insert owner values (1, 'Ann'), (2, 'Bob'), (3, 'Cid'), (4, 'Dot'), (5, 'Eve')
insert pet values (10, 1, 'ant'), (11, 1, 'ape'), (20, 2, 'bee'), (30, 3, 'cat'), (31, null, 'cod'), (40, 4, 'dog'), (50, 5, 'eel')
insert toy values (100, 10, 'arc'), (101, 10, 'axe'), (110, 11, 'ark'), (200, 20, 'bag'), (300, 30, 'cap'), (400, 40, 'die'), (500, 50, 'ear')
GO
create trigger owner_changes on owner after update, delete as
  insert seen select concat('owner: ', (select count(*) from inserted), ' come, ', (select count(*) from deleted), ' go, pets left ', (select count(*) from pet), ', toys ', (select count(*) from toy))
GO
create trigger pet_changes on pet after update, delete as
  insert seen select concat('pet: ', (select count(*) from inserted), ' come, ', (select count(*) from deleted), ' go: ', (select string_agg(concat(owner, '/', name), ' ') within group (order by id) from deleted), '; owners left ', (select count(*) from owner), ', toys ', (select count(*) from toy))
GO
create trigger toy_changes on toy after update, delete as
  insert seen select concat('toy: ', (select count(*) from inserted), ' come, ', (select count(*) from deleted), ' go: ', (select string_agg(name, ' ') within group (order by id) from deleted), '; pets left ', (select count(*) from pet))
GO
-- Keys that change places take their rows along, and a trigger fires once.
update owner set id = 6 - id
select * from pet order by id
select what from seen order by n
delete seen
GO
-- The table at the far end of the chain fires first.
delete owner where id in (1, 2, 5)
select * from pet order by id
select * from toy order by id
select what from seen order by n
delete seen
GO
-- What nobody follows fires the statement's own trigger alone.
delete owner where id = 99
select what from seen order by n
delete seen
GO
-- SET ROWCOUNT counts the statement's own rows.
insert pet values (60, 3, 'fly'), (61, 3, 'fox')
set rowcount 1
delete owner where id = 3
set rowcount 0
select * from pet order by id
select what from seen order by n
GO
-- Few rows and many, with an index for them and without, by one column and two.
create table country (id int primary key, code char(2) not null unique, zone int not null, unique (zone, id))
create table town (id int primary key, country int null default 1 foreign key references country on delete set null on update cascade,
  code char(2) null default 'zz' foreign key references country (code) on delete set default on update set null,
  zone int null, number int null, foreign key (zone, number) references country (zone, id) on delete set null)
create table street (id int primary key, country int references country on delete cascade, index by_country (country))
insert country select value, char(97 + value / 26) + char(97 + value % 26), value % 7 from generate_series(1, 200)
insert country values (999, 'zz', 0)
insert town select value, c.id, c.code, c.zone, c.id from generate_series(1, 1000) cross apply (select * from country where id = 1 + value % 200) c
insert street select value, 1 + value % 200 from generate_series(1, 1000)
GO
delete country where id between 11 and 12
select count(*) as towns, count(country) as countries, sum(iif(code = 'zz', 1, 0)) as defaults, count(zone) as zones, count(number) as numbers from town
select count(*) as streets from street
GO
delete country where id between 21 and 90
select count(*) as towns, count(country) as countries, sum(iif(code = 'zz', 1, 0)) as defaults, count(zone) as zones, count(number) as numbers from town
select count(*) as streets from street
GO
update country set id = id + 1000, code = char(97 + id % 26) + char(48 + id / 26) where id between 101 and 190 and 1 = 2
select count(*) as towns, count(country) as countries, count(code) as codes from town
GO
-- A key that rows refer to by a constraint without an action stays.
update country set id = id + 1000 where id between 101 and 190
GO
declare @drop nvarchar(200) = (select 'alter table town drop constraint ' + quotename(name) from sys.foreign_keys where parent_object_id = object_id('town') and delete_referential_action = 2 and update_referential_action = 0)
exec (@drop)
drop table street
update country set id = id + 1000, code = char(97 + id % 26) + char(48 + id / 26) where id between 101 and 190
select count(*) as towns, count(country) as countries, count(code) as codes, min(country) as least, max(country) as most from town where country > 1000
select count(*) as lost from town where country is not null and country not in (select id from country)
GO
-- What no action keeps may go in the same statement by another way.
create table head (id int primary key)
create table line (id int primary key, head int not null references head on delete cascade)
create table note (id int primary key, head int not null references head on delete cascade, line int not null references line)
insert head values (1), (2)
insert line values (1, 1), (2, 2)
insert note values (1, 1, 1), (2, 2, 2)
delete head where id = 1
select id from note
insert note values (3, 2, 2)
update note set head = 2
GO
insert head values (3)
insert note values (4, 3, 2)
delete head where id = 2
GO
select (select count(*) from head) as heads, (select count(*) from line) as lines, (select count(*) from note) as notes
GO
-- Through a table's own key, level by level; rows that a statement meets anyway go once.
create table tree (id int primary key, up int null references tree on delete cascade)
insert tree select value, nullif(value / 2, 0) from generate_series(1, 100)
delete tree where id in (2, 4, 5, 7)
select count(*) as rows, min(id) as least, sum(id) as total from tree
delete tree
select count(*) as rows from tree
GO
-- MERGE has rows follow both what it deletes and what it changes.
create table chief (id int primary key)
create table clerk (id int primary key, chief int null references chief on delete cascade on update cascade)
insert chief values (1), (2), (3)
insert clerk values (1, 1), (2, 2), (3, 3), (4, null)
merge chief using (values (1, 2), (2, 1)) s (old, new) on chief.id = s.old
when matched then update set id = s.new
when not matched by source then delete
output $action, deleted.id as old, inserted.id as new;
select * from clerk order by id
GO
-- More rows than are followed at once.
create table many (id int primary key)
create table more (id int identity primary key, many int not null references many on delete cascade)
insert many select value from generate_series(1, 25000)
insert more (many) select value from generate_series(1, 25000) where value % 5 = 0
delete many where id <= 24000
select count(*) as rows from more
GO
