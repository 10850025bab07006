-- Triggers roll back to savepoints, roll back, commit, and begin transactions: what each leaves behind.
create table t (id int primary key, note varchar(20))
create table log (id int identity, what varchar(40))
GO
-- A savepoint of the trigger's own: the statement stays, the trigger goes on, nothing is an error.
create trigger t_own on t after insert as
  save tran here
  insert log values ('undone')
  rollback tran here
  insert log values ('kept')
  select @@trancount as n
GO
insert t values (1, 'one')
select id from t
select what from log
select @@trancount as n
GO
begin tran
insert t values (2, 'two')
select @@trancount as n
commit
select id from t order by id
select what from log order by id
GO
drop trigger t_own
truncate table log
GO
-- A savepoint from before the statement: what the statement did is undone, what came before it stays.
create trigger t_outer on t after insert as
  rollback tran before
  insert log values ('from the trigger')
GO
begin tran
insert log values ('before')
save tran before
insert t values (3, 'three')
select @@trancount as n, @@rowcount as r
insert log values ('after')
save tran later
insert log values ('gone')
rollback tran later
commit
select id from t order by id
select what from log order by id
GO
-- There is none of that name outside that transaction.
insert t values (4, 'four')
GO
select id from t order by id
select @@trancount as n
GO
drop trigger t_outer
truncate table log
GO
-- ROLLBACK undoes everything; what the trigger does after it stays, and the batch ends.
create trigger t_rollback on t after insert as
  insert log values ('lost')
  rollback
  select @@trancount as n, xact_state() as s
  insert log values ('refused ' + (select max(note) from inserted))
GO
begin tran
insert log values ('lost too')
insert t values (5, 'five')
print 'not reached'
GO
select @@trancount as n
select id from t order by id
select what from log order by id
GO
insert t values (6, 'six')
print 'not reached'
GO
select @@trancount as n
select id from t order by id
select what from log order by id
GO
begin try
  insert t values (7, 'seven')
end try
begin catch
  select error_number() as n, error_message() as m, @@trancount as t, xact_state() as s
end catch
GO
-- Twice is one too many.
alter trigger t_rollback on t after insert as
  rollback
  rollback
GO
insert t values (8, 'eight')
GO
drop trigger t_rollback
truncate table log
GO
-- COMMIT commits what the statement did, and ends the batch too.
create trigger t_commit on t after insert as
  commit
  select @@trancount as n
  insert log values ('by itself')
GO
insert t values (10, 'ten')
print 'not reached'
GO
select @@trancount as n
select id from t order by id
GO
begin tran
insert t values (11, 'eleven')
print 'not reached'
GO
select @@trancount as n
rollback
GO
select id from t order by id
select what from log order by id
GO
-- One of several is taken away without an end.
begin tran
begin tran
insert t values (12, 'twelve')
select @@trancount as n
rollback
select id from t order by id
GO
drop trigger t_commit
truncate table log
GO
-- A trigger that begins another transaction hands it on.
create trigger t_again on t after insert as
  rollback
  begin tran
  insert log values ('in the new one')
GO
begin tran
insert t values (13, 'thirteen')
select @@trancount as n
select what from log
commit
select id from t where id = 13
select what from log
GO
drop trigger t_again
truncate table log
GO
-- INSTEAD OF triggers the same, and through a procedure; OUTPUT INTO a variable beside it.
create procedure refuse as
  rollback
  insert log values ('by the procedure')
GO
create trigger t_instead on t instead of delete as
  exec refuse
GO
delete t where id = 1
print 'not reached'
GO
select id from t order by id
select what from log
GO
drop trigger t_instead
GO
create trigger t_update on t after update as
  rollback
  insert log values ('refused')
GO
declare @o table (id int, note varchar(20))
update t set note = 'new' output inserted.id, inserted.note into @o
print 'not reached'
GO
select id, note from t order by id
select what from log
GO
-- A trigger inside a trigger ends them both.
create trigger l_insert on log after insert as
  rollback
GO
update t set note = 'new'
GO
select @@trancount as n
select id, note from t where note = 'new'
GO
