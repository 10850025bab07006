-- Database snapshots outlive a power cut, and so does going back to one.
create database shop
GO
use shop
create table dbo.item (id int not null primary key, name nvarchar(40))
insert dbo.item values (1, N'bolt')
create database morning on (name = shop, filename = '/morning.ss') as snapshot of shop
insert dbo.item values (2, N'nut')
alter table dbo.item add price money
GO
-- restart:
select name, db_name(source_database_id) as source, is_read_only from sys.databases where source_database_id is not null
select * from morning.dbo.item
select * from shop.dbo.item
insert morning.dbo.item values (3, N'no')
GO
create database noon on (name = shop, filename = '/noon.ss') as snapshot of shop
delete shop.dbo.item
drop database morning
GO
-- restart:
select name, db_name(source_database_id) as source from sys.databases where source_database_id is not null
select * from noon.dbo.item order by id
select count(*) as items from shop.dbo.item
restore database shop from database_snapshot = 'noon'
insert shop.dbo.item (id) values (9)
GO
-- restart:
select * from noon.dbo.item order by id
select * from shop.dbo.item order by id
dbcc checkdb (shop) with no_infomsgs
drop database noon
drop database shop
GO
-- restart:
select count(*) as left_ from sys.databases where database_id > 4
GO
