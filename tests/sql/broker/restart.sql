-- Conversations outlive the instance.
create database kept
GO
use kept
create queue q
create service s on queue q ([DEFAULT])
declare @h uniqueidentifier
begin dialog @h from service s to service 's';
send on conversation @h ('one');
send on conversation @h ('two')
alter queue q with retention = off
declare @l uniqueidentifier
begin dialog @l from service s to service 'later';
send on conversation @l ('three')
GO
begin tran; receive cast(message_body as varchar(9)) as body from kept.dbo.q
-- restart:
use kept
select cast(message_body as varchar(9)) as body, queuing_order from q order by queuing_order
select cast(message_body as varchar(9)) as body, transmission_status from sys.transmission_queue
select is_initiator, state, send_sequence from sys.conversation_endpoints order by 1, 3
receive cast(message_body as varchar(9)) as body from q
declare @h uniqueidentifier = (select conversation_handle from sys.conversation_endpoints where is_initiator = 1 and far_service = 's')
;send on conversation @h ('four')
receive message_sequence_number as n, cast(message_body as varchar(9)) as body from q
create service later on queue q ([DEFAULT])
exec sp_keel_broker_turn
;receive service_name, cast(message_body as varchar(9)) as body from q
GO
