-- Columns and constraints come and go.
create table t (a int not null)
insert t values (1), (2)
GO
alter table t add b varchar(10) null
alter table t add c int not null constraint df_c default 7
select * from t
GO
alter table t add d int not null
GO
alter table t add constraint pk_t primary key (a)
GO
alter table t add constraint ck check (a < 2)
GO
alter table t with nocheck add constraint ck check (a < 2)
insert t (a) values (5)
GO
alter table t nocheck constraint ck
insert t (a) values (5)
select * from t
GO
alter table t alter column b nvarchar(20) not null
GO
update t set b = N'x'
alter table t alter column b nvarchar(20) not null
insert t (a, b) values (6, null)
GO
alter table t drop column c
GO
alter table t drop constraint df_c
alter table t drop column c
select * from t
GO
alter table t drop constraint nope
GO
alter table t drop column nope
GO
exec sp_rename 't.b', 'bee', 'COLUMN'
select bee from t where a = 1
GO
exec sp_rename 't', 'u'
select count(*) as n from u
GO
truncate table u
select count(*) as n from u
drop table u
GO
-- computed columns of rows that are there
create table grown (id int not null, a int, b varchar(10), constraint pk_grown primary key (id))
insert grown values (1, 5, 'five'), (2, null, 'none')
alter table grown add c as (a * 2) persisted, d as concat(b, '!'), n int identity (10, 5)
GO
select id, a, b, c, d, n from grown order by id
create index by_c on grown (c)
select id from grown where c = 10
GO
alter table grown alter column a bigint
GO
update grown set a = 7 where id = 2
select c, d from grown order by id
select t.name, c.length from syscolumns c join systypes t on t.xusertype = c.xusertype where c.id = object_id('grown') order by c.colid
GO
-- What depends on a column keeps its type: everything is named, and a longer column of varying length may stay with most.
create table used (id int constraint pk_used primary key, amount int constraint df_amount default 1 constraint ck_amount check (amount > 0), code varchar(10) constraint uq_code unique,
  price decimal(9, 2) constraint df_price default 0, doubled as amount * 2)
create table refers (id int, used int constraint fk_used references used (id), code varchar(10) constraint fk_code references used (code))
GO
alter table used alter column amount bigint
GO
alter table refers alter column used bigint
GO
alter table used alter column id bigint
GO
alter table used alter column code varchar(20)
GO
alter table refers drop constraint fk_code
alter table used alter column code varchar(20)
alter table used alter column price decimal(12, 2)
GO
alter table used alter column price float
GO
alter table used alter column code varchar(5)
GO
alter table used alter column amount int not null
select name, type_name(system_type_id) as type, max_length, [precision], is_nullable from sys.columns where object_id = object_id('used') order by column_id
drop table refers, used
-- Rows that came in unchecked make a constraint one not to be relied on, until somebody looks at all of them.
create table trusted (a int constraint ck_trusted check (a > 0), b int constraint fk_trusted references trusted (c), c int unique)
go
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('trusted') union all select name, is_disabled, is_not_trusted from sys.foreign_keys where parent_object_id = object_id('trusted')
alter table trusted nocheck constraint all
insert trusted values (-1, 7, 1)
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('trusted') union all select name, is_disabled, is_not_trusted from sys.foreign_keys where parent_object_id = object_id('trusted')
alter table trusted check constraint ck_trusted, fk_trusted
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('trusted') union all select name, is_disabled, is_not_trusted from sys.foreign_keys where parent_object_id = object_id('trusted')
go
alter table trusted with check check constraint ck_trusted
go
alter table trusted nocheck constraint ck_trusted, fk_none
go
delete trusted
alter table trusted with check check constraint ck_trusted
alter table trusted with nocheck add constraint ck_late check (b > 0)
select name, is_disabled, is_not_trusted, objectproperty(object_id, 'CnstIsNotTrusted') as property from sys.check_constraints where parent_object_id = object_id('trusted') union all select name, is_disabled, is_not_trusted, objectproperty(object_id, 'CnstIsNotTrusted') from sys.foreign_keys where parent_object_id = object_id('trusted')
drop table trusted
go
