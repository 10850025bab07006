-- servers, their options and logins, as the catalog shows them
exec sp_addlinkedserver 'remote1', 'SQL Server'
exec sp_addlinkedserver @server = 'remote2', @srvproduct = '', @provider = 'SQLNCLI11', @datasrc = 'tcp:db2,1444', @provstr = 'Encrypt=yes;PWD=secret;UID=x', @catalog = 'shop'
exec sp_serveroption 'remote2', 'rpc out', 'true'
exec sp_serveroption 'remote2', 'query timeout', '30'
exec sp_serveroption 'remote2', 'name', 'remote3'
exec sp_setnetname 'remote3', 'db3'
select name, product, provider, data_source, provider_string, catalog, query_timeout, is_linked, is_rpc_out_enabled, is_data_access_enabled
from sys.servers where name like 'remote%'
exec sp_helpserver 'remote3'
GO
-- logins: the password is shown nowhere
create login clerk with password = 'Keel-Test-2', check_policy = off
exec sp_addlinkedsrvlogin 'remote3', 'false', 'clerk', 'c', 'secret'
exec sp_addlinkedsrvlogin 'remote3', 'false', null, 'guest', 'secret'
exec sp_helplinkedsrvlogin 'remote3'
select s.name, p.name, l.uses_self_credential, l.remote_name from sys.linked_logins l join sys.servers s on s.server_id = l.server_id
left join sys.server_principals p on p.principal_id = l.local_principal_id where s.name = 'remote3'
exec sp_droplinkedsrvlogin 'remote3', 'clerk'
exec sp_droplinkedsrvlogin 'remote3', 'clerk'
GO
-- what is refused
exec sp_addlinkedserver 'remote1', 'SQL Server'
GO
exec sp_addlinkedserver 'oracle', 'Oracle', 'OraOLEDB.Oracle', 'x'
GO
exec sp_addlinkedserver 'x', 'Oracle'
GO
exec sp_addlinkedserver 'x', 'SQL Server', 'SQLNCLI'
GO
exec sp_addlinkedserver 'x', '', 'SQLNCLI', 'np:db'
GO
exec sp_serveroption 'nobody', 'rpc', 'true'
GO
exec sp_serveroption 'remote1', 'speed', 'true'
GO
exec sp_addlinkedsrvlogin 'remote1', 'false', 'nobody', 'x', 'y'
GO
exec sp_dropserver 'remote3'
GO
begin tran
exec sp_addlinkedserver 'x', 'SQL Server'
rollback
GO
-- who may not change logins sees and changes nothing
create login helper with password = 'Keel-Test-2', check_policy = off
execute as login = 'helper'
exec sp_addlinkedserver 'x', 'SQL Server'
revert
GO
-- setupadmin may define servers
alter server role setupadmin add member helper
execute as login = 'helper'
exec sp_addlinkedserver 'x', 'SQL Server'
exec sp_addlinkedsrvlogin 'x', 'false', null, 'a', 'b'
revert
GO
-- definitions are there after a restart
-- restart:
select name, data_source from sys.servers where name in ('remote1', 'remote3', 'x') order by name
exec sp_dropserver 'remote3', 'droplogins'
exec sp_dropserver 'remote1', 'droplogins'
exec sp_dropserver 'remote1', 'droplogins'
GO
