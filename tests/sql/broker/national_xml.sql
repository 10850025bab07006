-- National text is a document as it is stored: that is how most programs send XML.
select cast(cast(N'<a>1</a>' as varbinary(50)) as xml) as x
GO
create database talk
GO
use talk
create message type request validation = well_formed_xml
create contract work (request sent by any)
create queue q
create service s on queue q (work)
declare @h uniqueidentifier
begin dialog @h from service s to service 's' on contract work
;send on conversation @h message type request (N'<a>1</a>')
;receive cast(message_body as nvarchar(20)) as text, cast(message_body as xml) as x from q
GO
