create table parent (id int not null constraint pk_parent primary key, name nvarchar(20) unique)
create table child (id int identity(10, 5) primary key, parent_id int references parent(id), qty int check (qty > 0), made datetime default getdate())
GO
insert into parent values (1, N'a'), (2, N'b')
insert into child (parent_id, qty) values (1, 5), (2, 6)
select id, parent_id, qty from child order by id
GO
insert into child (parent_id, qty) values (9, 1)
GO
insert into child (parent_id, qty) values (1, 0)
GO
delete from parent where id = 1
GO
drop table parent
GO
truncate table parent
GO
select scope_identity() as s, @@identity as i, ident_current('child') as c
GO
alter table child add note varchar(10) not null constraint df_note default 'n/a'
select id, note from child order by id
insert into child (parent_id, qty) values (1, 7)
select id, note from child order by id
GO
alter table child drop column note
GO
alter table child drop constraint df_note
alter table child drop column note
select * from sys.columns where object_id = object_id('child') and name = 'note'
GO
alter table child add constraint ck_big check (qty < 6)
GO
alter table child alter column qty bigint
GO
create index ix_qty on child (qty) include (parent_id)
create unique index ux on child (parent_id)
GO
drop index ix_qty on child
drop index nothing on child
GO
create table parent (x int)
GO
create table dup (a int, A int)
GO
create table nokey (a nosuchtype)
GO
drop table child
drop table parent
drop table if exists parent
drop table parent
GO
create table heap (a int, b varchar(10))
insert heap values (3, 'c'), (1, 'a'), (2, 'b')
create clustered index cx on heap (a)
select a from heap
alter table heap add constraint pk_heap primary key nonclustered (b)
GO
alter table heap alter column b varchar(10) not null
alter table heap add constraint pk_heap primary key nonclustered (b)
insert heap values (4, 'a')
GO
truncate table heap
select count(*) as n from heap
GO
create view v as select a, b from heap
GO
insert heap values (5, 'five')
select * from v
GO
alter view v as select a + 1 as a1 from heap
GO
select * from v
drop view v
select * from v
GO
create schema app
GO
create table app.t (x int)
drop schema app
drop table app.t
drop schema app
GO
create type money2 from decimal(12, 2) not null
create table uses (m money2)
insert uses values (1.239)
select * from uses
GO
create sequence seq as int start with 5 increment by 2
select next value for seq as a, next value for seq as b
select next value for seq as c
GO
create synonym syn for dbo.heap
select * from syn
drop synonym syn
GO
create type tt as table (id int primary key, v varchar(10))
GO
create procedure use_tt @rows tt readonly as select * from @rows order by id
GO
declare @x tt
insert @x values (2, 'two'), (1, 'one')
exec use_tt @x
GO
sp_rename 'heap.b', 'bb', 'COLUMN'
GO
select bb from heap
GO
create trigger tr on heap after insert, update as
begin
    select 'trigger', count(*) from inserted
    if exists (select * from inserted where a = 666) begin raiserror('no', 16, 1); rollback end
end
GO
insert heap values (10, 'ten')
insert heap values (666, 'bad')
select @@trancount as t
GO
select a from heap order by a
GO
-- A history table's name may be in brackets.
create schema odd
GO
create table odd.price (id int primary key, f datetime2 generated always as row start not null, t datetime2 generated always as row end not null, period for system_time (f, t)) with (system_versioning = on (history_table = [odd].[price history]))
select h.name from sys.tables t join sys.tables h on h.object_id = t.history_table_id where t.name = 'price'
alter table odd.price set (system_versioning = off)
drop table odd.price, odd.[price history]
drop schema odd
GO
-- CONCAT is never NULL.
create table named (a varchar(5), b varchar(5), whole as concat(a, ' ', b), sum_of as a + b)
select name, is_nullable from sys.columns where object_id = object_id('named') and is_computed = 1
drop table named
GO
go
-- A key's columns are NOT NULL by themselves, unless it was said that they are not.
create table said_null (a int null primary key)
go
create table said_null (a int null, b int, constraint pk_said_null primary key (b, a))
go
create table not_said (a int primary key, b int null unique)
select name, is_nullable from sys.columns where object_id = object_id('not_said')
select object_id('said_null')
go
drop table not_said
go
