-- session other:
create database shop
GO
use shop
create table t (n int)
insert t values (1)
create login clerk with password = 'Keel-Test-2', check_policy = off
create user clerk
grant select on t to clerk
GO
-- session main:
-- nobody is anybody there without a line; who has logged in here without a password of that name there is refused there
exec sp_addlinkedserver 'as_me', '', 'SQLNCLI11', '{there}'
select suser_sname() as here, s as there from openquery(as_me, 'select suser_sname() as s')
exec sp_droplinkedsrvlogin 'as_me', null
GO
select * from openquery(as_me, 'select suser_sname() as s')
GO
-- a login of its own
create login clerk with password = 'Keel-Test-2', check_policy = off
create login other with password = 'Keel-Test-2', check_policy = off
exec sp_addlinkedsrvlogin 'as_me', 'false', 'clerk', 'clerk', 'Keel-Test-2'
execute as login = 'clerk'
select * from openquery(as_me, 'select suser_sname() as s')
select n from as_me.shop.dbo.t
revert
execute as login = 'other'
select * from openquery(as_me, 'select suser_sname() as s')
revert
GO
-- who is who by name and password must be who has logged in
exec sp_addlinkedsrvlogin 'as_me', 'true', 'other'
execute as login = 'other'
select * from openquery(as_me, 'select suser_sname() as s')
GO
revert
GO
-- what clerk may not do there
execute as login = 'clerk'
update as_me.shop.dbo.t set n = 2
GO
revert
exec sp_addlinkedsrvlogin 'as_me', 'false', null, 'clerk', 'wrong'
GO
select * from openquery(as_me, 'select 1 as a')
GO
exec sp_testlinkedserver 'as_me'
GO
-- nobody there
exec sp_addlinkedserver 'away', '', 'MSOLEDBSQL', '127.0.0.1,1'
exec sp_addlinkedsrvlogin 'away', 'false', null, 'sa', 'x'
exec sp_serveroption 'away', 'connect timeout', '5'
GO
select * from away.shop.dbo.t
GO
begin try select * from openquery(away, 'select 1 as a') end try
begin catch select error_number() as number, error_message() as message end catch
GO
exec sp_testlinkedserver 'away'
GO
-- time is limited
exec sp_serveroption 'there', 'query timeout', '1'
GO
exec ('waitfor delay ''00:01:00''; select 1 as late') at there
GO
select * from openquery(there, 'select 1 as a')
exec sp_serveroption 'there', 'query timeout', '0'
set lock_timeout 100
GO
-- session other:
begin tran
update shop.dbo.t set n = 3
GO
-- session main:
delete there.shop.dbo.t
GO
-- session other:
rollback
GO
