-- Database mirroring: what may be asked when, and what is shown.
create database shop
create database other
GO
-- Without an endpoint nobody can be a partner.
alter database shop set partner = 'TCP://mirror:5022'
GO
create endpoint mirroring state = started as tcp (listener_port = 5022, listener_ip = all)
  for database_mirroring (role = all)
GO
-- What is no session cannot be changed.
alter database shop set partner failover
alter database shop set partner off
alter database shop set witness off
GO
alter database master set partner = 'TCP://mirror:5022'
alter database shop set partner = 'mirror:5022'
alter database shop set partner = 'TCP://mirror:1'
alter database nowhere set partner = 'TCP://mirror:5022'
GO
alter database other set recovery simple
alter database other set partner = 'TCP://mirror:5022'
GO
begin tran
alter database shop set partner = 'TCP://mirror:5022'
GO
if @@trancount > 0 rollback
GO
-- The principal.
alter database shop set partner = 'TCP://mirror:5022'
GO
select db_name(database_id) as name, mirroring_state_desc, mirroring_role_desc, mirroring_safety_level_desc, mirroring_partner_name,
    mirroring_partner_instance, mirroring_witness_name, mirroring_witness_state_desc, mirroring_connection_timeout,
    mirroring_redo_queue, mirroring_redo_queue_type
from sys.database_mirroring where database_id > 4
select name, state_desc, replica_id from sys.databases where name = 'shop'
select count(*) as groups from sys.availability_groups
GO
alter database shop set partner = 'TCP://mirror:5022'
alter database shop set partner safety off
alter database shop set partner timeout 3
alter database shop set partner timeout 32768
alter database shop set partner failover
alter database shop set partner force_service_allow_data_loss
GO
select mirroring_safety_level_desc, mirroring_connection_timeout from sys.database_mirroring where mirroring_guid is not null
GO
alter database shop set partner safety full
alter database shop set partner suspend
GO
select mirroring_state_desc from sys.database_mirroring where mirroring_guid is not null
alter database shop set partner failover
alter database shop set witness = 'TCP://witness:5022'
GO
alter database shop set partner resume
alter database shop set witness = 'TCP://mirror:5022'
alter database shop set witness = 'TCP://main:5022'
alter database shop set witness = 'TCP://witness:5022'
select mirroring_witness_name, mirroring_witness_state_desc from sys.database_mirroring where mirroring_guid is not null
GO
-- What a mirrored database may not be or do.
drop database shop
alter database shop modify name = shop2
alter database shop set recovery simple
create availability group g for database shop replica on
    'EVENKEEL' with (endpoint_url = 'TCP://main:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
select object_name, counter_name, instance_name, cntr_value from sys.dm_os_performance_counters
where object_name like '%Database Mirroring%' and instance_name in ('shop', '_Total') and counter_name like 'Log Send Queue%'
GO
-- The roles are swapped: this is the mirror now.
alter database shop set partner failover
GO
use shop
GO
select name, state_desc from sys.databases where name = 'shop'
select mirroring_role_desc from sys.database_mirroring where mirroring_guid is not null
select databasepropertyex('shop', 'Status') as status
GO
alter database shop set partner failover
alter database shop set partner resume
alter database shop set partner safety off
alter database shop set witness off
alter database shop set partner force_service_allow_data_loss
backup database shop to disk = '/shop.bak' with copy_only
GO
alter database shop set partner off
select count(*) as sessions from sys.database_mirroring where mirroring_guid is not null
GO
use shop
select db_name()
use master
GO
-- A copy that is being restored becomes a mirror.
backup database shop to disk = '/shop.bak'
GO
restore database copied from disk = '/shop.bak' with norecovery
GO
alter database copied set partner = 'TCP://main:1'
alter database copied set partner = 'TCP://main:5022'
GO
select mirroring_guid, mirroring_state_desc, mirroring_role_desc, mirroring_partner_name, mirroring_partner_instance
from sys.database_mirroring where database_id = db_id('copied')
use copied
GO
drop database copied
alter database copied set partner suspend
alter database copied set hadr availability group = g
GO
alter database copied set partner off
alter database copied set partner off
drop database copied
GO
-- A database of a group is not mirrored.
create availability group g for database shop replica on
    'EVENKEEL' with (endpoint_url = 'TCP://main:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
alter database shop set partner = 'TCP://mirror:5022'
GO
