-- Names of parts that say no type, keys that stand in for each other, whole numbers in definitions, and users that every database has.
create database shop
go
use shop
create table dbo.t (a int not null, b int, constraint pk primary key (a), constraint uq unique (b))
create index ix on dbo.t (b)
exec sp_rename 'dbo.t.pk', 'pk2'
exec sp_rename 'shop.dbo.t.uq', 'uq2'
exec sp_rename 'dbo.t.ix', 'ix2'
exec sp_rename 't.ix2', 'ix3'
exec sp_rename 'dbo.t.none', 'x'
select name, is_primary_key, is_unique_constraint from sys.indexes where object_id = object_id('dbo.t') order by index_id
select name, type from sys.key_constraints where parent_object_id = object_id('dbo.t') order by name
go
-- A foreign key's table has two keys over the same columns: either of them may go, not both
create table p (v varchar(20) not null, id int not null, constraint pkp primary key (id), constraint uqp unique (v))
create table c (v varchar(20) constraint fk references p (v))
alter table p drop constraint pkp
alter table p add constraint pkp2 primary key (v)
alter table p drop constraint pkp2
insert p values ('x', 1)
insert c values ('x')
insert c values ('y')
go
alter table p drop constraint uqp
go
-- Whole numbers that are no int are decimals
create table dl (b bigint default 4294967295, c bigint default -9223372036854775808, l bigint default 2147483648, i int default -2147483647, n decimal(12, 2) default 1.50)
create table ck (a bigint, check (a between 0 and 4294967295), b as a + 3000000000)
select definition from sys.default_constraints where parent_object_id = object_id('dl') order by parent_column_id
select definition from sys.check_constraints where parent_object_id = object_id('ck')
select definition from sys.computed_columns where object_id = object_id('ck')
insert dl default values
select * from dl
go
-- guest and dbo
create schema visitors
go
alter user guest with default_schema = visitors
select name, default_schema_name from sys.database_principals where name = 'guest'
go
alter user dbo with default_schema = visitors
go
alter user public with default_schema = visitors
go
-- SETUSER, the older EXECUTE AS
setuser 'guest'
select user_name()
setuser
select user_name()
setuser 'nobody' with noreset
go
-- ODBC 2's numbers of the newer types, and ODBC 3's
create table md (d date, t time, m datetime2, o datetimeoffset, s smalldatetime, x xml)
create table #c (q sysname, o sysname, n sysname, c sysname, ty smallint, tn sysname, p int, l int, s smallint null, r smallint null, nu smallint, re varchar(254) null, cd nvarchar(4000) null, sd smallint, sds smallint null, co int null, op int, isn varchar(254), sp smallint, cs smallint, com smallint, idn smallint, u1 sysname null, u2 sysname null, u3 nvarchar(4000) null, x1 sysname null, x2 sysname null, x3 sysname null, ss tinyint)
insert #c exec sp_columns_100 N'md', N'dbo'
select c, ty, tn from #c order by op
delete #c
insert #c exec sp_columns_100 N'md', N'dbo', @ODBCVer = 3
select c, ty, tn from #c order by op
go
