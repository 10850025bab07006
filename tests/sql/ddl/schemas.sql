-- A name with a schema is looked for there only, whatever it is wanted for.
create schema other
GO
create table t (a int)
GO
create view v as select 1 as a
GO
create sequence s
GO
create type y from int
GO
create procedure p as select 1
GO
create function f() returns int as begin return 1 end
GO
create synonym n for t
GO
create trigger tr on t after insert as print 'fired'
GO
drop table if exists other.t
drop view if exists other.v
drop sequence if exists other.s
drop type if exists other.y
drop procedure if exists other.p
drop function if exists other.f
drop synonym if exists other.n
drop trigger if exists other.tr
GO
drop table other.t
GO
drop view other.v
GO
drop procedure other.p
GO
alter table other.t add b int
GO
truncate table other.t
GO
create index i on other.t (a)
GO
drop index i on other.t
GO
alter procedure other.p as select 2
GO
alter view other.v as select 2 as a
GO
exec sp_rename 'other.t', 'renamed'
GO
insert other.t values (1)
GO
select name from sys.objects where schema_id = 1 order by name
GO
select name from sys.types where is_user_defined = 1
GO
-- The same of both.
create table other.t (a int, b int)
GO
drop table if exists other.t
drop table if exists other.t
select schema_name(schema_id) as schema_name, name from sys.tables
GO
-- Every database has these, and keeps the first four.
select name, schema_id, principal_id from sys.schemas where schema_id < 5 or schema_id >= 16384 order by schema_id
GO
drop schema dbo
GO
drop schema guest
GO
-- Between schemas: tables with their constraints and triggers, modules, synonyms, sequences.
create schema here
GO
create schema there
GO
create table here.kept (id int primary key, n int constraint positive check (n > 0))
create table there.kept (a int)
create table there.other (a int constraint positive check (a > 0))
create sequence here.numbers start with 5
create synonym here.alias for here.kept
GO
create trigger here.counts on here.kept after insert as select count(*) as n from inserted
GO
create procedure here.p as select 'p' as p
GO
create user reader without login
grant select on here.kept to reader
grant update on here.kept (n) to reader
GO
create view here.bound with schemabinding as select id from here.kept
GO
alter schema there transfer here.kept
GO
drop view here.bound
GO
alter schema there transfer here.kept
GO
drop table there.kept
GO
alter schema there transfer here.kept
GO
drop table there.other
alter schema there transfer here.kept
alter schema there transfer here.numbers
alter schema there transfer here.p
alter schema there transfer here.alias
alter schema there transfer there.kept
GO
alter schema there transfer here.kept
GO
select schema_name(schema_id) as s, name, type from sys.objects where schema_id in (schema_id('here'), schema_id('there')) and name not like 'PK%' order by s, name
insert there.kept values (1, next value for there.numbers)
exec there.p
select * from there.kept
select permission_name from sys.database_permissions where grantee_principal_id = user_id('reader') and class = 1
execute as user = 'reader'
select * from there.kept
revert
GO
GO
-- A synonym of what is not there.
create synonym lost for nowhere.dbo.nothing
GO
select * from lost
GO
insert lost values (1)
GO
drop synonym lost
GO
-- What CREATE SCHEMA makes besides is in the new schema.
create schema made
  create table thing (id int constraint id_is_there not null, note varchar(10) constraint may_be_missing null)
  create view things as select id from made.thing where note is not null
  grant select on made.things to public
GO
insert made.thing values (1, 'x'), (2, null)
select id from made.things
select definition from sys.sql_modules where object_id = object_id('made.things')
select s.name as [schema], o.name, o.type from sys.objects o join sys.schemas s on s.schema_id = o.schema_id where s.name = 'made' order by o.name
insert made.thing values (null, 'y')
GO
select 1 as one
create schema late
GO
create sequence made.numbers start with 5 increment by 2 as smallint
select next value for made.numbers as n, (select type_name(system_type_id) from sys.sequences where name = 'numbers' and schema_id = schema_id('made')) as type
