-- session other:
create database shop
GO
use shop
create table item (id int identity primary key, name nvarchar(40) not null, price decimal(9,2) default 1, twice as price * 2)
create table kept (n int)
create table log (id int, what varchar(20))
GO
-- session main:
create database here
GO
use here
create table new (name nvarchar(40), price decimal(9,2))
insert new values (N'rope', 4.20), (N'sail', 310), (N'täkel', null)
insert there.shop.dbo.item values (N'anchor', 99.90)
insert there.shop.dbo.item (name, price) select name, price from new
insert there.shop.dbo.item (name) values (N'flag'), (N'oar')
insert there.shop.dbo.item (name, price) values (N'hook', default)
select id, name, price, twice from there.shop.dbo.item order by id
GO
-- sent whole
update there.shop.dbo.item set price = price + 1 where price < 50
update i set price = 7, name = upper(N'x') + N'y' from there.shop.dbo.item i where i.name = N'oar'
delete there.shop.dbo.item where name = N'hook'
insert there.shop.dbo.kept select id from there.shop.dbo.item where price > 90
-- by key, because of what is here
update i set price = n.price * 2 from there.shop.dbo.item i join new n on n.name = i.name
delete i from there.shop.dbo.item i where i.name in (select name from new where price is null)
select id, name, price from there.shop.dbo.item order by id
select n from there.shop.dbo.kept order by n
GO
set showplan_text on
GO
update there.shop.dbo.item set price = price + 1 where price < 50
GO
delete i from there.shop.dbo.item i join there.shop.dbo.kept k on k.n = i.id
GO
insert there.shop.dbo.kept select id from there.shop.dbo.item where price > 90
GO
update i set price = n.price from there.shop.dbo.item i join new n on n.name = i.name
GO
set showplan_text off
GO
-- a statement is all or nothing there
insert there.shop.dbo.item (name) select name from new union all select null
GO
select count(*) as n from there.shop.dbo.item
GO
-- many rows
insert there.shop.dbo.kept select top (5000) 1 from sys.all_columns a cross join sys.all_columns b
select count(*) as n from there.shop.dbo.kept
GO
-- INSERT of what a procedure gives
insert there.shop.dbo.log exec ('select 1, ''a'' union all select 2, ''b''')
select * from there.shop.dbo.log
GO
-- what cannot be
insert there.shop.dbo.item (name) output inserted.id values (N'x')
GO
merge there.shop.dbo.item t using new n on n.name = t.name when matched then delete;
GO
update k set n = 2 from there.shop.dbo.kept k join new on new.price > 1000 and k.n > 0
GO
insert there.shop.dbo.item (nothing) values (1)
GO
insert there.shop.dbo.item (name) values (1, 2)
GO
insert there.shop.dbo.item (name) values (null)
GO
