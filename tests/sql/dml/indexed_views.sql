-- Indexed views: their rows are kept while the tables they are made of change.
create table dbo.item (id int not null primary key, kind int not null, price decimal(9,2) not null, name varchar(20) null)
insert dbo.item values (1, 1, 4.20, 'rope'), (2, 1, 310, 'sail'), (3, 2, 99.90, 'anchor'), (4, 2, 5, null)
GO
create view dbo.dear with schemabinding as select id, kind, price, name from dbo.item where price >= 50
GO
create unique clustered index ix_dear on dbo.dear (id)
select id, kind, price, name from dbo.dear with (noexpand) order by id
GO
insert dbo.item values (5, 3, 60, 'oar'), (6, 3, 6, 'cup')
select id, kind, price, name from dbo.dear with (noexpand) order by id
update dbo.item set price = 55 where id = 1
update dbo.item set price = 10 where id = 2
update dbo.item set name = 'Anchor' where id = 3
select id, kind, price, name from dbo.dear with (noexpand) order by id
delete dbo.item where kind = 3
select id, kind, price, name from dbo.dear with (noexpand) order by id
GO
-- Groups: those that have no rows any more are not there.
create view dbo.kinds with schemabinding as
  select kind, count_big(*) as n, sum(price) as total, count_big(name) as named from dbo.item group by kind
GO
create unique clustered index ix_kinds on dbo.kinds (kind)
select * from dbo.kinds with (noexpand) order by kind
GO
insert dbo.item values (7, 1, 1, null), (8, 9, 8, 'mug'), (9, 9, 9, 'jug')
select * from dbo.kinds with (noexpand) order by kind
update dbo.item set kind = 2 where id in (7, 8)
select * from dbo.kinds with (noexpand) order by kind
update dbo.item set price = price * 2
select * from dbo.kinds with (noexpand) order by kind
delete dbo.item where kind = 9
select * from dbo.kinds with (noexpand) order by kind
begin transaction
delete dbo.item
select count(*) as n from dbo.kinds with (noexpand)
rollback
select * from dbo.kinds with (noexpand) order by kind
GO
