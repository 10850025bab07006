-- rows that a change outputs go into another table
create table orders (id int primary key, status varchar(10), amount decimal(9,2))
create table archive (id int identity, order_id int, status varchar(10), amount decimal(9,2), at char(3) default 'now')
insert orders values (1, 'open', 10), (2, 'done', 20), (3, 'done', 30), (4, 'open', 40)
GO
insert into archive (order_id, status, amount)
select d.id, upper(d.status), d.amount * 2 from (delete orders output deleted.id, deleted.status, deleted.amount where status = 'done') as d where d.id > 2
select @@rowcount as rows, @@identity as identity_of_inner
GO
select * from archive
select * from orders
GO
insert archive (order_id, amount) select id, old - new from (update orders set amount += 5 output inserted.id, deleted.amount, inserted.amount) as u (id, old, new)
GO
select order_id, amount from archive
GO
-- a dimension of type 2: what was changed ends, and comes again
create table dim (k int identity primary key, id int, name varchar(10), is_current bit)
create table stage (id int, name varchar(10))
insert dim (id, name, is_current) values (1, 'one', 1), (2, 'two', 1)
insert stage values (1, 'ONE'), (2, 'two'), (3, 'three')
GO
with src as (select id, name from stage)
insert into dim (id, name, is_current)
select id, name, 1 from (
  merge dim as t using src as s on t.id = s.id and t.is_current = 1
  when matched and t.name collate Latin1_General_BIN2 <> s.name then update set is_current = 0
  when not matched then insert (id, name, is_current) values (s.id, s.name, 1)
  output $action as what, s.id, s.name) as changes
where what = 'UPDATE'
GO
select id, name, is_current from dim order by id, is_current
GO
-- both or neither
create table strict (id int primary key)
insert strict values (4)
GO
insert strict select id from (delete orders output deleted.id) as d
GO
select count(*) as still_there from orders
GO
declare @taken table (id int, amount decimal(9,2))
declare @limit int = 1
insert @taken select id, amount from (delete top (@limit) from orders with (rowlock, readpast) output deleted.id, deleted.amount) as q
select count(*) as taken from @taken
select count(*) as still_there from orders
GO
insert archive (order_id) select new from (insert orders (id, status) output inserted.id as new values (7, 'x'), (8, 'y')) as i
select order_id from archive where order_id in (7, 8)
GO
-- what it cannot be
select * from (delete orders) as d
GO
select * from (delete orders output deleted.id) as d
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d join stage s on s.id = d.id
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d, stage
GO
insert archive (order_id) select d.id from (delete orders output deleted.id into strict) as d
GO
insert archive (order_id) select d.id from (delete orders output deleted.id option (recompile)) as d
GO
insert archive (order_id) select distinct d.id from (delete orders output deleted.id) as d
GO
insert archive (order_id) select top (1) d.id from (delete orders output deleted.id) as d
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d group by d.id
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d order by d.id
GO
insert archive (order_id) output inserted.id select d.id from (delete orders output deleted.id) as d
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d union all select 1
GO
insert archive (order_id) select i.id from (insert strict output inserted.id select d.id from (delete orders output deleted.id) as d) as i
GO
update s set name = 'x' from (delete orders output deleted.id) as d, stage s
GO
merge stage t using (delete orders output deleted.id) as d on d.id = t.id when matched then delete;
GO
insert archive (order_id) select a from (delete orders output deleted.id, deleted.id) as d
GO
create view av as select order_id from archive
GO
insert av (order_id) select d.id from (delete orders output deleted.id) as d
GO
create table child (id int constraint fk_child references strict (id))
GO
insert child select d.id from (delete orders output deleted.id) as d
GO
insert strict select d.id from (delete orders output deleted.id) as d
GO
create trigger ta on archive after insert as print 'fired'
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d
GO
disable trigger ta on archive
GO
create trigger torders on orders instead of delete as print 'instead'
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d
GO
select count(*) as still_there from orders
GO
drop trigger torders
drop table child
create user clerk without login
grant insert on archive to clerk
grant select on orders to clerk
GO
execute as user = 'clerk'
GO
insert archive (order_id) select d.id from (delete orders output deleted.id) as d
GO
revert
grant delete on orders to clerk
execute as user = 'clerk'
insert archive (order_id) select d.id from (delete orders output deleted.id where id > 6) as d
revert
GO
begin transaction
insert archive (order_id) select d.id from (delete orders output deleted.id) as d
rollback
select count(*) as still_there from orders
GO
set showplan_text on
GO
insert dim (id) select id from (delete stage output deleted.id where name = 'two') as d
GO
set showplan_text off
GO
