-- Security policies are part of the database: they are there after a power cut, and those of a transaction that never ended are not.
create database d
GO
use d
create table t (id int primary key, owner sysname)
insert t values (1, 'ann'), (2, 'dbo'), (3, 'ann')
create user ann without login
grant select, insert on t to ann
GO
create function dbo.own(@owner sysname) returns table with schemabinding as return select 1 as ok where @owner = user_name()
GO
create security policy dbo.p add filter predicate dbo.own(owner) on dbo.t, add block predicate dbo.own(owner) on dbo.t after insert
GO
begin tran
alter security policy dbo.p with (state = off)
create security policy dbo.never
-- restart:
use d
select * from t
select name, is_enabled from sys.security_policies
GO
execute as user = 'ann'
select * from t
insert t values (4, 'bob')
revert
GO
checkpoint
alter security policy dbo.p drop block predicate on dbo.t after insert, add block predicate dbo.own(owner) on dbo.t before delete
-- restart:
use d
select security_predicate_id, predicate_definition, operation_desc from sys.security_predicates
insert t values (4, 'bob')
select * from t
GO
alter security policy dbo.p with (state = off)
-- restart:
use d
select * from t
drop security policy dbo.p
-- restart:
use d
select count(*) as n from sys.security_policies
select count(*) as n from t
GO
