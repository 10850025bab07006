-- Block predicates: which rows may be written.
create database shop
GO
use shop
GO
create table dbo.orders (id int primary key, owner sysname not null, amount int, twice as amount * 2, unique (amount, id))
create table dbo.incoming (id int, owner sysname, amount int)
create table dbo.parents (id int primary key)
create table dbo.children (id int primary key, parent int references dbo.parents (id) on delete cascade on update cascade, owner sysname)
create table dbo.log (id int, owner sysname)
insert dbo.orders values (1, 'ann', 10), (2, 'bob', 20), (3, 'ann', 30)
insert dbo.incoming values (10, 'ann', 1), (11, 'bob', 2)
create user ann without login
grant select, insert, update, delete to ann
GO
create schema rules
GO
create function rules.own(@owner sysname) returns table with schemabinding as
return select 1 as ok where @owner = user_name()
GO
create function rules.small(@amount int) returns table with schemabinding as
return select 1 as ok where @amount <= 100
GO
-- AFTER INSERT, whatever the way in.
create security policy rules.p add block predicate rules.own(owner) on dbo.orders after insert,
add block predicate rules.own(owner) on dbo.log after insert
GO
execute as user = 'ann'
insert dbo.orders (id, owner, amount) values (4, 'bob', 1)
insert dbo.orders (id, owner, amount) values (4, 'ann', 1)
insert dbo.orders (id, owner, amount) values (5, 'ann', 1), (6, 'bob', 1)
insert dbo.orders (id, owner, amount) select id, owner, amount from dbo.incoming
merge dbo.orders as t using dbo.incoming as s on t.id = s.id
when not matched then insert (id, owner, amount) values (s.id, s.owner, s.amount);
insert dbo.orders (id, owner, amount) exec ('select 12, ''bob'', 3')
update dbo.orders set amount = 2 output inserted.id, inserted.owner into dbo.log where id < 3
update dbo.orders set owner = 'bob' where id = 4
delete dbo.orders where id = 2
select id, owner, amount from dbo.orders order by id
select * from dbo.log
revert
GO
-- dbo as well; and it can be caught.
begin try
    insert dbo.orders (id, owner, amount) values (7, 'ann', 1)
end try
begin catch
    select error_number() as n, error_severity() as s, error_state() as st, error_message() as m
end catch
insert dbo.orders (id, owner, amount) values (7, 'dbo', 1)
GO
-- Through a view the table is what is guarded.
create view dbo.all_orders as select id, owner, amount from dbo.orders
GO
insert dbo.all_orders values (8, 'ann', 1)
GO
-- What constraints say comes first.
insert dbo.orders (id, owner, amount) values (1, 'ann', 1)
insert dbo.orders (id, owner, amount) values (9, null, 1)
GO
-- AFTER UPDATE looks at the new row, when a column it is called with is assigned.
alter security policy rules.p drop block predicate on dbo.orders after insert,
drop block predicate on dbo.log after insert,
add block predicate rules.small(amount) on dbo.orders after update
GO
insert dbo.orders (id, owner, amount) values (20, 'ann', 500), (21, 'ann', 5)
update dbo.orders set amount = 101 where id = 21
update dbo.orders set amount = amount * 50 where id in (20, 21)
update dbo.orders set owner = 'bob' where id = 20
update dbo.orders set amount = amount where id = 20
update dbo.orders set amount = 100 where id = 20
update o set amount = 600 from dbo.orders o join dbo.incoming i on i.owner = o.owner
update dbo.orders set id = id + 1, amount = amount + 1 where id >= 20
merge dbo.orders as t using (values (21)) s (id) on t.id = s.id when matched then update set amount = 102;
select id, owner, amount, twice from dbo.orders where id >= 20 order by id
GO
-- BEFORE UPDATE and BEFORE DELETE look at the row as it was.
alter security policy rules.p drop block predicate on dbo.orders after update,
add block predicate rules.own(owner) on dbo.orders before update,
add block predicate rules.own(owner) on dbo.orders before delete
GO
execute as user = 'ann'
update dbo.orders set amount = 7 where id = 1
update dbo.orders set owner = 'carl' where id = 1
update dbo.orders set owner = 'ann' where id = 1
update dbo.orders set amount = 7 where owner = 'bob'
update dbo.orders set id = 100 where id = 3
delete dbo.orders where id = 100
delete dbo.orders where id = 1
delete dbo.orders
merge dbo.orders as t using (values (21)) s (id) on t.id = s.id when matched then delete;
merge dbo.orders as t using (values (21)) s (id) on t.id = s.id when matched then update set amount = 1;
declare c cursor local for select id from dbo.orders where owner = 'bob'
open c
fetch next from c
delete dbo.orders where current of c
close c
revert
select id, owner, amount from dbo.orders order by id
GO
-- All operations.
alter security policy rules.p drop block predicate on dbo.orders before update, drop block predicate on dbo.orders before delete,
add block predicate rules.own(owner) on dbo.orders
GO
execute as user = 'ann'
insert dbo.orders (id, owner, amount) values (30, 'bob', 1)
insert dbo.orders (id, owner, amount) values (30, 'ann', 1)
update dbo.orders set owner = 'bob' where id = 30
update dbo.orders set amount = 3 where id = 21
delete dbo.orders where id = 21
delete dbo.orders where id = 30
revert
GO
-- Cascades of foreign keys pass.
alter security policy rules.p add block predicate rules.own(owner) on dbo.children, add filter predicate rules.own(owner) on dbo.children
GO
alter security policy rules.p with (state = off)
insert dbo.parents values (1), (2)
insert dbo.children values (1, 1, 'bob'), (2, 2, 'bob')
alter security policy rules.p with (state = on)
GO
execute as user = 'ann'
select * from dbo.children
delete dbo.parents where id = 1
update dbo.parents set id = 3 where id = 2
revert
alter security policy rules.p with (state = off)
select * from dbo.children
alter security policy rules.p with (state = on)
GO
-- With a filter, what is hidden is neither changed nor blocked.
alter security policy rules.p add filter predicate rules.own(owner) on dbo.orders
GO
execute as user = 'ann'
update dbo.orders set amount = 1
delete dbo.orders
insert dbo.orders (id, owner, amount) values (31, 'ann', 1)
update dbo.orders set owner = 'bob'
select id, owner from dbo.orders
revert
GO
-- An INSTEAD OF trigger replaces the statement, checks and all; an AFTER trigger changes rows as who fired it.
create trigger dbo.instead on dbo.orders instead of insert as select count(*) as n from inserted
GO
insert dbo.orders (id, owner, amount) values (40, 'bob', 1)
GO
drop trigger dbo.instead
GO
create trigger dbo.afterwards on dbo.incoming after insert as insert dbo.orders (id, owner, amount) select id, owner, amount from inserted
GO
insert dbo.incoming values (50, 'bob', 1)
select count(*) as n from dbo.incoming
GO
-- A predicate that looks things up.
drop security policy rules.p
create table rules.limits (owner sysname primary key, most int)
insert rules.limits values ('ann', 10), ('bob', 20)
GO
create function rules.within(@owner sysname, @amount int) returns table with schemabinding as
return select 1 as ok from rules.limits as l where l.owner = @owner and @amount <= l.most
GO
create security policy rules.p add block predicate rules.within(owner, amount) on dbo.orders after insert,
add block predicate rules.within(owner, amount) on dbo.orders after update
GO
insert dbo.orders (id, owner, amount) values (60, 'ann', 10), (61, 'bob', 20)
insert dbo.orders (id, owner, amount) values (62, 'ann', 10), (63, 'ann', 11)
insert dbo.orders (id, owner, amount) values (62, 'carl', 1)
update dbo.orders set amount = amount + 1 where id = 60
update dbo.orders set owner = 'bob' where id = 60
update dbo.orders set amount = amount + 1 where id = 60
select id, owner, amount from dbo.orders where id >= 60
GO
-- Disabled, it blocks nothing.
alter security policy rules.p with (state = off)
insert dbo.orders (id, owner, amount) values (62, 'carl', 1)
GO
-- The rows of a history table are added whatever its policies say.
create table dbo.prices (id int primary key, price int, f datetime2 generated always as row start hidden, e datetime2 generated always as row end hidden, period for system_time (f, e))
    with (system_versioning = on (history_table = dbo.prices_before))
insert dbo.prices (id, price) values (1, 1), (2, 200)
GO
create security policy rules.prices add filter predicate rules.small(price) on dbo.prices,
add block predicate rules.small(price) on dbo.prices
GO
update dbo.prices set price = 2
update dbo.prices set price = 300
select id, price from dbo.prices for system_time all order by id, price
select id, price from dbo.prices_before
delete dbo.prices
select id, price from dbo.prices for system_time all order by id, price
GO
alter security policy rules.prices add filter predicate rules.small(id) on dbo.prices_before
alter security policy rules.prices alter filter predicate rules.own(price) on dbo.prices_before
GO
select id, price from dbo.prices for system_time all order by id, price
alter security policy rules.prices add block predicate rules.small(id) on dbo.prices_before
GO
-- A predicate that reads the table sees the statement's rows before.
create table dbo.quota (id int primary key, tenant int)
GO
create function rules.room(@id int, @tenant int) returns table with schemabinding as
return select 1 as ok where not exists (select 1 from dbo.quota q where q.tenant = @tenant and q.id < @id - 1)
GO
create security policy rules.quota add block predicate rules.room(id, tenant) on dbo.quota after insert
GO
insert dbo.quota values (1, 1), (2, 1), (11, 2)
GO
insert dbo.quota values (21, 3), (31, 4), (23, 3)
GO
create function rules.one(@tenant int) returns table with schemabinding as
return select 1 as ok where not exists (select 1 from dbo.quota q where q.tenant = @tenant group by q.tenant having count(*) > 1)
GO
alter security policy rules.quota alter block predicate rules.one(tenant) on dbo.quota after insert
GO
insert dbo.quota values (41, 5), (42, 6), (43, 7)
GO
insert dbo.quota values (51, 8), (52, 8), (53, 8)
GO
insert dbo.quota values (61, 9), (62, 10), (63, 9), (64, 9)
GO
select * from dbo.quota
GO
-- However large the table is.
insert dbo.quota select value, value from generate_series(1000, 4000)
GO
update statistics dbo.quota
GO
insert dbo.quota values (71, 11), (72, 12), (73, 11), (74, 11)
GO
select * from dbo.quota where id between 70 and 80
GO
