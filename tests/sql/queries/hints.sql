-- What hints make of plans: ways to join and to group, the order of joins, first rows, tables by their names.
create database hints
GO
use hints
GO
create table region (id int not null constraint region_key primary key, name nvarchar(20) not null)
create table customer (id int not null constraint customer_key primary key, name nvarchar(40) not null, region int not null)
create table bought (id int not null constraint bought_key primary key, customer int not null, amount decimal(9, 2) not null)
create index bought_by on bought (customer)
insert region select value, concat('region ', value) from generate_series(0, 4)
insert customer select value, concat('customer ', value), value % 5 from generate_series(1, 50)
insert bought select value, value % 50 + 1, value * 1.5 from generate_series(1, 1000)
GO
-- Every way to join gives the same rows.
declare @rows table (way varchar(20), n int, total decimal(12, 2))
insert @rows select 'any', count(*), sum(amount) from region r join customer c on c.region = r.id join bought b on b.customer = c.id
insert @rows select 'loop', count(*), sum(amount) from region r join customer c on c.region = r.id join bought b on b.customer = c.id option (loop join)
insert @rows select 'hash', count(*), sum(amount) from region r join customer c on c.region = r.id join bought b on b.customer = c.id option (hash join)
insert @rows select 'merge', count(*), sum(amount) from region r join customer c on c.region = r.id join bought b on b.customer = c.id option (merge join)
insert @rows select 'order', count(*), sum(amount) from bought b join region r on 1 = 1 join customer c on c.region = r.id and b.customer = c.id option (force order)
insert @rows select 'at the join', count(*), sum(amount) from region r inner hash join customer c on c.region = r.id inner loop join bought b on b.customer = c.id
insert @rows select 'outer, hash', count(*), sum(amount) from customer c left join bought b on b.customer = c.id option (hash join)
insert @rows select 'outer, loop', count(*), sum(amount) from customer c left join bought b on b.customer = c.id option (loop join)
insert @rows select 'exists, loop', count(*), null from customer c where exists (select 1 from bought b where b.customer = c.id and b.amount > 100) option (loop join)
insert @rows select 'exists, hash', count(*), null from customer c where exists (select 1 from bought b where b.customer = c.id and b.amount > 100) option (hash join, force order)
select * from @rows
GO
set showplan_text on
GO
select c.name, b.amount from customer c join bought b on b.customer = c.id where c.id = 7
select c.name, b.amount from customer c join bought b on b.customer = c.id where c.id = 7 option (hash join)
select c.name, b.amount from customer c join bought b on b.customer = c.id option (loop join)
select c.name, b.amount from customer c left join bought b on b.customer = c.id option (loop join)
select c.name from customer c where c.id in (select customer from bought) option (hash join)
-- As written: the smallest table last.
select b.id, c.name, r.name from bought b join customer c on c.id = b.customer join region r on r.id = c.region option (force order)
-- One hint at a join leaves one order to all of them.
select b.id, c.name, r.name from bought b inner loop join customer c on c.id = b.customer join region r on r.id = c.region
-- No equality, no hash.
select count(*) from customer c join region r on r.id > c.region option (hash join)
-- Groups.
select customer, count(*) from bought group by customer
select customer, count(*) from bought group by customer option (hash group)
select amount, count(*) from bought group by amount
select amount, count(*) from bought group by amount option (order group)
select distinct customer from bought option (hash group)
select distinct amount from bought option (order group)
select distinct customer from bought option (hash group, fast 1)
-- First rows.
select name, region from customer order by id option (fast 5)
select top (3) name from customer order by name
select top (10) percent with ties id from customer order by region
select name from customer order by id offset 2 rows fetch next 5 rows only
-- Tables by their names in the statement.
select amount from bought b where customer = 3 option (table hint (b, index (bought_key)))
select amount from bought where customer between 1 and 40 option (table hint (bought, forceseek))
update bought set amount = 0 where customer = 3 option (table hint (bought, index (bought_key)))
GO
set showplan_text off
GO
select amount from bought b option (table hint (bought, forceseek))
GO
select amount from bought b where customer = 3 and amount < 20 option (table hint (b, index (nowhere)))
GO
-- Names in USE HINT.
select count(*) from bought option (use hint ('disable_optimizer_rowgoal', 'FORCE_LEGACY_CARDINALITY_ESTIMATION', 'ENABLE_PARALLEL_PLAN_PREFERENCE'))
select count(*) from bought option (use hint ('NO_SUCH_HINT'))
GO
select count(*) as names from sys.dm_exec_valid_use_hints
select name from sys.dm_exec_valid_use_hints where name like 'FORCE%' order by name
GO
-- All joins of a session as they are written.
set forceplan on
GO
set showplan_text on
GO
select b.id, r.name from bought b join customer c on c.id = b.customer join region r on r.id = c.region where r.id = 2
GO
set showplan_text off
GO
set forceplan off
GO
-- As many rows as there can be, and none.
select count(*) from (select id from customer order by id offset 45 rows fetch next 9223372036854775807 rows only) t
declare @most bigint = 9223372036854775807
select count(*) from (select id from customer order by name offset 45 rows fetch next @most rows only) t
select id from customer order by id offset 0 rows fetch first (select 0) rows only
select id from customer order by id offset 0 rows fetch first (select count(*) from customer where id < 0) rows only
declare @none int = 0
select id from customer order by id offset 0 rows fetch next @none rows only
GO
use master
drop database hints
GO
