-- BEGIN DISTRIBUTED TRANSACTION has a unit of work, and is a transaction like others: every database it can reach is this instance's.
create database shop
create database bank
GO
create table shop.dbo.t (n int primary key)
create table bank.dbo.t (n int primary key)
GO
begin distributed transaction moving
insert shop.dbo.t values (1)
insert bank.dbo.t values (1)
select name, transaction_type, transaction_state, dtc_state, iif(transaction_uow is null, 'none', 'one') as uow
from sys.dm_tran_active_transactions where transaction_uow is not null
select is_user_transaction, is_local, is_enlisted from sys.dm_tran_session_transactions where session_id = @@spid
select count(distinct request_owner_guid) as uows, count(distinct request_session_id) as sessions
from sys.dm_tran_locks where request_owner_guid <> '00000000-0000-0000-0000-000000000000'
commit
select count(*) as n from shop.dbo.t
select count(*) as n from sys.dm_tran_active_transactions where transaction_uow is not null
GO
begin distributed tran
insert shop.dbo.t values (2)
rollback
select count(*) as n from shop.dbo.t
GO
-- A plain one is local.
begin tran
insert shop.dbo.t values (3)
select transaction_type, dtc_state, transaction_uow from sys.dm_tran_active_transactions
where transaction_id = (select transaction_id from sys.dm_tran_session_transactions where session_id = @@spid)
rollback
GO
-- Other servers are not reached.
begin distributed tran
insert elsewhere.shop.dbo.t values (4)
GO
if @@trancount > 0 rollback
GO
-- KILL of what is not there, and in the wrong place.
kill 'D5499C66-E398-45CA-BF7E-DC9C194B48CF'
GO
kill 'D5499C66-E398-45CA-BF7E-DC9C194B48CF' with commit
GO
kill 'd5499c66-e398-45ca-bf7e-dc9c194b48cf' with rollback
GO
kill 'D5499C66-E398-45CA-BF7E-DC9C194B48CF' with statusonly
GO
kill 'something'
GO
begin tran
GO
kill 'D5499C66-E398-45CA-BF7E-DC9C194B48CF' with commit
GO
rollback
GO
-- session other:
select 1 as here
GO
declare @id int = (select min(session_id) from sys.dm_exec_sessions where is_user_process = 1)
declare @kill varchar(100) = concat('kill ', @id, ' with statusonly')
begin try
    exec (@kill)
end try
begin catch
    select error_number() as number
end catch
GO
-- What becomes of transactions whose decider is not known.
exec sp_configure 'show advanced options', 1
reconfigure
exec sp_configure 'in-doubt xact resolution', 2
reconfigure
select value_in_use from sys.configurations where name = 'in-doubt xact resolution'
exec sp_configure 'in-doubt xact resolution', 3
GO
-- The JDBC driver's procedures are there, for sysadmins and members of a role that is made for it.
exec sp_sqljdbc_xa_install
exec sp_sqljdbc_xa_install
select name, type from master.sys.database_principals where name = 'SqlJDBCXAUser'
declare @status int, @text varchar(100), @branches varbinary(8000)
exec master..xp_sqljdbc_xa_recover @status output, @text output, 0x1000000, @branches output
select @status as status, @text as text, @branches as branches
exec master..xp_sqljdbc_xa_commit @status output, @text output, 0x01, 0x02, 0, 7
select @status as status, @text as text
exec master..xp_sqljdbc_xa_start @status output, @text output, 0x01, 0x02, 0, @branches output, 0, -1
select @status as status, @text as text
exec master..xp_sqljdbc_xa_start @status output, @text output, 0x01, 0x02, 0x8000, @branches output, 0, 7
select @status as status, @text as text
exec sp_sqljdbc_xa_uninstall
GO
set remote_proc_transactions on
set xact_abort on
GO
