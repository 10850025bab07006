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
-- A key that a view must not have twice ends the statement, whatever it is; nothing of it stays.
create view dbo.names with schemabinding as select name, id from dbo.item where name is not null
GO
create unique clustered index ix_names on dbo.names (name)
create unique index ux_names on dbo.names (id)
insert dbo.item values (20, 1, 1, 'compass'), (21, 1, 1, 'rope')
update dbo.item set name = 'sail' where id = 1
select count(*) as n from dbo.item
-- Rows may take over each other's keys.
update dbo.item set name = case name when 'rope' then 'sail' when 'sail' then 'rope' else name end
update dbo.item set id = id + 1
select * from dbo.names with (noexpand) order by id
update dbo.item set id = id - 1
GO
-- The same of a MERGE, of a row that is ignored, of OUTPUT into another table.
create table dbo.dup (id int not null primary key with (ignore_dup_key = on), g int not null)
create table dbo.audit (id int not null, g int not null)
GO
create view dbo.dup_v with schemabinding as select g, count_big(*) as n, sum(id) as ids from dbo.dup group by g
GO
create view dbo.audit_v with schemabinding as select g, count_big(*) as n from dbo.audit group by g
GO
create unique clustered index cx on dbo.dup_v (g)
create unique clustered index cx on dbo.audit_v (g)
insert dbo.dup values (1, 1), (1, 2), (2, 1)
merge dbo.dup as t using (values (1, 3), (2, 3), (5, 3)) as s (id, g) on t.id = s.id
  when matched and s.id = 1 then delete when matched then update set g = s.g when not matched then insert values (s.id, s.g)
  output isnull(inserted.id, deleted.id), isnull(inserted.g, 0) into dbo.audit;
select * from dbo.dup_v with (noexpand)
select * from dbo.audit_v with (noexpand)
GO
-- Sums that no column holds, and a column that is added to a table.
insert dbo.dup values (2147483647, 8), (2147483646, 8)
insert dbo.dup values (2147483646, 8)
select * from dbo.dup_v with (noexpand)
alter table dbo.dup add extra int not null default 7
update dbo.dup set g = 9 where g = 8
select * from dbo.dup_v with (noexpand)
GO
-- A key that is less than the group: another group under it is refused, and comes when the first has gone.
create table dbo.narrow (id int not null primary key, a int not null, b int null)
insert dbo.narrow values (1, 1, 1), (2, 2, null)
GO
create view dbo.narrow_v with schemabinding as select a, b, count_big(*) as n from dbo.narrow group by a, b
GO
create unique clustered index cx on dbo.narrow_v (a)
insert dbo.narrow values (3, 1, 2)
insert dbo.narrow values (3, 1, 1), (4, 2, null)
update dbo.narrow set b = 5 where a = 2
update dbo.narrow set b = 6 where id = 1
select * from dbo.narrow_v with (noexpand) order by a
GO
-- Cascades: what goes from one table takes rows of the view along once.
create table dbo.ship (id int not null primary key, name varchar(10) not null)
create table dbo.crew (id int not null primary key, ship int null references dbo.ship (id) on delete set null on update cascade, pay money not null)
insert dbo.ship values (1, 'Ada'), (2, 'Bea')
insert dbo.crew values (1, 1, 10), (2, 1, 20), (3, 2, 30), (4, null, 40)
GO
create view dbo.aboard with schemabinding as select c.id, s.name, c.ship, c.pay from dbo.crew as c join dbo.ship as s on s.id = c.ship
GO
create view dbo.paid with schemabinding as select s.name, count_big(*) as n, sum(c.pay) as pay from dbo.crew as c join dbo.ship as s on s.id = c.ship group by s.name
GO
create unique clustered index cx on dbo.aboard (id)
create unique clustered index cx on dbo.paid (name)
create table dbo.seen (n int, pay money)
GO
create trigger dbo.see on dbo.crew after insert, update, delete as insert dbo.seen select n, pay from dbo.paid with (noexpand) where name = 'Ada'
GO
update dbo.ship set id = id + 1
select * from dbo.aboard with (noexpand) order by id
select * from dbo.paid with (noexpand) order by name
update dbo.ship set name = 'Cleo' where id = 3
delete dbo.ship where id = 2
select * from dbo.aboard with (noexpand) order by id
select * from dbo.paid with (noexpand) order by name
insert dbo.ship values (4, 'Ada')
insert dbo.crew values (5, 4, 1), (6, 4, 2)
select * from dbo.seen
GO
-- System-versioned tables: views over what is, and over what was.
create table dbo.temp (id int not null primary key, v int not null, f datetime2 generated always as row start hidden not null, e datetime2 generated always as row end hidden not null, period for system_time (f, e))
  with (system_versioning = on (history_table = dbo.temp_history))
GO
create view dbo.now_v with schemabinding as select v, count_big(*) as n from dbo.temp group by v
GO
create view dbo.was_v with schemabinding as select v, count_big(*) as n from dbo.temp_history group by v
GO
create unique clustered index cx on dbo.now_v (v)
create unique clustered index cx on dbo.was_v (v)
insert dbo.temp (id, v) values (1, 1), (2, 1)
GO
update dbo.temp set v = v + 1
GO
delete dbo.temp where id = 1
select * from dbo.now_v with (noexpand)
select * from dbo.was_v with (noexpand) order by v
GO
-- Reading it while it is being filled: INSERT … SELECT of the view into its own table.
insert dbo.crew select id + 100, ship, pay from dbo.aboard
insert dbo.crew select id + 1000, ship, pay from dbo.aboard with (noexpand)
select count(*) as n, sum(pay) as pay from dbo.aboard with (noexpand)
GO
-- The two of AdventureWorks.
create schema Production
GO
create schema Person
GO
create table Production.Product (ProductID int identity not null primary key, Name nvarchar(50) not null, ProductModelID int null)
create table Production.ProductModel (ProductModelID int not null primary key, Name nvarchar(50) not null)
create table Production.ProductModelProductDescriptionCulture (ProductModelID int not null, ProductDescriptionID int not null, CultureID nchar(6) not null, primary key (ProductModelID, ProductDescriptionID, CultureID))
create table Production.ProductDescription (ProductDescriptionID int not null primary key, Description nvarchar(400) not null)
create table Person.StateProvince (StateProvinceID int not null primary key, StateProvinceCode nchar(3) not null, CountryRegionCode nvarchar(3) not null, IsOnlyStateProvinceFlag bit not null, Name nvarchar(50) not null, TerritoryID int not null)
create table Person.CountryRegion (CountryRegionCode nvarchar(3) not null primary key, Name nvarchar(50) not null)
GO
create view Production.vProductAndDescription with schemabinding as
select p.ProductID, p.Name, pm.Name as ProductModel, pmx.CultureID, pd.Description
from Production.Product p
    inner join Production.ProductModel pm on p.ProductModelID = pm.ProductModelID
    inner join Production.ProductModelProductDescriptionCulture pmx on pm.ProductModelID = pmx.ProductModelID
    inner join Production.ProductDescription pd on pmx.ProductDescriptionID = pd.ProductDescriptionID
GO
create view Person.vStateProvinceCountryRegion with schemabinding as
select sp.StateProvinceID, sp.StateProvinceCode, sp.IsOnlyStateProvinceFlag, sp.Name as StateProvinceName, sp.TerritoryID, cr.CountryRegionCode, cr.Name as CountryRegionName
from Person.StateProvince sp inner join Person.CountryRegion cr on sp.CountryRegionCode = cr.CountryRegionCode
GO
create unique clustered index IX_vProductAndDescription on Production.vProductAndDescription (CultureID, ProductID)
create unique clustered index IX_vStateProvinceCountryRegion on Person.vStateProvinceCountryRegion (StateProvinceID, CountryRegionCode)
GO
insert Production.ProductModel values (1, N'Road'), (2, N'Hill')
insert Production.ProductDescription values (1, N'fast'), (2, N'steep'), (3, N'rapide')
insert Production.ProductModelProductDescriptionCulture values (1, 1, N'en'), (2, 2, N'en'), (1, 3, N'fr')
insert Production.Product (Name, ProductModelID) values (N'R1', 1), (N'R2', 1), (N'H1', 2), (N'none', null)
insert Person.CountryRegion values (N'DE', N'Germany'), (N'FR', N'France')
insert Person.StateProvince values (1, N'HH', N'DE', 0, N'Hamburg', 8), (2, N'75', N'FR', 0, N'Seine (Paris)', 7)
update Production.ProductDescription set Description = N'very fast' where ProductDescriptionID = 1
update Person.CountryRegion set Name = N'République' where CountryRegionCode = N'FR'
select * from Production.vProductAndDescription with (noexpand) where CultureID = N'en' order by ProductID
select ProductID, ProductModel, Description from Production.vProductAndDescription order by CultureID, ProductID
select * from Person.vStateProvinceCountryRegion order by StateProvinceID
GO
set statistics profile on
GO
select Description from Production.vProductAndDescription where CultureID = N'fr' and ProductID = 1
GO
set statistics profile off
GO
-- Who changes a table needs nothing on what else the view reads.
create user clerk without login
grant insert, update, delete, select on dbo.crew to clerk
grant select on dbo.paid to clerk
execute as user = 'clerk'
insert dbo.crew values (50, 4, 5)
update dbo.crew set pay = 6 where id = 50
select * from dbo.paid with (noexpand) where name = 'Ada'
select * from dbo.aboard with (noexpand)
revert
GO
-- Hints about indexes mean nothing without NOEXPAND.
select count(*) as n from dbo.paid with (index (nosuch))
GO
-- In tempdb too.
use tempdb
GO
create table dbo.scratch (id int not null primary key, g int not null)
GO
create view dbo.scratch_v with schemabinding as select g, count_big(*) as n from dbo.scratch group by g
GO
create unique clustered index cx on dbo.scratch_v (g)
insert dbo.scratch values (1, 1), (2, 1)
select * from dbo.scratch_v with (noexpand)
create table #own (id int)
insert #own values (1)
drop view dbo.scratch_v
drop table dbo.scratch
GO
use master
GO
-- Cursors over a view that is read by its rows; what is updated are its tables. SELECT … INTO takes after the tables.
create table dbo.num (id int identity not null primary key, v int not null)
insert dbo.num values (1), (2), (3)
GO
create view dbo.nums with schemabinding as select id, v from dbo.num where v > 0
GO
create unique clustered index cx on dbo.nums (id)
declare c cursor keyset for select id, v from dbo.nums order by id
open c
fetch next from c
fetch next from c
update dbo.num set v = 20 where id = 3
fetch next from c
close c
deallocate c
declare d cursor for select id, v from dbo.nums for update of v
open d
fetch next from d
update dbo.nums set v = 10 where current of d
close d
deallocate d
select * from dbo.nums with (noexpand) order by id
select id, v into dbo.copied from dbo.nums
select columnproperty(object_id('dbo.copied'), 'id', 'IsIdentity') as numbered
GO
-- The plan of a change names the indexes of the views that it keeps.
set showplan_text on
GO
insert dbo.num values (4)
update dbo.crew set pay = 1 where id = 1
GO
set showplan_text off
GO
