-- A snapshot transaction that meets an object changed by others' DDL since it began: 3961, and it is gone.
create table t (a int primary key, b int)
create table u (a int primary key)
insert t values (1, 1)
insert u values (1)
GO
create view v as select a from t
GO
-- session a:
set transaction isolation level snapshot
begin tran; select a from u
GO
-- session b:
alter table t add c int null
create table later (a int)
GO
-- session a:
select a from u
select * from t
GO
select @@trancount as trancount
GO
-- Through a view, and of a table that was not there.
begin tran; select a from u
GO
-- session b:
create index ix on t (b)
GO
-- session a:
select a from v
GO
begin tran; select a from u
GO
-- session b:
create table latest (a int)
GO
-- session a:
select * from latest
GO
-- A change: 3961 too, and it can be caught.
begin tran; select a from u
GO
-- session b:
drop index ix on t
GO
-- session a:
begin try
    update t set b = 2
end try
begin catch
    select error_number() as n, xact_state() as x
    rollback
end catch
GO
-- What the transaction itself has changed it may see; what began after the DDL sees it all.
begin tran; create table own (a int); select a from own; select c from t; rollback
GO
-- What functions and triggers use is asked about as well.
create function newest () returns int as begin return (select max(a) from t) end
GO
create trigger on_u on u after insert as update t set b = 3
GO
begin tran; select a from u
GO
-- session b:
alter table t add d int null
GO
-- session a:
select dbo.newest() from u
GO
select @@trancount as trancount
GO
begin tran; select a from u
GO
-- session b:
alter table t drop column d
GO
-- session a:
insert u values (2)
GO
select @@trancount as trancount
GO
begin tran; select * into copied from u; rollback
GO
begin tran; select a from u
GO
-- session b:
create index ix on t (b)
GO
-- session a:
select b into copied from t
GO
drop function newest
drop trigger on_u
GO
set transaction isolation level read committed
drop view v
drop table t, u, later, latest
