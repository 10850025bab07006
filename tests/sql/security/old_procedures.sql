-- Procedures and views about users, roles and permissions that administrators' scripts have called since SQL Server 2000.
create database shop
GO
use shop
create login clerk with password = 'Pass-word-1', check_policy = off
create user clerk for login clerk
create role sellers
alter role sellers add member clerk
alter role db_datareader add member clerk
create table dbo.item (id int constraint item_key primary key, kind int constraint kind_five default 5, price money, constraint price_right check (price > 0))
create table dbo.sold (id int constraint sold_key primary key, item int constraint sold_item foreign key references dbo.item (id))
grant select on dbo.item to clerk
grant update (price) on dbo.item to sellers
grant insert on dbo.item to sellers with grant option
deny delete on dbo.item to clerk
grant create table to clerk
GO
create table #user (name sysname, role sysname, login sysname null, base sysname null, space sysname null, id char(10), sid varbinary(85))
insert #user exec sp_helpuser
select name, role, login, base, space, id from #user
exec sp_helpuser 'sellers'
exec sp_helpuser 'nobody'
exec sp_helprole 'sellers'
exec sp_helprole 'clerk'
exec sp_helprotect
exec sp_helprotect 'item', 'sellers'
exec sp_helprotect @permissionarea = 's'
exec sp_helprotect 'sold'
exec sp_helprotect @permissionarea = 'x'
exec sp_table_privileges 'item'
exec sp_column_privileges 'item', @column_name = 'price'
exec sp_helpdbfixedrole 'db_datareader'
exec sp_helpdbfixedrole 'sellers'
GO
select object_name(id) as object, user_name(uid) as grantee, action, protecttype, columns from sysprotects order by 1, 2, 3
select user_name(memberuid) as member, user_name(groupuid) as role from sysmembers order by 1, 2
select object_name(constid) as name, object_name(id) as owner, colid, status & 15 as kind from sysconstraints order by 2, 4
select object_name(constid) as name, object_name(fkeyid) as referring, object_name(rkeyid) as referenced, fkey, rkey, keyno from sysforeignkeys
select object_name(constid) as name, keycnt, fkey1, rkey1, fkey2 from sysreferences
select object_name(id) as owner, indid, colid, keyno from sysindexkeys where object_name(id) in ('item', 'sold') order by 1
select groupid, status, groupname from sysfilegroups
select fileid, groupid, name from sysaltfiles where dbid = db_id() order by 1
select srvid, srvname, isremote, dataaccess from master..sysservers
select error, severity, dlevel, description from master.dbo.sysmessages where error = 8134
select name from syscharsets
GO
-- Who one is, with all that one belongs to.
select name, type, usage from sys.login_token order by 1
execute as user = 'clerk'
select name, type, usage from sys.user_token order by 1
revert
select name, type from sys.user_token order by 1
GO
-- A user whose login is gone, and another one for it.
drop login clerk
create table #lost (name sysname, sid varbinary(85))
insert #lost exec sp_change_users_login 'report'
select name from #lost
exec sp_change_users_login 'auto_fix', 'clerk'
exec sp_change_users_login 'auto_fix', 'clerk', null, 'Pass-word-1'
exec sp_change_users_login 'report'
create login other with password = 'Pass-word-1', check_policy = off
exec sp_change_users_login 'update_one', 'clerk', 'other'
select l.name from sys.database_principals u join sys.server_principals l on l.sid = u.sid where u.name = 'clerk'
exec sp_change_users_login 'update_one', 'clerk', 'nobody'
exec sp_change_users_login 'update_one', 'nobody', 'other'
exec sp_change_users_login 'mend'
exec sp_grantlogin 'CORP\anna'
exec sp_revokelogin 'CORP\anna'
exec sp_addapprole 'till', 'Pass-word-1'
exec sp_approlepassword 'till', 'Pass-word-2'
exec sp_helprole 'till'
exec sp_dropapprole 'till'
GO
create schema archive
GO
exec sp_changeobjectowner 'item', 'archive'
exec sp_changeobjectowner 'archive.item', 'nowhere'
exec sp_changeobjectowner 'nothing', 'archive'
select object_schema_name(object_id('archive.item')) as now_in
exec sp_createstats
exec sp_createstats 'indexonly'
exec sp_estimate_data_compression_savings 'archive', 'item', null, null, 'PAGE'
exec sp_estimate_data_compression_savings 'archive', 'item', null, null, 'ZIP'
exec sp_validname ''
declare @s varchar(100)
exec xp_sprintf @s output, 'UPDATE %s SET %s = 1', 'item', 'price'
select @s
use master
exec sp_renamedb 'shop', 'store'
exec sp_renamedb 'shop', 'store'
select db_id('shop') as old, iif(db_id('store') is null, 0, 1) as new
GO
