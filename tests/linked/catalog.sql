-- session other:
create database shop
GO
use shop
create table customer (id int not null constraint customer_key primary key, name nvarchar(40))
create table orders (id int not null primary key, customer int constraint orders_customer references customer (id))
create index by_customer on orders (customer)
GO
-- session main:
exec sp_tables_ex 'there', @table_catalog = 'shop', @table_schema = 'dbo', @table_type = '''TABLE'''
exec sp_columns_ex 'there', 'customer', 'dbo', 'shop'
exec sp_primarykeys 'there', 'customer', 'dbo', 'shop'
exec sp_foreignkeys 'there', 'customer', 'dbo', 'shop'
exec sp_indexes 'there', 'orders', 'dbo', 'shop', @index_name = 'by_customer'
exec sp_catalogs 'there'
GO
select srv_name, srv_providername from (select name as srv_name, provider as srv_providername from sys.servers) s where srv_name = 'there'
exec sp_testlinkedserver 'there'
exec sp_testlinkedserver 'nowhere'
GO
-- triggers of the server hear of definitions, and can refuse them
create trigger no_servers on all server for ddl_linked_server_events as
  declare @e xml = eventdata()
  print @e.value('(/EVENT_INSTANCE/EventType)[1]', 'sysname') + ' ' + @e.value('(/EVENT_INSTANCE/ObjectName)[1]', 'sysname')
  if @e.value('(/EVENT_INSTANCE/EventType)[1]', 'sysname') = 'CREATE_LINKED_SERVER' rollback
GO
exec sp_addlinkedserver 'x', 'SQL Server'
GO
exec sp_serveroption 'there', 'rpc', 'true'
exec sp_addlinkedsrvlogin 'there', 'false', null, 'sa', 'Keel-Test-1'
select count(*) as n from sys.servers where name = 'x'
GO
drop trigger no_servers on all server
GO
