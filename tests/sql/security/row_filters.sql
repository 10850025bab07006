-- Filter predicates: rows that do not pass are not there, whoever asks and however.
create database shop
GO
use shop
GO
create table dbo.orders (id int primary key, owner sysname not null, amount int, note varchar(20))
create index by_owner on dbo.orders (owner)
insert dbo.orders values (1, 'ann', 10, 'x'), (2, 'bob', 20, 'y'), (3, 'dbo', 30, 'z'), (4, 'ann', 0, 'w')
create table dbo.lines (id int primary key, order_id int references dbo.orders (id), n int)
insert dbo.lines values (1, 1, 5), (2, 2, 6), (3, 3, 7), (4, 4, 8)
create user ann without login
create user bob without login
create user boss without login
create role managers
alter role managers add member boss
grant select, insert, update, delete on dbo.orders to ann, bob, boss
grant select, insert, update, delete on dbo.lines to ann, bob, boss
GO
create schema rules
GO
create function rules.own(@owner sysname) returns table with schemabinding as
return select 1 as ok where @owner = user_name() or is_member('managers') = 1
GO
create security policy rules.orders add filter predicate rules.own(owner) on dbo.orders
GO
select id from dbo.orders order by id
GO
execute as user = 'ann'
select id from dbo.orders order by id
select count(*) as n, sum(amount) as total, max(id) as last from dbo.orders
select max(id) as m from dbo.orders
select id from dbo.orders where id = 2
select id from dbo.orders with (nolock) order by id
select id from dbo.orders with (index (by_owner)) where owner >= 'a' order by id
select owner from dbo.orders order by owner
select o.id from dbo.orders o join dbo.lines l on l.order_id = o.id order by o.id
select l.id from dbo.lines l left join dbo.orders o on l.order_id = o.id where o.id is null order by l.id
select id from dbo.lines where order_id in (select id from dbo.orders) order by id
select id from dbo.lines where order_id not in (select id from dbo.orders) order by id
select id from dbo.lines l where exists (select 1 from dbo.orders o where o.id = l.order_id) order by id
select (select count(*) from dbo.orders) as n
;with c as (select * from dbo.orders) select a.id, b.id from c a join c b on a.id < b.id
select id from dbo.orders union all select id from dbo.orders order by id
select x.id from dbo.lines l cross apply (select id from dbo.orders o where o.id = l.order_id) x order by x.id
select top 1 id from dbo.orders order by id desc
select id from dbo.orders order by id offset 1 rows fetch next 1 rows only
select owner, count(*) as n from dbo.orders group by owner
select id, row_number() over (order by id) as r from dbo.orders order by id
exec ('select count(*) as n from dbo.orders')
declare @n int
select @n = count(*) from dbo.orders
print @n
if exists (select 1 from dbo.orders where id = 2) print 'seen' else print 'not seen'
revert
GO
execute as user = 'boss'
select id from dbo.orders order by id
revert
GO
-- The plan that one user's statement was compiled to is another's as well.
execute as user = 'bob'
select id from dbo.orders order by id
revert
GO
-- Views, procedures and functions read as their caller; EXECUTE AS changes who that is.
create view dbo.all_orders as select id, owner from dbo.orders
GO
create procedure dbo.list as select id from dbo.orders order by id
GO
create procedure dbo.list_as_owner with execute as owner as select id from dbo.orders order by id
GO
create function dbo.how_many() returns int as begin return (select count(*) from dbo.orders) end
GO
create function dbo.ids(@least int) returns table as return select id from dbo.orders where id >= @least
GO
create function dbo.ids_kept() returns @t table (id int) as begin insert @t select id from dbo.orders return end
GO
grant select, update on dbo.all_orders to ann
grant execute on dbo.list to ann
grant execute on dbo.list_as_owner to ann
grant execute on dbo.how_many to ann
grant select on dbo.ids to ann
grant select on dbo.ids_kept to ann
GO
execute as user = 'ann'
select id from dbo.all_orders order by id
exec dbo.list
exec dbo.list_as_owner
select dbo.how_many() as n
select id from dbo.ids(2) order by id
select id from dbo.ids_kept() order by id
revert
select dbo.how_many() as n
GO
-- Cursors.
execute as user = 'ann'
declare c cursor for select id from dbo.orders
open c
fetch next from c
fetch next from c
fetch next from c
close c
deallocate c
declare d cursor local static for select id from dbo.orders order by id
open d
select @@cursor_rows as n
fetch last from d
close d
declare e cursor local for select id from dbo.orders for update of amount
open e
fetch next from e
update dbo.orders set amount = 11 where current of e
close e
select id, amount from dbo.orders order by id
revert
GO
-- Rows that are not there are no targets.
execute as user = 'ann'
update dbo.orders set amount = 99 where id = 2
update dbo.orders set amount = amount + 1
update o set amount = l.n from dbo.orders o join dbo.lines l on l.order_id = o.id
update dbo.all_orders set owner = 'ann' where id = 3
delete dbo.orders where id = 3
merge dbo.orders as t using (values (2, 'ann')) s (id, owner) on t.id = s.id
when matched then update set amount = 77;
merge dbo.orders as t using (values (9)) s (id) on t.id = s.id
when not matched by source then update set note = 'merged';
revert
GO
-- Nor may what is there be guessed by what fails: but for keys, which are unique.
execute as user = 'ann'
insert dbo.orders values (2, 'ann', 1, 'q')
insert dbo.orders values (5, 'bob', 1, 'given away')
select @@rowcount as n
select id from dbo.orders order by id
merge dbo.orders as t using (values (3, 'ann')) s (id, owner) on t.id = s.id
when not matched then insert values (s.id, s.owner, 0, 'm');
insert dbo.lines values (5, 2, 9)
insert dbo.lines values (6, 77, 9)
revert
GO
alter security policy rules.orders with (state = off)
select * from dbo.orders order by id
select * from dbo.lines order by id
alter security policy rules.orders with (state = on)
GO
-- A filter is tested before any condition of the statement.
update dbo.orders set amount = 0 where id = 3
GO
execute as user = 'bob'
select id from dbo.orders where 1 / (amount - 5) = 1 or id > 0
select id from dbo.orders where id = 4 and 1 / amount = 1
select id from dbo.orders where cast(note as int) = 1 and id < 2
select id from dbo.orders with (index (by_owner)) where owner = 'ann' and 1 / amount = 1
select count(*) as n from dbo.orders where owner > 'bob' and 1 / amount = 1
GO
-- Errors of a statement that policies are part of quote no values.
select cast(note as int) from dbo.orders where id = 2
GO
update dbo.orders set note = 'much too long for this column'
GO
revert
GO
-- What a function looks up it sees whole, its own table among it.
create table rules.access (reader sysname, owner sysname, primary key (reader, owner))
insert rules.access values ('bob', 'ann'), ('bob', 'bob')
GO
create function rules.looked_up(@owner sysname) returns table with schemabinding as
return select 1 as ok from rules.access as a where a.reader = user_name() and a.owner = @owner
union all select 1 where @owner = cast(session_context(N'owner') as sysname)
GO
alter security policy rules.orders alter filter predicate rules.looked_up(owner) on dbo.orders
GO
execute as user = 'bob'
select id from dbo.orders order by id
select count(*) as n from dbo.orders where 1 / (id - 3) < 9
select l.id from dbo.lines l join dbo.orders o on o.id = l.order_id order by l.id
update dbo.orders set note = 'bob was here'
delete dbo.orders where id = 5
select * from rules.access
revert
execute as user = 'ann'
select id from dbo.orders order by id
revert
GO
exec sp_set_session_context N'owner', N'dbo'
select id from dbo.orders order by id
exec sp_set_session_context N'owner', N'ann'
select id from dbo.orders order by id
GO
create function rules.own_row(@id int) returns table with schemabinding as
return select 1 as ok from dbo.orders as o where o.id = @id and o.owner = user_name()
GO
alter security policy rules.orders alter filter predicate rules.own_row(id) on dbo.orders
GO
execute as user = 'ann'
select id from dbo.orders order by id
update dbo.orders set owner = 'bob'
select id from dbo.orders order by id
revert
GO
-- SELECT INTO, INSERT … SELECT and OUTPUT carry what is seen.
alter security policy rules.orders alter filter predicate rules.own(owner) on dbo.orders
GO
execute as user = 'bob'
select id into #seen from dbo.orders
select count(*) as n from #seen
declare @t table (id int)
insert @t select id from dbo.orders
select count(*) as n from @t
update dbo.orders set note = 'n' output inserted.id, deleted.note where id < 3
drop table #seen
revert
GO
-- Another database's table.
create database other
GO
use other
select id from shop.dbo.orders order by id
create user bob without login
execute as user = 'bob'
select id from shop.dbo.orders
revert
use shop
drop database other
GO
-- Rolled back, a policy is as it was.
begin tran
alter security policy rules.orders with (state = off)
select count(*) as n from dbo.orders
drop security policy rules.orders
select count(*) as n from dbo.orders
rollback
select count(*) as n from dbo.orders
GO
-- Statistics tell of rows that are not seen: only who may alter the policy reads them.
create statistics amounts on dbo.orders (amount)
execute as user = 'ann'
dbcc show_statistics ('dbo.orders', amounts) with histogram
revert
dbcc show_statistics ('dbo.orders', amounts) with histogram
GO
-- Kept plans ask again: who it is, what the session's context says, and what the policy is now.
create table dbo.accounts (id int primary key, tenant int not null, name varchar(10))
create index by_tenant on dbo.accounts (tenant) include (name)
insert dbo.accounts select value, value % 50, concat('n', value) from generate_series(1, 500)
GO
create function rules.tenant(@tenant int) returns table with schemabinding as
return select 1 as ok where @tenant = cast(session_context(N'tenant') as int)
GO
create security policy rules.tenants add filter predicate rules.tenant(tenant) on dbo.accounts
GO
declare @h int
exec sp_prepare @h output, N'', N'select count(*) as n, min(id) as first, max(id) as last from dbo.accounts'
exec sp_execute @h
exec sp_set_session_context N'tenant', 7
exec sp_execute @h
exec sp_set_session_context N'tenant', 8
exec sp_execute @h
alter security policy rules.tenants with (state = off)
exec sp_execute @h
alter security policy rules.tenants with (state = on)
exec sp_execute @h
exec sp_unprepare @h
exec sp_executesql N'select id from dbo.accounts where id < @n', N'@n int', 60
exec sp_set_session_context N'tenant', 9
exec sp_executesql N'select id from dbo.accounts where id < @n', N'@n int', 60
GO
-- The rows of a tenant are sought, not searched for.
set showplan_text on
GO
select id, name from dbo.accounts
GO
set showplan_text off
GO
