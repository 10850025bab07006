-- Who may use, alter, own and move XML schema collections.
create user ann without login
create user bob without login
GO
create schema other
GO
create xml schema collection sc as '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="r" type="xsd:int"/></xsd:schema>'
exec sp_addextendedproperty N'MS_Description', N'One number.', N'SCHEMA', N'dbo', N'XML SCHEMA COLLECTION', N'sc'
select class_desc, major_id, value from sys.extended_properties
GO
execute as user = 'ann'
GO
create xml schema collection mine as '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"/>'
GO
declare @x xml(sc) = '<r>1</r>'
GO
alter xml schema collection sc add '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="s" type="xsd:int"/></xsd:schema>'
GO
drop xml schema collection sc
GO
select name from sys.xml_schema_collections where xml_collection_id > 1
revert
GO
grant execute on xml schema collection::dbo.sc to ann
grant alter on xml schema collection::sc to ann
grant select on xml schema collection::sc to ann
GO
select class, class_desc, permission_name, state_desc from sys.database_permissions where class = 10 order by 3
execute as user = 'ann'
GO
declare @x xml(sc) = '<r>1</r>'; select @x as x
alter xml schema collection sc add '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="s" type="xsd:int"/></xsd:schema>'
set @x = '<s>2</s>'
select name from sys.xml_schema_collections where xml_collection_id > 1
revert
GO
alter authorization on xml schema collection::sc to bob
select name, user_name(principal_id) as owner from sys.xml_schema_collections where xml_collection_id > 1
alter schema other transfer xml schema collection::dbo.sc
select schema_name(schema_id) as place, principal_id from sys.xml_schema_collections where xml_collection_id > 1
select count(*) as permissions from sys.database_permissions where class = 10
GO
declare @x xml(other.sc) = '<r>1</r>'; select @x as x
GO
drop xml schema collection other.sc
select count(*) as properties from sys.extended_properties
GO
drop user ann
drop user bob
drop schema other
GO
