-- A service is told that a queue was switched off: somebody has rolled back five times in a row.
create database told_of_queues
GO
use told_of_queues
create queue q
create queue work
create service news on queue q ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification])
create service asks on queue work
create service works on queue work ([DEFAULT])
GO
create event notification n on queue work for broker_queue_disabled to service 'news', 'current database'
select name, parent_class_desc, service_name from sys.event_notifications
GO
declare @h uniqueidentifier
begin dialog @h from service asks to service 'works' with encryption = off
;send on conversation @h ('one')
declare @n int = 0
while @n < 5
begin
  begin tran
  ;receive top (1) message_type_name from work
  rollback
  set @n += 1
end
exec sp_keel_broker_turn
select cast(message_body as xml).value('(/*/EventType)[1]', 'varchar(30)') as e, cast(message_body as xml).value('(/*/ObjectName)[1]', 'varchar(30)') as o from q
select is_receive_enabled from sys.service_queues where name = 'work'
GO
use master
drop database told_of_queues
GO
