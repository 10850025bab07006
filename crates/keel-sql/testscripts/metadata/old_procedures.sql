create table dbo.t (a int)
GO
create view dbo.v as select a from dbo.t
GO
create procedure dbo.inner_p as select a from v
GO
create procedure dbo.outer_p as declare @rc int exec @rc = inner_p; insert into t select a from dbo.f(1); update x set a = 1 from nowhere.gone x
GO
create function dbo.f (@n int) returns table as return select @n as a
GO
select object_name(referencing_id) as referencing, referenced_schema_name, referenced_entity_name, object_name(referenced_id) as referenced
from sys.sql_expression_dependencies order by 1, 2, 3
GO
exec sp_depends 'dbo.t'
exec sp_depends 'dbo.outer_p'
exec sp_depends 'dbo.f'
GO
exec sp_depends 'nothing'
GO
exec sp_refreshview 'dbo.v'
exec sp_refreshsqlmodule 'dbo.inner_p'
alter table dbo.t add b int
drop table dbo.t
GO
exec sp_refreshview 'dbo.v'
GO
exec sp_refreshview 'nothing'
GO
exec sp_addtype 'ssn', 'varchar(11)', 'not null'
select name, max_length, is_nullable, is_user_defined from sys.types where name = 'ssn'
create table dbo.people (id ssn)
select is_nullable from sys.columns where object_id = object_id('dbo.people')
GO
exec sp_droptype 'ssn'
GO
drop table dbo.people
exec sp_droptype 'ssn'
exec sp_droptype 'ssn'
GO
exec sp_addlogin 'joe', 'It''s a Passw0rd!'
exec sp_adduser 'joe', 'joe_here', 'db_datareader'
exec sp_addrole 'clerks'
select u.name from sys.database_principals u join sys.server_principals l on l.sid = u.sid where l.name = 'joe'
exec sp_password null, 'An0ther one!', 'joe'
exec sp_defaultdb 'joe', 'tempdb'
select default_database_name from sys.server_principals where name = 'joe'
exec sp_dropuser 'joe_here'
exec sp_droprole 'clerks'
exec sp_droplogin 'joe'
GO
exec sp_helplogins 'joe'
GO
exec sp_helpsrvrole 'sysadmin'
exec sp_helpsrvrole 'nobody'
GO
exec sp_dbcmptlevel 'master'
exec sp_helpfilegroup
GO
