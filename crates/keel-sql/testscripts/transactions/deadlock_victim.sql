-- Of equal priority, whoever has written less log is the victim: here the one that waited first.
create table t (a int primary key, b int)
insert t values (1, 10), (2, 20)
GO
-- session a:
begin tran; update t set b = 11 where a = 1
GO
-- session b:
begin tran; update t set b = 21 where a = 2
insert t select value, 0 from generate_series(100, 200)
GO
-- session a waits:
update t set b = 22 where a = 2
-- session b:
update t set b = 12 where a = 1
GO
-- session a resumes:
-- session b:
select @@trancount as n
rollback
GO
