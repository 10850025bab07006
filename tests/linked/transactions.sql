-- session other:
create database shop
GO
use shop
create table t (n int primary key)
GO
create procedure add_one @n int as insert shop.dbo.t values (@n)
GO
-- session main:
create database here
GO
use here
create table t (n int primary key)
set xact_abort on
begin tran
insert t values (1)
insert there.shop.dbo.t values (1)
-- what is not committed is seen by the transaction, and by nobody else
select count(*) as mine from there.shop.dbo.t
GO
-- session other:
select count(*) as n from shop.dbo.t with (readcommitted)
GO
-- session main:
commit
select (select count(*) from t) as here, (select count(*) from there.shop.dbo.t) as there
begin tran
insert t values (2)
insert there.shop.dbo.t values (2)
exec there.shop.dbo.add_one 3
rollback
select (select count(*) from t) as here, (select count(*) from there.shop.dbo.t) as there
GO
-- nothing was written here: its commit decides
begin tran
exec there.shop.dbo.add_one 4
commit
select n from there.shop.dbo.t order by n
GO
-- an error ends all of it
begin tran
insert t values (5)
insert there.shop.dbo.t values (1)
commit
GO
select @@trancount as open_transactions, (select count(*) from t) as here, (select count(*) from there.shop.dbo.t) as there
GO
-- without XACT_ABORT, and with savepoints
set xact_abort off
begin tran
insert there.shop.dbo.t values (6)
rollback
GO
set xact_abort on
begin tran
insert there.shop.dbo.t values (6)
save tran a
rollback
GO
begin tran
save tran a
insert there.shop.dbo.t values (6)
rollback tran a
insert t values (6)
commit
select (select count(*) from t) as here, (select count(*) from there.shop.dbo.t) as there
GO
-- without promotion a change inside a transaction is refused, and a call is none of it
exec sp_serveroption 'there', 'remote proc transaction promotion', 'false'
begin tran
exec there.shop.dbo.add_one 7
rollback
select count(*) as there from there.shop.dbo.t
begin tran
insert there.shop.dbo.t values (8)
rollback
GO
exec sp_serveroption 'there', 'remote proc transaction promotion', 'true'
GO
-- nothing is left in doubt
-- session other:
select count(*) as prepared from sys.dm_tran_active_transactions where transaction_type = 4
GO
-- session main:
-- a trigger's change there is part of the statement here
create table copied (n int primary key)
GO
create trigger copies on copied after insert as insert there.shop.dbo.t select n from inserted
GO
set xact_abort off
insert copied values (20), (21)
select count(*) as there from there.shop.dbo.t where n >= 20
insert copied values (22), (1)
GO
select (select count(*) from copied) as here, (select count(*) from there.shop.dbo.t where n >= 20) as there
GO
-- what TRY catches can only be rolled back
set xact_abort on
begin tran
insert copied values (30)
begin try insert there.shop.dbo.t values (1) end try
begin catch select error_number() as number, xact_state() as state; rollback end catch
select (select count(*) from copied) as here, (select count(*) from there.shop.dbo.t where n >= 20) as there
GO
-- two databases of here and one there
create database second
GO
create table second.dbo.t (n int primary key)
begin tran
insert t values (40)
insert second.dbo.t values (40)
insert there.shop.dbo.t values (40)
commit
select (select count(*) from t where n = 40) + (select count(*) from second.dbo.t) + (select count(*) from there.shop.dbo.t where n = 40) as n
GO
-- under implicit transactions
set implicit_transactions on
insert there.shop.dbo.t values (50)
select @@trancount as open_transactions
rollback
set implicit_transactions off
select count(*) as n from there.shop.dbo.t where n = 50
GO
