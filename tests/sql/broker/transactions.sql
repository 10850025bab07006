-- Transactions, the locks of groups, waiting.
create database talk
GO
use talk
create queue q
create service s on queue q ([DEFAULT])
GO
-- session a:
use talk
-- session b:
use talk
-- session c:
use talk
GO
create procedure ask @body varchar(20), @of uniqueidentifier = null as
begin
  declare @h uniqueidentifier
  begin dialog @h from service s to service 's' with encryption = off;
  send on conversation @h (@body)
end
GO
-- what is rolled back was not sent, and not received
begin tran; exec ask 'never'; rollback
select count(*) as n from q; select count(*) as n from sys.conversation_endpoints
exec ask 'first'; exec ask 'second'; exec ask 'third'
begin tran
;receive top (1) cast(message_body as varchar(20)) as body from q
rollback
;receive top (1) cast(message_body as varchar(20)) as body from q
GO
-- a statement that fails takes nothing
begin try
  receive cast(message_body as int) / 0 as bad from q
end try
begin catch
  select error_number() as n
end catch
select count(*) as n from q
GO
-- two receivers: the second passes over what the first has locked
-- session a:
begin tran; receive cast(message_body as varchar(20)) as body from q
-- session b:
begin tran; receive cast(message_body as varchar(20)) as body from q
-- session c:
receive cast(message_body as varchar(20)) as body from q
-- session b:
rollback
-- session c:
receive cast(message_body as varchar(20)) as body from q
-- session a:
commit
GO
-- waiting: until a message comes, until a group is free, until the time is over
-- session a waits:
waitfor (receive cast(message_body as varchar(20)) as body from q)
-- session b:
exec ask 'fourth'
-- session a resumes:
-- session b:
waitfor (receive cast(message_body as varchar(20)) as body from q), timeout 10
-- session b:
exec ask 'fifth'
-- session a:
begin tran; receive cast(message_body as varchar(20)) as body from q
-- session b waits:
waitfor (receive cast(message_body as varchar(20)) as body from q), timeout 60000
-- session a:
rollback
-- session b resumes:
-- session a waits:
declare @g uniqueidentifier; waitfor (get conversation group @g from q); select case when @g is null then 'none' else 'some' end as g
-- session b:
exec ask 'sixth'
-- session a resumes:
-- session b:
receive cast(message_body as varchar(20)) as body from q
GO
-- a send is not seen before its commit
-- session a waits:
waitfor (receive cast(message_body as varchar(20)) as body from q)
-- session b:
begin tran; exec ask 'seventh'
-- session b:
commit
-- session a resumes:
GO
-- a disabled queue
alter queue q with status = off
GO
receive * from q
GO
exec ask 'waits'
select count(*) as n from q
select to_service_name, from_service_name, service_contract_name, message_sequence_number, message_type_name, is_end_of_dialog, cast(message_body as varchar(20)) as body, replace(transmission_status, (select object_id from sys.service_queues where name = 'q'), 'N') as status from sys.transmission_queue
declare @h uniqueidentifier = (select top (1) conversation_handle from sys.transmission_queue)
;send on conversation @h ('behind it')
select message_sequence_number as n from sys.transmission_queue
alter queue q with status = on
exec sp_keel_broker_turn
select count(*) as waiting from sys.transmission_queue
;receive message_sequence_number, cast(message_body as varchar(20)) as body from q
GO
-- five receivers in a row that roll back switch a queue off
exec ask 'poison'
GO
begin tran; receive message_sequence_number as n from q; rollback
begin tran; receive message_sequence_number as n from q; rollback
begin tran; receive message_sequence_number as n from q; rollback
begin tran; receive message_sequence_number as n from q; rollback
select is_receive_enabled from sys.service_queues where name = 'q'
begin tran; receive message_sequence_number as n from q; rollback
select is_receive_enabled from sys.service_queues where name = 'q'
select cast(message_body as varchar(20)) as body from q
GO
alter queue q with status = on, poison_message_handling (status = off)
GO
begin tran; receive message_sequence_number as n from q; rollback
begin tran; receive message_sequence_number as n from q; rollback
begin tran; receive message_sequence_number as n from q; rollback
begin tran; receive message_sequence_number as n from q; rollback
begin tran; receive message_sequence_number as n from q; rollback
select is_receive_enabled from sys.service_queues where name = 'q'
;receive cast(message_body as varchar(20)) as body from q
GO
-- a service that is not there yet, and a broker that is switched off
declare @h uniqueidentifier
begin dialog @h from service s to service 'late';
send on conversation @h ('early')
select transmission_status from sys.transmission_queue
exec sp_keel_broker_turn
create service late on queue q ([DEFAULT])
exec sp_keel_broker_turn
select count(*) as waiting from sys.transmission_queue
;receive service_name, cast(message_body as varchar(20)) as body from q
end conversation @h
GO
create database apart
GO
use apart
create queue q
create service far on queue q ([DEFAULT])
GO
use talk
declare @h uniqueidentifier
begin dialog @h from service s to service 'far' with encryption = off;
send on conversation @h ('hello')
select replace(transmission_status, db_id('apart'), 'N') as status from sys.transmission_queue
GO
alter database talk set trustworthy on
GO
exec sp_keel_broker_turn
select count(*) as waiting from sys.transmission_queue
;receive cast(message_body as varchar(20)) as body from apart.dbo.q
GO
alter database apart set disable_broker
GO
exec ask 'x'
declare @h uniqueidentifier = (select conversation_handle from sys.conversation_endpoints where far_service = 'far')
;send on conversation @h ('again')
select transmission_status from sys.transmission_queue
end conversation @h
select state, state_desc from sys.conversation_endpoints where far_service = 'far'
alter database apart set enable_broker
exec sp_keel_broker_turn
select count(*) as endpoints from sys.conversation_endpoints where far_service = 'far'
;receive message_type_name, cast(message_body as varchar(20)) as body from apart.dbo.q
GO
-- both databases or none
begin tran
declare @h uniqueidentifier
begin dialog @h from service s to service 'far' with encryption = off;
send on conversation @h ('never')
select count(*) as there from apart.dbo.q
rollback
select count(*) as there from apart.dbo.q
GO
drop database apart
GO
-- timers and lifetimes
declare @h uniqueidentifier
begin dialog @h from service s to service 's' with lifetime = 100
begin conversation timer (@h) timeout = 50
select case when dialog_timer > getutcdate() then 'set' else 'none' end as timer from sys.conversation_endpoints where conversation_handle = @h
begin try begin conversation timer (@h) timeout = 500 end try begin catch print error_message() end catch
begin conversation timer (@h) timeout = 1
waitfor delay '00:00:01.100'
exec sp_keel_broker_turn
;receive message_type_name, validation, message_body from q where conversation_handle = @h
select dialog_timer from sys.conversation_endpoints where conversation_handle = @h
end conversation @h
begin dialog @h from service s to service 's' with lifetime = 1;
send on conversation @h ('short')
waitfor delay '00:00:01.100'
exec sp_keel_broker_turn
select message_type_name, cast(message_body as varchar(9)) as body from q where message_type_name = 'DEFAULT'
;receive message_type_name, cast(message_body as xml) as body from q where conversation_handle = @h
end conversation @h
GO
