-- Full-text search in backups and database snapshots: the index comes with its table, and goes on.
create database shop
GO
use shop
create table dbo.item (id int not null constraint pk_item primary key, t varchar(100))
insert dbo.item values (1, 'red apple')
create fulltext catalog c as default
create fulltext index on dbo.item (t) key index pk_item
exec sys.sp_keel_fulltext_wait
insert dbo.item values (2, 'green apple')
GO
backup database shop to disk = 'shop.bak' with init
use master
create database shop_then on (name = shop, filename = 'shop_then') as snapshot of shop
restore database copy_ from disk = 'shop.bak'
GO
-- What was not indexed yet is indexed in the copy.
use copy_
select id from dbo.item where contains(t, 'apple') order by id
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, 'apple') order by id
dbcc checkdb with no_infomsgs
GO
use shop
insert dbo.item values (3, 'third apple')
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, 'apple') order by id
select id from shop_then.dbo.item where contains(t, 'apple') order by id
GO
use master
drop database shop_then
restore database shop from disk = 'shop.bak' with replace
GO
use shop
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, 'apple') order by id
GO
