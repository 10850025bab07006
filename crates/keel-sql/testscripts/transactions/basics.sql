create table t (a int primary key, b int)
insert into t values (1, 1)
GO
begin tran
update t set b = 2
select @@trancount as n
begin tran
select @@trancount as n
commit
rollback
select b, @@trancount as n from t
GO
commit
GO
rollback
GO
begin tran
insert into t values (2, 2)
save tran s
insert into t values (3, 3)
rollback tran s
commit
select a from t order by a
GO
begin tran
rollback tran nosuch
rollback
GO
create procedure unbalanced as begin tran
GO
exec unbalanced
select @@trancount as n
rollback
GO
set implicit_transactions on
insert into t values (9, 9)
select @@trancount as n
rollback
set implicit_transactions off
select count(*) as n from t
GO
-- DDL rolls back
begin tran
create table gone (x int)
insert into gone values (1)
select * from gone
rollback
select * from gone
GO
-- a transaction of one session is not seen by another
-- session a:
begin tran; update t set b = 100 where a = 1
GO
-- session b:
select b from t where a = 1
-- session b waits:
update t set b = b + 1 where a = 1
-- session a:
commit
-- session b resumes:
-- session b:
select b from t where a = 1
GO
-- lock time-out
-- session a:
begin tran; update t set b = 0 where a = 1
GO
-- session b:
set lock_timeout 20
update t set b = 5 where a = 1
select @@error as e
GO
-- session a:
rollback
-- restart:
-- session main:
select a, b from t order by a
