-- Changes through common table expressions and derived tables: which rows, which columns, and who may.
create database through
GO
use through
GO
create table stock (item int not null primary key, place varchar(10) not null, amount int not null, seen datetime null)
create table delivered (item int not null primary key, amount int not null)
GO
create view shelf as select item, amount from dbo.stock where place = 'shelf'
GO
insert stock (item, place, amount) values (1, 'shelf', 10), (2, 'cellar', 20), (3, 'shelf', 30), (4, 'shelf', 40)
insert delivered values (1, 5), (2, 7), (9, 9)
GO
-- INSERT
with few as (select item as number, amount as n, place from stock) insert few (place, number, n) values ('attic', 5, 50)
GO
with few as (select item, place, amount from stock where amount > 1000) insert few output inserted.* select 6, 'attic', 60
GO
with few as (select item, amount * 2 as twice from stock) insert few (twice) values (1)
GO
with few as (select place, sum(amount) as amount from stock group by place) insert few values ('roof', 1)
GO
-- MERGE: rows that the CTE leaves out are not of the target.
with shelf_only as (select item, amount as n, place from stock where place = 'shelf')
merge shelf_only as t using delivered as d on d.item = t.item
when matched then update set n += d.amount
when not matched by source then delete
output $action, inserted.item, inserted.amount, deleted.item as was, deleted.n;
GO
select item, place, amount from stock order by item
GO
with cellar as (select item as i, place as p, amount from stock where place = 'cellar')
merge cellar using (select item, amount from delivered where item > 1) as d on d.item = i
when matched and d.amount > 1 then update set amount = 0
when not matched then insert (i, amount, p) values (d.item, d.amount, 'cellar');
GO
select item, place, amount from stock order by item
GO
with both as (select s.item, s.amount, d.amount as came from stock s join delivered d on d.item = s.item)
merge both using delivered d on d.item = both.item when matched then delete;
GO
-- Who may change rows through one: whoever may change the table, or the view, that it reads.
create user reader without login
grant select on stock to reader
grant select, update on shelf to reader
GO
execute as user = 'reader'
GO
with c as (select * from stock) update c set amount = 0
GO
with c as (select * from stock) delete c
GO
with c as (select * from stock) insert c (item, place, amount) values (7, 'x', 7)
GO
with c as (select * from stock) merge c using (select 1 as one) o on c.item = one when matched then delete;
GO
update d set amount = 0 from (select * from stock) d
GO
delete d from (select * from stock s) d join stock on stock.item = d.item
GO
with inner_one as (select * from stock), outer_one as (select item, amount from inner_one) update outer_one set amount = 0
GO
with c as (select * from shelf) update c set amount += 1 where item = 1
GO
with stock as (select * from shelf) update stock set amount += 1 where item = 1
GO
revert
GO
grant update (amount) on stock to reader
GO
execute as user = 'reader'
GO
with c as (select * from stock) update c set amount += 100 where item = 1
GO
with c as (select * from stock) update c set place = 'mine'
GO
revert
GO
-- So do tables that OUTPUT fills, and sequences that a statement names; not one that is a column's default.
create table taken (item int)
create sequence numbers start with 100
create table numbered (n int default next value for numbers, item int)
grant delete on stock to reader
grant insert on numbered to reader
GO
execute as user = 'reader'
GO
delete stock output deleted.item into taken where item = 9
GO
insert numbered (item) values (1)
GO
insert numbered (n, item) values (next value for numbers, 2)
GO
select next value for numbers as n
GO
revert
GO
grant update on numbers to reader
grant insert on taken to reader
GO
execute as user = 'reader'
GO
delete stock output deleted.item into taken where item = 9
GO
select next value for numbers as n
GO
revert
GO
select item, place, amount from stock order by item
GO
-- Whoever deletes names no column: one table behind it is enough.
with numbered as (select row_number() over (order by amount desc) as n from stock) delete numbered where n > 2
GO
select item, amount from stock order by item
GO
with numbered as (select row_number() over (order by s.amount) as n from stock s join delivered d on d.item = s.item) delete numbered
GO
with counted as (select count(*) as n from stock) delete counted
GO
with numbered as (select row_number() over (order by amount) as n from stock) update numbered set n = 1
GO
-- In a database that is read-only, too.
alter database through set read_only
GO
with c as (select * from stock) update c set amount = 0
GO
update shelf set amount = 0
GO
use master
drop database through
GO
