-- Who has to leave a database before its state changes, and what is said to whom.
create database shop
create database other
GO
use shop
create table t (a int primary key)
insert t values (1)
GO
-- One user at a time: the one who asked, being in it.
-- session main:
alter database shop set single_user with no_wait
GO
-- session two:
use other
GO
use shop
GO
select count(*) as n from shop.dbo.t
GO
select db_name() as here
GO
-- Not even a sysadmin changes anything from outside while somebody is in it.
alter database shop set multi_user
GO
begin try alter database shop set multi_user end try begin catch select error_number() as number end catch
GO
drop database shop
GO
-- It is for whoever comes first when that one leaves.
-- session main:
use other
GO
-- session two:
use shop
select count(*) as n from t
GO
-- session main:
use shop
GO
select db_name() as here, user_access_desc from sys.databases where name = 'shop'
GO
-- session two:
alter database shop set multi_user
GO
-- Others are in it.
-- session main:
use shop
alter database shop set single_user with no_wait
GO
alter database shop set read_only with no_wait
GO
alter database shop set offline with no_wait
GO
-- Or have a transaction open in it.
-- session two:
use other
begin transaction
insert shop.dbo.t values (2)
GO
-- session main:
alter database shop set read_only with no_wait
GO
use other
drop database shop
GO
-- session two:
commit
GO
-- session main:
alter database shop set read_only with no_wait
insert shop.dbo.t values (3)
GO
alter database shop set read_write with rollback after 1 seconds
insert shop.dbo.t values (3)
GO
-- What needs nobody to leave takes no notice of who is there.
-- session two:
use shop
GO
-- session main:
alter database shop set recovery simple with no_wait
alter database shop set allow_snapshot_isolation on with no_wait
alter database shop set restricted_user with no_wait
select user_access_desc, snapshot_isolation_state_desc from sys.databases where name = 'shop'
GO
-- session two:
use other
GO
-- session main:
drop database shop
GO
