-- Message types, contracts, queues, services, routes: what they are, what views show, what is refused.
create message type [//s/request] validation = well_formed_xml
create message type [//s/answer] validation = none
create message type [//s/end] validation = empty
create contract [//s/work] ([//s/request] sent by initiator, [//s/answer] sent by target, [//s/end] sent by any)
create queue dbo.asks
create queue dbo.answers with status = off, retention = on, poison_message_handling (status = off)
create service [//s/asker] on queue dbo.asks
create service [//s/answerer] on queue dbo.answers ([//s/work], [DEFAULT])
GO
select name, message_type_id, validation, validation_desc, xml_collection_id from sys.service_message_types order by message_type_id
select name, service_contract_id from sys.service_contracts order by service_contract_id
select m.name, u.is_sent_by_initiator, u.is_sent_by_target from sys.service_contract_message_usages u join sys.service_message_types m on m.message_type_id = u.message_type_id where service_contract_id = 65536 order by m.name
select name, type, type_desc, max_readers, activation_procedure, is_activation_enabled, is_receive_enabled, is_enqueue_enabled, is_retention_enabled, is_poison_message_handling_enabled from sys.service_queues order by name
select s.name, q.name as queue from sys.services s join sys.service_queues q on q.object_id = s.service_queue_id order by s.name
select s.name, c.name as contract from sys.service_contract_usages u join sys.services s on s.service_id = u.service_id join sys.service_contracts c on c.service_contract_id = u.service_contract_id order by 2
select count(*) as n from sys.service_queue_usages
select name, remote_service_name, broker_instance, address from sys.routes
select name, type, type_desc from sys.objects where type = 'SQ' order by name
select count(*) as tables from sys.tables
select object_id('dbo.asks') - (select object_id from sys.service_queues where name = 'asks') as zero
GO
-- a queue is read like a table, and changed by nobody
select * from dbo.asks
GO
insert dbo.asks (status) values (1)
GO
delete dbo.asks
GO
update q set status = 0 from dbo.asks q
GO
truncate table dbo.asks
GO
create index i on dbo.asks (status)
GO
drop table dbo.asks
GO
-- names that are taken, and that are not there
create message type [//s/request]
GO
create contract [//s/work] ([//s/request] sent by any)
GO
create queue dbo.asks
GO
create service [//s/asker] on queue dbo.asks
GO
create contract c ([//s/none] sent by any)
GO
create contract c ([//s/request] sent by any, [//s/request] sent by target)
GO
create contract c ([//s/request] sent by target)
GO
create service s on queue dbo.nowhere
GO
create service s on queue dbo.asks (nothing)
GO
create service s on queue dbo.asks ([//s/work], [//s/work])
GO
alter message type [//s/none] validation = none
GO
alter message type [DEFAULT] validation = empty
GO
alter queue dbo.nowhere with status = on
GO
alter service [//s/asker]
GO
drop message type [//s/request]
GO
drop contract [//s/work]
GO
drop queue dbo.asks
GO
drop contract [DEFAULT]
GO
drop service [//s/nobody]
GO
drop message type dbo.x
GO
drop queue if exists dbo.nowhere
drop service if exists [//s/nobody]
GO
-- the case of letters counts in all names but those of queues
create message type [//S/REQUEST]
alter queue dbo.ASKS with retention = on
select name from sys.service_message_types where name = '//s/request' collate Latin1_General_CI_AS
select is_retention_enabled from sys.service_queues where name = 'asks'
drop message type [//S/REQUEST]
alter queue dbo.asks with retention = off
GO
-- altering
alter message type [//s/answer] validation = well_formed_xml
alter service [//s/answerer] on queue dbo.asks (drop contract [DEFAULT])
alter queue dbo.answers with status = on, poison_message_handling (status = on)
alter queue dbo.answers rebuild
alter queue dbo.answers reorganize with (lob_compaction = on)
select validation_desc from sys.service_message_types where name = '//s/answer'
select count(*) as contracts from sys.service_contract_usages
select is_receive_enabled, is_poison_message_handling_enabled from sys.service_queues where name = 'answers'
GO
alter service [//s/answerer] (drop contract [DEFAULT])
GO
-- schema collections
create xml schema collection dbo.shapes as '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a" type="xs:int"/></xs:schema>'
create message type typed validation = valid_xml with schema collection dbo.shapes
select validation, validation_desc, case when xml_collection_id is null then 'none' else 'some' end as collection from sys.service_message_types where name = 'typed'
GO
create message type other validation = valid_xml with schema collection dbo.nowhere
GO
-- activation
create procedure dbo.works as select 1 as one
GO
create procedure dbo.takes @a int as select @a as a
GO
create function dbo.f () returns int as begin return 1 end
GO
create queue dbo.active with activation (status = on, procedure_name = dbo.works, max_queue_readers = 3, execute as owner)
select max_readers, activation_procedure, execute_as_principal_id, is_activation_enabled from sys.service_queues where name = 'active'
alter queue dbo.active with activation (status = off)
alter queue dbo.active with activation (max_queue_readers = 5, execute as self)
select max_readers, execute_as_principal_id, is_activation_enabled from sys.service_queues where name = 'active'
alter queue dbo.active with activation (drop)
select max_readers, activation_procedure from sys.service_queues where name = 'active'
GO
alter queue dbo.active with activation (status = on)
GO
alter queue dbo.active with activation (procedure_name = dbo.works, max_queue_readers = 1)
GO
alter queue dbo.active with activation (procedure_name = dbo.nowhere, max_queue_readers = 1, execute as self)
GO
alter queue dbo.active with activation (procedure_name = dbo.takes, max_queue_readers = 1, execute as self)
GO
alter queue dbo.active with activation (procedure_name = dbo.f, max_queue_readers = 1, execute as self)
GO
alter queue dbo.active with activation (procedure_name = dbo.works, max_queue_readers = 1, execute as 'nobody')
GO
-- routes
create route here with service_name = '//s/answerer', address = 'LOCAL'
select name, remote_service_name, address from sys.routes order by name
alter route here with lifetime = 100
drop route here
drop route AutoCreatedLocal
select count(*) as routes from sys.routes
create route AutoCreatedLocal with address = 'local'
select name from sys.routes
GO
create route there with service_name = 'x', address = 'TCP://there:4022'
GO
create route there with broker_instance = 'x', address = 'LOCAL'
GO
create remote service binding b to service 'x' with user = dbo
GO
create broker priority p for conversation set (priority_level = 7)
GO
create endpoint e state = started as tcp (listener_port = 4022) for service_broker (authentication = windows)
GO
-- options of the database
select is_broker_enabled, case when service_broker_guid = '00000000-0000-0000-0000-000000000000' then 'none' else 'some' end as id from sys.databases where name = db_name()
create database talks
select is_broker_enabled from sys.databases where name in ('talks', 'msdb', 'tempdb', 'model') order by name
declare @before uniqueidentifier = (select service_broker_guid from sys.databases where name = 'talks')
alter database talks set disable_broker with rollback immediate
select is_broker_enabled from sys.databases where name = 'talks'
alter database talks set new_broker
select is_broker_enabled, case service_broker_guid when @before then 'same' else 'another' end as id from sys.databases where name = 'talks'
alter database talks set disable_broker
alter database talks set enable_broker
alter database talks set error_broker_conversations
select is_broker_enabled from sys.databases where name = 'talks'
drop database talks
GO
-- a schema with a queue stays, and a queue moves and is renamed
create schema post
GO
alter schema post transfer dbo.active
exec sp_rename 'post.active', 'lively'
select schema_name(schema_id) as s, name from sys.service_queues where name = 'lively'
select count(*) as n from post.lively
GO
drop schema post
GO
drop queue post.lively
drop schema post
drop service [//s/asker]
drop service [//s/answerer]
drop queue dbo.asks
drop queue dbo.answers
drop contract [//s/work]
drop message type [//s/request]
drop message type [//s/answer]
drop message type [//s/end]
drop message type typed
select count(*) as n from sys.objects where type = 'SQ'
GO
