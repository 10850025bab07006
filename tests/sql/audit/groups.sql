-- Groups of a database's own, batches, transactions, and WHERE of an audit.
create server audit trail to file (filepath = '/audit/') where (object_name <> 'quiet' and not statement like '%nothing%')
create database shop
GO
use shop
GO
create table dbo.item (id int primary key)
create table dbo.quiet (id int primary key)
create sequence dbo.numbers as int start with 1
GO
create database audit specification whole for server audit trail add (schema_object_access_group), add (schema_object_change_group),
    add (transaction_group), add (batch_started_group), add (batch_completed_group), add (user_defined_audit_group), add (audit_change_group)
    with (state = on)
GO
use master
alter server audit trail with (state = on)
GO
use shop
GO
insert dbo.item values (next value for dbo.numbers)
GO
insert dbo.quiet values (1)
GO
select 1 as nothing
GO
begin transaction
update dbo.item set id = 5
commit
begin transaction
delete dbo.item
rollback
GO
-- Other databases are not this specification's business.
use master
select count(*) as n from tempdb.sys.objects where 1 = 0
GO
use shop
GO
create view dbo.v as select id from dbo.item
GO
create index ix on dbo.item (id)
GO
select 1 / 0 as failed
GO
exec sp_setapprole 'none', 'A-password-1'
GO
drop view dbo.v
alter database audit specification whole with (state = off)
GO
select action_id, succeeded, class_type, schema_name, object_name, case when statement like 'alter database audit%' then 'alter …' else statement end as statement, affected_rows
from sys.fn_get_audit_file('/audit/trail*', default, default) where action_id not in ('TXBG', 'TXCM', 'TXRB')
select action_id, count(*) as n from sys.fn_get_audit_file('/audit/trail*', default, default) where action_id like 'TX%' and statement <> '' group by action_id order by 1
GO
-- A statement that is longer than a row holds goes on in the next.
use master
create server audit long to file (filepath = '/long/', max_files = 1)
create server audit specification l for server audit long add (schema_object_access_group) with (state = on)
alter server audit long with (state = on)
GO
declare @long nvarchar(max) = N'select count(*) as n from shop.dbo.item where ''x'' <> ''' + replicate(cast(N'y' as nvarchar(max)), 9000) + N''''
exec (@long)
GO
alter server audit long with (state = off)
select sequence_number, len(statement) as characters, object_name
from sys.fn_get_audit_file('/long/*', default, default) where action_id <> 'AUSC' order by audit_file_offset, sequence_number
GO
-- The only file that there may be is there already.
alter server audit long with (state = on)
GO
select status_desc from sys.dm_server_audit_status where name = 'long'
GO
