-- Who may make what, begin, send, receive, and see.
create database shop
GO
use shop
create user u without login
create user v without login
create queue q
create service s on queue q ([DEFAULT])
GO
execute as user = 'u'
GO
create message type m
GO
create contract c ([DEFAULT] sent by any)
GO
create queue r
GO
create service t on queue q
GO
declare @h uniqueidentifier
begin dialog @h from service s to service 's'
GO
receive * from q
GO
select * from q
GO
alter queue q with status = off
GO
drop queue q
GO
drop service s
GO
select count(*) as queues from sys.service_queues; select count(*) as services from sys.services; select count(*) as types from sys.service_message_types
GO
revert
grant receive on q to u
grant create message type, create contract, create service to u
grant references on q to u
GO
execute as user = 'u'
GO
create message type m
create contract c (m sent by any)
create service t on queue q (c)
declare @h uniqueidentifier
begin dialog @h from service t to service 's';
send on conversation @h ('x')
receive cast(message_body as varchar(9)) as body from q
select name from sys.services order by name
select name from sys.service_queues
GO
revert
-- u owns t, and may not send to s
select count(*) as waiting from sys.transmission_queue
select replace(replace(transmission_status, user_id('u'), 'U'), db_id(), 'D') as status from sys.transmission_queue
grant send on service::s to u
exec sp_keel_broker_turn
;receive service_name, cast(message_body as varchar(9)) as body from q
select class_desc, permission_name, state_desc from sys.database_permissions where grantee_principal_id = user_id('u') and class <> 0 order by 2
select has_perms_by_name('q', 'OBJECT', 'RECEIVE') as receive
GO
deny receive on q to u
execute as user = 'u'
GO
receive * from q
GO
revert
alter authorization on service::t to v
select user_name(principal_id) as owner from sys.services where name = 't'
GO
grant send on q to u
GO
grant send on service::nothing to u
GO
-- the owner of a procedure answers for what it receives
create procedure takes as receive cast(message_body as varchar(9)) as body from q
GO
grant execute on takes to v
execute as user = 'v'
exec takes
revert
GO
-- triggers and functions
create trigger tells on database for create_queue, create_service, drop_service as select eventdata().value('(/EVENT_INSTANCE/EventType)[1]', 'sysname') as e, eventdata().value('(/EVENT_INSTANCE/ObjectName)[1]', 'sysname') as o
GO
create queue r
create service w on queue r
drop service w
drop trigger tells on database
GO
create function f () returns int as begin declare @h uniqueidentifier; end conversation @h; return 1 end
GO
use master
drop database shop
GO
