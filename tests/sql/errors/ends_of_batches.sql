-- Errors that end the batch and roll back: objects that are there already, texts that are no JSON.
create table t (id int)
create table existing (id int)
GO
begin tran
insert t values (1)
select 1 as a into existing
insert t values (2)
commit
GO
select @@trancount as n, (select count(*) from t) as there
GO
begin tran
begin try
    create table existing (id int)
end try
begin catch
    select error_number() as e, xact_state() as state
    rollback
end catch
GO
declare @j nvarchar(100) = N'{'
begin tran
insert t values (1)
select json_value(@j, '$.a')
commit
GO
declare @m int = 13
begin tran
insert t values (1)
select datefromparts(2026, @m, 1)
commit
GO
select @@trancount as n, (select count(*) from t) as there
GO
set xact_abort on
begin tran
insert t values (1)
begin try
    raiserror('lost', 16, 1)
end try
begin catch
    select error_message() as e, xact_state() as state
    rollback
end catch
begin tran
raiserror('goes on', 16, 1)
select xact_state() as state
rollback
set xact_abort off
GO
