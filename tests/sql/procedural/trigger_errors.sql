-- XACT_ABORT is on in triggers: an error takes the batch and the transaction with it, one that is caught dooms it.
create table t (a int); create table log_t (note varchar(40)); create table other (a int)
go
create trigger tr on t after insert as insert log_t values ('before'); declare @x int = 1 / 0; insert log_t values ('after')
go
insert t values (1)
print 'not reached'
go
begin transaction; insert other values (1)
insert t values (1)
print 'not reached'
go
select @@trancount as open_transactions, (select count(*) from t) as t, (select count(*) from other) as other, (select count(*) from log_t) as log_t
go
begin try insert other values (2); begin transaction; insert t values (1) end try
begin catch select error_number() as number, error_procedure() as what, xact_state() as state, @@trancount as open_transactions; rollback end catch
select count(*) as other from other
go
-- The option is as it was behind the trigger.
insert t values (1)
go
select @@options & 16384 as xact_abort
go
alter trigger tr on t after insert as
begin
  select xact_state() as state, @@trancount as open_transactions
  begin try select 1 / 0 as nothing end try
  begin catch
    select xact_state() as state, @@trancount as open_transactions
    begin try insert log_t values ('too late') end try begin catch print error_message() end catch
  end catch
end
go
insert t values (2)
print 'not reached'
go
begin transaction
insert t values (3)
print 'not reached'
go
select @@trancount as open_transactions, (select count(*) from t) as t, (select count(*) from log_t) as log_t
go
-- Off, when the trigger says so.
alter trigger tr on t after insert as set xact_abort off; begin try insert other values (1 / 0) end try begin catch print 'forgiven' end catch
go
insert t values (4); print 'goes on'; select a from t
go
-- A transaction of a trigger's own is part of its statement's; one of a procedure it calls too.
create procedure note @text varchar(40) as begin transaction; insert log_t values (@text); commit
go
alter trigger tr on t after insert as begin transaction; insert other select a from inserted; commit; exec note 'noted'; select @@trancount as open_transactions
go
insert t values (5)
select * from other; select * from log_t; select @@trancount as open_transactions
go
alter trigger tr on t after insert as insert other exec ('select 7')
go
insert t values (6)
select * from other
go
alter trigger tr on t after insert as rollback; select @@trancount as open_transactions, xact_state() as state
go
begin transaction; insert t values (7); print 'not reached'
go
select @@trancount as open_transactions; select a from t
