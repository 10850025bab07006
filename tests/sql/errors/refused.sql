-- rowsets of elsewhere
select * from openrowset('SQLNCLI', 'Server=x', 'select 1') a
GO
select * from openrowset(bulk '/data/file', formatfile = '/data/format') a
GO
select * from openquery(other, 'select 1')
GO
select * from opendatasource('MSOLEDBSQL', 'Data Source=x').db.dbo.t
GO
-- what would promise what does not happen
create database promises
GO
alter database promises set ledger = on
GO
alter database promises set filestream (non_transacted_access = full)
GO
alter database promises set filestream (non_transacted_access = off)
GO
alter database promises set enable_broker
GO
alter database promises set auto_shrink on
alter database promises set auto_shrink off
GO
-- maintenance of tables that are not there
dbcc dbreindex ('nowhere')
GO
dbcc cleantable (0, 'nowhere')
GO
exec sp_recompile 'nowhere'
GO
exec sp_tableoption 'nowhere', 'text in row', 'on'
GO
create table here (a int)
dbcc dbreindex ('here') with no_infomsgs
dbcc indexdefrag (0, 'here', 1) with no_infomsgs
exec sp_recompile 'here'
exec sp_tableoption 'here', 'text in row', 'on'
GO
-- a star of a table of the query around
select h.a, x.j from (values (1, 'b')) h (a, b) cross apply (select (select h.* for json path) as j) x
GO
GO
-- What stands in parentheses behind a type.
create table t (a nvarchar(random))
GO
declare @a decimal(p, s)
GO
GO
-- Text pointers, and what of Service Broker is about other instances.
create broker priority p for conversation set (priority_level = 7)
GO
readtext t.a @p 0 5
GO
create search property list l
GO
create cryptographic provider p from file = 'x'
GO
-- Kinds of tables and columns that are not here
create table n (a int) as node
GO
create table e (a int, connection (n to n) on delete cascade) as edge
GO
create table l (a int) with (ledger = on)
GO
select count(*) as made from sys.tables where name in ('n', 'e', 'l')
