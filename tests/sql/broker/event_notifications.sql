-- Services are told of events.
create database told
GO
use told
create queue q
create service news on queue q ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification])
GO
-- what can be named, and what cannot
create event notification n on database for nothing_like_it to service 'news', 'current database'
create event notification n on database for audit_login to service 'news', 'current database'
create event notification n on database for create_login to service 'news', 'current database'
create event notification n on queue q for create_table to service 'news', 'current database'
create event notification n on queue nowhere for queue_activation to service 'news', 'current database'
create event notification n on server for errorlog to service 'news', 'current database'
drop event notification n on database
GO
create event notification tables on database for ddl_table_events to service 'news', 'current database'
create event notification again on database with fan_in for create_table to service 'news', 'current database'
create event notification more on database with fan_in for create_table, create_view to service 'news', 'current database'
select name, parent_class_desc, parent_id, service_name, principal_id from sys.event_notifications order by name
select n.name, e.type_desc, e.event_group_type_desc, e.is_trigger_event from sys.events e join sys.event_notifications n on n.object_id = e.object_id
  order by n.name, e.type
GO
create event notification tables on database for create_view to service 'news', 'current database'
GO
-- a message for each notification, those WITH FAN_IN have one; in the statement's transaction
create table t (id int)
begin tran; create table u (id int); rollback
select message_type_name, service_contract_name, count(*) as n from q group by message_type_name, service_contract_name
declare @x xml = (select top (1) cast(message_body as xml) from q order by queuing_order)
select @x.value('(/EVENT_INSTANCE/EventType)[1]', 'varchar(30)') as e, @x.value('(/EVENT_INSTANCE/ObjectName)[1]', 'varchar(30)') as o,
  @x.value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'varchar(60)') as c
select far_service, state, is_initiator from sys.conversation_endpoints
GO
-- who ends its conversation ends it for good
declare @h uniqueidentifier
while exists (select * from q)
begin
  receive top (1) @h = conversation_handle from q
  end conversation @h
end
select count(*) as n from sys.conversation_endpoints
drop event notification tables, again on database
select name from sys.event_notifications
GO
-- one whose queue is switched off waits
alter queue q with status = off
go
create view v as select 1 as one
GO
select from_service_name, to_service_name, message_type_name, transmission_status from sys.transmission_queue
alter queue q with status = on
exec sp_keel_broker_turn
select count(*) as n from q
select count(*) as n from sys.transmission_queue
GO
-- of the server: it is in master
create event notification bases on server for create_database, create_table to service 'news', 'current database'
select name, parent_class_desc, service_name from sys.server_event_notifications
select type_desc from sys.server_events e join sys.server_event_notifications n on n.object_id = e.object_id order by e.type
create database other
create table other.dbo.t (id int)
select cast(message_body as xml).value('(/EVENT_INSTANCE/EventType)[1]', 'varchar(30)') as e,
  cast(message_body as xml).value('(/EVENT_INSTANCE/DatabaseName)[1]', 'varchar(30)') as d from q order by queuing_order
GO
-- its service is no more, and so is it with the next event
drop service news
create table gone (id int)
select name from sys.server_event_notifications
drop event notification bases on server
drop event notification more on database
GO
