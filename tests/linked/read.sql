-- session other:
create database shop
GO
use shop
create table item (id int primary key, name nvarchar(40) not null, price decimal(9,2), added datetime2(3) default '2026-01-02')
insert item (id, name, price) values (1, N'rope', 4.20), (2, N'sail', 310), (3, N'anchor', 99.90), (4, N'täkel', null)
create table sold (item int, n int, at date)
insert sold values (1, 10, '2026-02-01'), (1, 5, '2026-02-02'), (3, 1, '2026-02-01')
GO
create view cheap as select id, name from shop.dbo.item where price < 100
GO
-- session main:
select * from there.shop.dbo.item
select i.name, s.n from there.shop.dbo.item i join there.shop.dbo.sold s on s.item = i.id where i.price < 50 order by s.n
select count(*) as n, max(price) as dearest from there.shop.dbo.item where name like N'%a%'
select top (2) id, price from there.shop.dbo.item where price is not null order by price desc
select id from there.shop..cheap order by id
GO
-- with tables of here, in subqueries, in views
create database here
GO
use here
create table wanted (id int, much decimal(9,2))
insert wanted values (1, 5), (3, 50)
declare @limit decimal(9,2) = 100
select i.name, w.much from wanted w join there.shop.dbo.item i on i.id = w.id where i.price < @limit order by i.id
select id from wanted w where exists (select 1 from there.shop.dbo.sold s where s.item = w.id and s.n > 5)
select w.id, (select sum(n) from there.shop.dbo.sold s where s.item = w.id) as n from wanted w order by w.id
GO
create view all_items as select * from there.shop.dbo.item
GO
select count(*) as n from all_items
select * into copied from there.shop.dbo.item where id < 3
insert wanted select id, price from there.shop.dbo.item where id = 2
select * from copied
select * from wanted where id = 2
GO
-- a synonym
create synonym things for there.shop.dbo.item
GO
select name from things where id = 1
GO
-- what is sent
set showplan_text on
GO
select i.name, sum(s.n) from there.shop.dbo.item i join there.shop.dbo.sold s on s.item = i.id where i.price < 50 group by i.name
GO
declare @n int = 3
select top (5) name from there.shop.dbo.item where id > @n and len(name) > 3 and price * 2 < 100 order by price
GO
select w.id, i.name from wanted w join there.shop.dbo.item i on i.id = w.id where w.much > 1 and i.price in (4.20, 310) and upper(i.name) <> N'X'
GO
select name from there.shop.dbo.item i where not exists (select 1 from there.shop.dbo.sold s where s.item = i.id)
GO
select distinct item from there.shop.dbo.sold
GO
select * from openquery(there, 'select id from shop.dbo.item') q where q.id > 1
GO
select w.id, i.name from wanted w inner loop join there.shop.dbo.item i on i.id = w.id
GO
select i.name, s.n from there.shop.dbo.item i left join there.shop.dbo.sold s on s.item = i.id and s.n > 1 where i.id < 4
GO
set showplan_text off
GO
select distinct item from there.shop.dbo.sold order by item
select name from there.shop.dbo.item i where not exists (select 1 from there.shop.dbo.sold s where s.item = i.id) order by id
select w.id, i.name from wanted w inner loop join there.shop.dbo.item i on i.id = w.id order by w.id
select i.name, s.n from there.shop.dbo.item i left join there.shop.dbo.sold s on s.item = i.id and s.n > 1 where i.id < 4 order by i.id, s.n
select i.name, sum(s.n) as n from there.shop.dbo.item i join there.shop.dbo.sold s on s.item = i.id where i.price < 50 group by i.name having sum(s.n) > 3
GO
-- the table there changes: what was known of it is asked again
-- session other:
alter table shop.dbo.item drop constraint if exists none
alter table shop.dbo.sold add note varchar(10)
alter table shop.dbo.sold drop column at
GO
-- session main:
select at from there.shop.dbo.sold where item = 3
GO
select * from there.shop.dbo.sold where item = 3
GO
-- errors
select * from there.shop.dbo.nothing
GO
select * from nowhere.shop.dbo.item
GO
select nothing from there.shop.dbo.item
GO
exec sp_serveroption 'there', 'data access', 'false'
GO
select * from there.shop.dbo.item
GO
exec sp_serveroption 'there', 'data access', 'true'
GO
-- what changes here by what is there
update w set much = i.price from wanted w join there.shop.dbo.item i on i.id = w.id
merge wanted w using there.shop.dbo.item i on i.id = w.id when not matched then insert values (i.id, 0);
delete w from wanted w where not exists (select 1 from there.shop.dbo.sold s where s.item = w.id)
select id, much from wanted order by id
GO
-- cursors, functions and procedures
declare c cursor for select name from there.shop.dbo.item where id < 3
declare @n nvarchar(40)
open c
fetch c into @n
fetch c into @n
select @n as second
close c
deallocate c
GO
create procedure dearer @than decimal(9,2) as select name from there.shop.dbo.item where price > @than order by name
GO
exec dearer 50
exec dearer 200
GO
create function price_of (@id int) returns decimal(9,2) as begin return (select price from there.shop.dbo.item where id = @id) end
GO
select id, dbo.price_of(id) as price from wanted order by id
GO
-- a procedure may name what is not there yet
create procedure later as select * from not_yet.shop.dbo.item
GO
exec later
GO
set showplan_xml on
GO
select name from there.shop.dbo.item where id = 1
GO
set showplan_xml off
GO
