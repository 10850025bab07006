-- Database mirroring on an instance that has nobody to talk to.
create database shop
GO
alter database shop set partner = 'TCP://mirror:5022'
GO
alter database shop set partner safety off
GO
alter database shop set witness = 'TCP://witness:5022'
GO
-- What is not said so.
alter database shop set partner
GO
alter database shop set partner safety
GO
alter database shop set partner safety on
GO
alter database shop set partner timeout
GO
alter database shop set partner timeout 'ten'
GO
alter database shop set partner sideways
GO
alter database shop set witness failover
GO
select * from sys.database_mirroring where mirroring_guid is not null
select * from sys.database_mirroring_witnesses
select * from sys.dm_db_mirroring_connections
GO
drop database shop
GO
