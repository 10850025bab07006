-- A conversation from its beginning to its end.
create database talk
GO
use talk
create message type request validation = well_formed_xml
create message type answer validation = none
create message type empty_one validation = empty
create contract work (request sent by initiator, answer sent by target, empty_one sent by any)
create queue asks
create queue answers
create service asker on queue asks
create service answerer on queue answers (work)
GO
declare @h uniqueidentifier
begin dialog conversation @h from service asker to service 'answerer' on contract work with encryption = off
select state, state_desc, is_initiator, far_service, send_sequence from sys.conversation_endpoints
;send on conversation @h message type request ('<a>1</a>')
;send on conversation @h message type request (cast('<b/>' as xml));
send on conversation @h message type empty_one
select is_initiator, state, send_sequence, receive_sequence, far_service from sys.conversation_endpoints order by is_initiator desc
select count(*) as groups from sys.conversation_groups
select status, priority, queuing_order, message_sequence_number, service_name, service_contract_name, message_type_name, validation, cast(message_body as xml) as body from answers order by queuing_order
GO
-- one message, its columns and variables
declare @h uniqueidentifier, @t sysname, @b xml
receive top (1) message_sequence_number as n, message_type_name, cast(message_body as xml) as body from answers;
receive top (1) @h = conversation_handle, @t = message_type_name, @b = cast(message_body as xml) from answers
select @t as t, @b as b, case when @h is null then 'none' else 'some' end as h
;send on conversation @h message type answer ('done')
GO
-- the rest, all columns that can be shown
receive status, priority, queuing_order, message_sequence_number, service_name, service_contract_name, message_type_name, validation, message_body from answers
receive message_body from answers
select is_initiator, receive_sequence from sys.conversation_endpoints order by is_initiator desc
GO
-- into a table variable
declare @m table (n bigint, name sysname, body varchar(20))
receive message_sequence_number, message_type_name, cast(message_body as varchar(20)) from asks into @m
select * from @m
select @@rowcount as n
GO
-- the target ends, the initiator hears of it, and ends
declare @t uniqueidentifier = (select conversation_handle from sys.conversation_endpoints where is_initiator = 0)
end conversation @t
select is_initiator, state, state_desc from sys.conversation_endpoints
declare @i uniqueidentifier = (select conversation_handle from sys.conversation_endpoints)
begin try
  ;send on conversation @i message type request ('<late/>')
end try
begin catch
  select error_number() as n, error_message() as m
end catch
receive message_type_name, message_body, validation from asks where conversation_handle = @i
end conversation @i
select count(*) as endpoints from sys.conversation_endpoints
select count(*) as groups from sys.conversation_groups
GO
-- an end with an error
declare @h uniqueidentifier, @t uniqueidentifier
begin dialog @h from service asker to service 'answerer', 'current database' on contract work
;send on conversation @h message type request ('<a/>')
receive @t = conversation_handle from answers
end conversation @t with error = 42 description = 'no & <never>'
receive message_type_name, message_type_id, validation, cast(message_body as xml) as body from asks
select state, state_desc from sys.conversation_endpoints
end conversation @h
select count(*) as endpoints from sys.conversation_endpoints
GO
-- clean-up tells nobody, and who sends then fails
declare @h uniqueidentifier, @t uniqueidentifier
begin dialog @h from service asker to service 'answerer' on contract work
;send on conversation @h message type request ('<a/>')
receive @t = conversation_handle from answers
end conversation @t with cleanup
;send on conversation @h message type request ('<a/>')
receive message_type_name, cast(message_body as xml) as body from asks
end conversation @h with cleanup
select count(*) as endpoints from sys.conversation_endpoints
GO
-- what is refused
declare @h uniqueidentifier
begin dialog @h from service nobody to service 'answerer' on contract work
GO
declare @h uniqueidentifier
begin dialog @h from service asker to service 'answerer' on contract nothing
GO
declare @h uniqueidentifier, @s nvarchar(10)
begin dialog @h from service asker to service @s on contract work
GO
declare @h uniqueidentifier
begin dialog @h from service asker to service 'answerer' on contract work with lifetime = 0
GO
declare @h uniqueidentifier, @g uniqueidentifier = '00000000-0000-0000-0000-000000000002'
begin dialog @h from service asker to service 'answerer' on contract work with related_conversation = @g
GO
declare @h uniqueidentifier
;send on conversation @h message type request ('<a/>')
GO
declare @h uniqueidentifier = '00000000-0000-0000-0000-000000000001'
;send on conversation @h message type request ('<a/>')
GO
declare @h uniqueidentifier = '00000000-0000-0000-0000-000000000001'
end conversation @h
GO
declare @h uniqueidentifier
begin dialog @h from service asker to service 'answerer' on contract work
begin try send on conversation @h message type request ('<a>') end try begin catch print error_message() end catch
begin try send on conversation @h message type answer (N'x') end try begin catch print error_message() end catch
begin try send on conversation @h message type [DEFAULT] (N'x') end try begin catch print error_message() end catch
begin try send on conversation @h message type nothing (N'x') end try begin catch print error_message() end catch
begin try send on conversation @h message type empty_one (N'x') end try begin catch print error_message() end catch
begin try send on conversation @h message type request end try begin catch print error_message() end catch
declare @null nvarchar(10)
begin try send on conversation @h message type request (@null) end try begin catch print error_message() end catch
begin try end conversation @h with error = null description = 'x' end try begin catch print error_message() end catch
end conversation @h
select count(*) as endpoints from sys.conversation_endpoints
GO
receive * from nowhere
GO
declare @a int
receive @a = 1, message_body from asks
GO
declare @a int, @t table (a int)
receive @a = 1 from asks into @t
GO
-- a target that does not take the contract
create service deaf on queue answers
declare @h uniqueidentifier
begin dialog @h from service asker to service 'deaf' on contract work
;send on conversation @h message type request ('<a/>')
receive message_type_name, cast(message_body as xml) as body from asks
end conversation @h
drop service deaf
GO
-- DEFAULT, several conversations at once, related ones, moving
create queue both
create service alone on queue both ([DEFAULT])
declare @a uniqueidentifier, @b uniqueidentifier, @c uniqueidentifier, @g uniqueidentifier
begin dialog @a from service alone to service 'alone'
begin dialog @b from service alone to service 'alone' with related_conversation = @a
begin dialog @c from service alone to service 'alone'
select count(*) as conversations, count(distinct conversation_group_id) as groups from sys.conversation_endpoints
;send on conversation (@a, @b, @c) (N'to all')
select count(*) as messages, count(distinct conversation_group_id) as groups from both
select @g = conversation_group_id from sys.conversation_endpoints where conversation_handle = @a
move conversation @c to @g
select count(*) as conversations from sys.conversation_endpoints where conversation_group_id = @g
declare @none uniqueidentifier = newid()
begin try move conversation @c to @none end try begin catch print error_number() end catch
declare @next uniqueidentifier
get conversation group @next from both
receive cast(message_body as nvarchar(20)) as body from both where conversation_group_id = @next
select count(*) as messages from both
end conversation @a with cleanup
end conversation @b with cleanup
end conversation @c with cleanup
GO
-- retention keeps what was received and sent
create queue keeps with retention = on
create service keeper on queue keeps ([DEFAULT])
declare @a uniqueidentifier
begin dialog @a from service keeper to service 'keeper'
;send on conversation @a ('kept')
receive cast(message_body as varchar(9)) as body from keeps
select status, cast(message_body as varchar(9)) as body from keeps order by status
receive message_body from keeps
end conversation @a
select status, message_type_name from keeps order by status
GO
-- dropping a service ends its conversations
drop service alone
select count(*) as endpoints from sys.conversation_endpoints where far_service = 'alone'
drop queue both
GO
use master
drop database talk
GO
