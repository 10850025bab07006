-- DDL waits for writers, writers wait for DDL and see its result.
create table t (a int primary key, b int)
insert t values (1, 1), (2, 2)
GO
-- session a:
begin tran; insert t values (3, 3)
GO
-- session b waits:
create index ix on t (b)
-- session a:
commit
-- session b resumes:
-- session a:
select name from sys.indexes where object_id = object_id('t') and index_id > 1
select a from t with (index(ix)) where b = 3
GO
-- session b:
begin tran
create unique index ux on t (b)
GO
-- session a waits:
insert t values (4, 4)
-- session b:
commit
-- session a resumes:
-- session a:
insert t values (5, 4)
GO
-- session b:
begin tran; alter table t add c int null
GO
-- session a waits:
update t set b = 40 where a = 4
-- session b:
rollback
-- session a resumes:
-- session a:
select * from t order by a
GO
-- session b:
begin tran; drop table t
GO
-- session a waits:
delete t where a = 1
-- session b:
commit
-- session a resumes:
