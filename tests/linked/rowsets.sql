-- OPENQUERY runs a text there
select * from openquery(there, 'select 1 as a, N''x'' as b union all select 2, null') q
select q.a + 1 as a from openquery(there, 'exec sp_executesql N''select 1 as a''') q
GO
select * from openquery(there, 'select * from nothing')
GO
select * from openquery(there, 'declare @x int')
GO
select * from openquery(nowhere, 'select 1 as a')
GO
-- addresses in queries are off
select * from openrowset('MSOLEDBSQL', 'Server={there};UID=sa;PWD=Keel-Test-1;TrustServerCertificate=yes', 'select 1 as a')
GO
exec sp_configure 'Ad Hoc Distributed Queries', 1
reconfigure
GO
select * from openrowset('MSOLEDBSQL', 'Server={there};UID=sa;PWD=Keel-Test-1;TrustServerCertificate=yes', 'select 1 as a') r
select r.name from openrowset('SQLNCLI11', '{there}'; 'sa'; 'Keel-Test-1', master.sys.databases) as r where database_id < 3
select name from opendatasource('SQLNCLI', 'Data Source={there};User ID=sa;Password=Keel-Test-1').master.sys.databases where database_id = 1
GO
select * from openrowset('Microsoft.ACE.OLEDB.12.0', 'x', 'select 1')
GO
select * from openrowset('MSOLEDBSQL', 'Server={there};UID=sa;PWD=wrong', 'select 1 as a')
GO
select * from openrowset('MSOLEDBSQL', 'Server={there}', 'select 1 as a')
GO
