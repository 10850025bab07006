-- Tables with every kind of constraint, and what breaks them.
create table dbo.customer (id int identity(10, 5) not null constraint pk_customer primary key, name nvarchar(50) not null, email varchar(100) null constraint uq_email unique, credit decimal(10, 2) not null constraint df_credit default 100, created date not null default '2024-01-01', constraint ck_credit check (credit >= 0 and credit < 10000))
create table dbo.orders (id int not null primary key, customer_id int not null constraint fk_customer references dbo.customer (id) on delete cascade, qty int not null check (qty > 0), total as (qty * 10) persisted)
GO
insert dbo.customer (name, email) values (N'Ann', 'a@x'), (N'Bob', 'b@x')
select * from dbo.customer
GO
insert dbo.customer (name, email) values (N'Cid', 'a@x')
GO
insert dbo.customer (name, credit) values (N'Dan', -1)
GO
insert dbo.customer (name) values (null)
GO
insert dbo.customer (id, name) values (1, N'Eve')
GO
set identity_insert dbo.customer on
insert dbo.customer (id, name) values (100, N'Eve')
set identity_insert dbo.customer off
insert dbo.customer (name, email) values (N'Fay', 'f@x')
select id, name, @@identity as ident, scope_identity() as scope, ident_current('dbo.customer') as cur from dbo.customer order by id
GO
insert dbo.orders (id, customer_id, qty) values (1, 10, 3), (2, 15, 1)
select * from dbo.orders
GO
insert dbo.orders (id, customer_id, qty) values (1, 10, 3)
GO
insert dbo.orders (id, customer_id, qty) values (3, 999, 3)
GO
insert dbo.orders (id, customer_id, qty) values (3, 10, 0)
GO
update dbo.orders set total = 5
GO
delete dbo.customer where id = 10
select count(*) as left_over from dbo.orders
GO
drop table dbo.customer
GO
drop table dbo.orders, dbo.customer
GO
drop table dbo.customer
GO
drop table if exists dbo.customer
GO
create table t (a int, a int)
GO
create table t (a int)
create table t (a int)
GO
drop table t
-- A computed column may name columns that come behind it, but no computed one.
create table ahead (twice as n * 2, label as upper(name) + '!' persisted not null, n int not null, name varchar(5) not null)
insert ahead (n, name) values (4, 'four')
select * from ahead
declare @t table (next as n + 1, n int); insert @t (n) values (1); select * from @t
drop table ahead
GO
create table circle (a int, b as a + 1, c as b + 1)
GO
GO
-- What a foreign key cannot refer to: the cause, and what came of it. CATCH is told the latter only.
create table referred (a int, b varchar(10) collate Latin1_General_CI_AS, c decimal(9,2), primary key (a), unique (b), unique (c))
GO
create table refers (a int references nowhere (a))
GO
create table refers (a int references referred (nothing))
GO
create table refers (a int, foreign key (nothing) references referred (a))
GO
create table refers (a bigint references referred)
GO
create table refers (b varchar(20) references referred (b))
GO
create table refers (b varchar(10) collate Latin1_General_BIN2 references referred (b))
GO
create table refers (c decimal(9,3) references referred (c))
GO
begin try create table refers (a bigint references referred) end try
begin catch select error_number() as number, error_message() as message end catch
GO
begin try create table refers (a int null primary key) end try begin catch print error_message() end catch
GO
create table refers (a int references referred, b varchar(10) collate Latin1_General_CI_AS references referred (b), c numeric(9,2) references referred (c))
alter table referred add d bigint references referred (a)
GO
create schema owned authorization guest
GO
select schema_owner from information_schema.schemata where schema_name = 'owned'
GO
