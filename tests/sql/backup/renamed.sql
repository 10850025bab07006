-- A database that gets another name keeps the logical names of its files, also in its backups and in what is restored from them.
create database shop
GO
alter database shop modify name = store
GO
use store
select file_id, name from sys.database_files order by file_id
select name from sys.sysfiles order by fileid
select file_name(1) as data, file_name(2) as log, file_id('shop_log') as log_id, file_id('store') as none
create table t (n int)
insert t values (1)
use master
GO
select name from sys.master_files where database_id = db_id('store') order by file_id
backup database store to disk = 'store.bak'
restore database copy from disk = 'store.bak' with move 'store' to 'x'
GO
restore database copy from disk = 'store.bak' with move 'shop' to 'x', move 'shop_log' to 'y'
select name from sys.master_files where database_id = db_id('copy') order by file_id
select n from copy.dbo.t
GO
alter database store modify name = shop
alter database shop modify name = other
select name from sys.master_files where database_id = db_id('other') order by file_id
GO
create database seen on (name = other, filename = 'seen.ss') as snapshot of other
GO
create database seen on (name = shop, filename = 'seen.ss') as snapshot of other
select n from seen.dbo.t
drop database seen
drop database other
drop database copy
GO
