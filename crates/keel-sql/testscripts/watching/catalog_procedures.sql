-- What drivers ask before they do anything else.
create database shop
GO
use shop
GO
create table dbo.customer (id int identity not null constraint pk_customer primary key, name nvarchar(40) not null, born date, credit decimal(10, 2) not null constraint df_credit default 0)
create table dbo.orders (id int not null constraint pk_orders primary key nonclustered, customer int not null constraint fk_customer references customer (id) on delete cascade, at datetime2(3), note varchar(max), constraint ck_id check (id > 0))
create unique index by_customer on orders (customer, id desc)
insert customer (name) values ('a'), ('b')
GO
create procedure dbo.place @customer int, @note varchar(20) = 'x', @id int output as return 0
GO
exec sp_tables @table_type = '''TABLE'''
exec sp_tables 'cust%', 'dbo', 'shop'
GO
exec sp_columns_100 'customer', 'dbo', @ODBCVer = 3
GO
exec sp_columns @table_name = 'orders'
GO
exec sp_pkeys 'orders'
exec sp_fkeys @pktable_name = 'customer'
exec sp_statistics 'orders'
exec sp_special_columns 'customer'
GO
exec sp_stored_procedures @sp_owner = 'dbo'
exec sp_sproc_columns 'place'
GO
exec sp_helpindex 'orders'
exec sp_helpconstraint 'orders'
GO
exec sp_spaceused 'customer'
exec sp_helptext 'place'
exec sp_updatestats
exec sp_spaceused 'nothing'
GO
exec sp_MSforeachtable 'select ''?'' as t, count(*) as n from ?'
GO
exec sp_datatype_info 4, 3
exec sp_server_info 1
GO
create table #t (a int)
update statistics #t
update statistics #t with sample 0 rows, norecompute
update statistics customer
update statistics nothing
GO
create statistics s on nothing (id)
GO
dbcc show_statistics ('customer', pk)
GO
dbcc loginfo
GO
