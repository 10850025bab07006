-- A database snapshot: the whole database as it was, read beside it, until it is dropped.
create database shop
GO
use shop
create table dbo.item (id int not null primary key, name nvarchar(40), price money)
create index by_name on dbo.item (name)
create table dbo.old (a int)
insert dbo.item values (1, N'bolt', 1.5), (2, N'nut', 0.5)
insert dbo.old values (7)
GO
create view dbo.cheap as select id, name from dbo.item where price < 1
GO
create procedure dbo.total as select sum(price) as total from dbo.item
GO
create database shop_morning on (name = shop, filename = '/snapshots/shop_morning.ss') as snapshot of shop
GO
-- What is changed since is not in it: rows, tables that are dropped or altered, modules.
update dbo.item set price = 9 where id = 2
insert dbo.item values (3, N'screw', 2)
delete dbo.item where id = 1
alter table dbo.item add colour nvarchar(10)
drop table dbo.old
GO
alter procedure dbo.total as select count(*) as total from dbo.item
GO
select * from dbo.item order by id
select * from shop_morning.dbo.item order by id
select * from shop_morning.dbo.old
select * from shop_morning.dbo.cheap
exec dbo.total
exec shop_morning.dbo.total
GO
-- It is compared with, and put back from.
select now_.id, then_.id as was, then_.price as cost from dbo.item as now_ full join shop_morning.dbo.item as then_ on then_.id = now_.id
  order by coalesce(now_.id, then_.id)
insert dbo.item (id, name, price) select id, name, price from shop_morning.dbo.item where id = 1
select count(*) as items from dbo.item
GO
checkpoint
use shop_morning
select db_name() as here, name, column_id from sys.columns where object_id = object_id('dbo.item') order by column_id
select name from sys.tables order by name
select name from dbo.item with (index = by_name) where name = N'nut'
exec dbo.total
GO
-- Nobody writes to it.
insert dbo.item values (4, N'no', 1)
GO
update dbo.item set price = 0
GO
delete dbo.item
GO
truncate table dbo.item
GO
create table dbo.mine (a int)
GO
alter table dbo.item add a int
GO
create user somebody without login
GO
grant select on dbo.item to public
GO
create schema mine
GO
begin transaction
select count(*) as items from dbo.item with (updlock, holdlock)
update statistics dbo.item
commit
GO
select * into dbo.copy_ from dbo.item
GO
create database encryption key with algorithm = aes_256 encryption by server certificate none
GO
set transaction isolation level snapshot
select count(*) as items from dbo.item
set transaction isolation level serializable
select count(*) as items from dbo.item
set transaction isolation level read committed
select is_read_only, @@trancount as open_ from sys.databases where name = db_name()
checkpoint
dbcc checkdb
GO
-- What it is, as views and functions show it.
use master
select d.name, s.name as source, d.is_read_only, d.state_desc, d.user_access_desc, d.snapshot_isolation_state, d.snapshot_isolation_state_desc,
  d.recovery_model_desc, d.is_read_committed_snapshot_on, d.log_reuse_wait_desc
  from sys.databases as d join sys.databases as s on s.database_id = d.source_database_id
select type_desc, name, physical_name, state_desc, is_sparse, is_read_only from sys.master_files where database_id = db_id('shop_morning')
select file_id, name, physical_name, is_sparse from shop_morning.sys.database_files
select file_id, case when size_on_disk_bytes > 0 then 'some' else 'none' end as own_pages from sys.dm_io_virtual_file_stats(db_id('shop_morning'), null)
select databasepropertyex('shop_morning', 'Updateability') as updateability, databasepropertyex('shop_morning', 'Status') as status,
  databasepropertyex('shop_morning', 'UserAccess') as user_access, databasepropertyex('shop_morning', 'Recovery') as recovery
select case when db_id('shop_morning') > db_id('shop') then 'yes' end as has_an_id
select is_sparse, count(*) as files from sys.master_files where database_id = db_id('shop') group by is_sparse
GO
-- The source is checked as always: pages that are kept are not lost.
dbcc checkdb (shop) with no_infomsgs
dbcc checkdb (shop_morning) with no_infomsgs
GO
-- Another, as things are now; each shows its own time.
create database shop_noon on (name = 'SHOP', filename = '/snapshots/shop_noon.ss') as snapshot of shop
GO
update shop.dbo.item set price = 100
select (select max(price) from shop.dbo.item) as now_, (select max(price) from shop_noon.dbo.item) as noon, (select max(price) from shop_morning.dbo.item) as morning
GO
-- The source stays while they stand, whatever it is called.
drop database shop
GO
alter database shop modify name = store
GO
select name, db_name(source_database_id) as source from sys.databases where source_database_id is not null order by name
select count(*) as items from shop_morning.dbo.item
GO
drop database store
GO
backup database store to disk = 'store.bak' with init
restore database store from disk = 'store.bak' with replace
GO
-- Changes of the source's settings are its own.
alter database store set single_user
alter database store collate Latin1_General_BIN2
alter database store set recovery simple
create database store_evening on (name = shop, filename = '/snapshots/store_evening.ss') as snapshot of store
select name, user_access_desc, collation_name, recovery_model_desc from sys.databases where name like 'store%' or name like 'shop%' order by name
alter database store set multi_user
alter database store set offline
GO
select count(*) as items from shop_morning.dbo.item
alter database store set online
drop database store_evening
GO
exec sp_helpdb shop_nothing
GO
drop database if exists shop_morning, shop_noon
GO
select count(*) as snapshots from sys.databases where source_database_id is not null
select * from shop_morning.dbo.item
GO
restore database store from disk = 'store.bak' with replace
GO
drop database store
GO
