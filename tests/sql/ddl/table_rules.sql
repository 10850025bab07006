-- What a column may not be declared with.
create table r (a int check (a > 0) check (a < 9))
GO
create table r (a int default 1 default 2)
GO
create table r (a int primary key unique)
GO
create table r (a int, b int check (b > a))
GO
create table r (a int, b int, check (b > a), c int constraint c_c check (c > 0 and c < 100))
drop table r
GO
create table r (a int, b as getdate() persisted)
GO
create table r (a int, b as newid() primary key)
GO
create table r (a int, b as rand(), c as rand(5) persisted, d as dateadd(day, a, getdate()))
select name, columnproperty(object_id, name, 'IsDeterministic') d from sys.columns where object_id = object_id('r') and is_computed = 1
create index ix on r (b)
GO
create index ix on r (d)
GO
drop table r
GO
create table r (a rowversion, b rowversion)
GO
create table r (a int identity(1, 0))
GO
declare @x int = 1
create table r (a int default @x)
GO
create table r (a int default (@nosuch + 1))
GO
create table r (a int)
GO
declare @x int = 1
alter table r add constraint d default @x for a
GO
alter table r add b int check (b > a)
GO
alter table r add t1 timestamp, t2 timestamp
GO
drop table r
GO
create table parent (id int primary key)
create table child (p int not null constraint fk references parent (id) on delete set null)
GO
create table child (p int not null, constraint fk foreign key (p) references parent (id) on update set null)
GO
create table child (p int references parent (id) on delete set null)
drop table child, parent
GO
create table sys.r (a int)
GO
create table INFORMATION_SCHEMA.r (a int)
GO
create view sys.v as select 1 a
GO
create table r (a char(8000), b char(53))
drop table r
GO
create table r (a char(8000), b char(100))
GO
create table r (a char(8000), b varchar(8000), c nvarchar(max))
GO
alter table r add d char(60) not null default ''
GO
create index ix on r (b) with (ignore_dup_key = on)
GO
drop table r
GO
