-- XML schema collections: made, added to, dropped, used as types.
create xml schema collection sc as '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="r"><xsd:complexType><xsd:sequence>
<xsd:element name="d" type="xsd:decimal" minOccurs="0"/><xsd:element name="i" type="xsd:int" minOccurs="0"/>
<xsd:element name="s" type="xsd:string" minOccurs="0" maxOccurs="unbounded"/><xsd:element name="b" type="xsd:boolean" minOccurs="0"/>
<xsd:element name="n" type="xsd:int" nillable="true" minOccurs="0"/></xsd:sequence><xsd:attribute name="a" type="xsd:int"/></xsd:complexType></xsd:element></xsd:schema>'
GO
create xml schema collection sc as '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"/>'
GO
create xml schema collection bad as 'garbage'
GO
create xml schema collection bad as N'<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="a" type="nope"/></xsd:schema>'
GO
create xml schema collection bad as null
GO
declare @n int = 1; create xml schema collection bad as @n
GO
create xml schema collection bad as '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="r"><xsd:complexType/><xsd:unique name="u"><xsd:selector xpath="i"/><xsd:field xpath="@id"/></xsd:unique></xsd:element></xsd:schema>'
GO
-- Every way into the type validates, and keeps values in the form of their types.
select cast('<r><d>1.50</d></r>' as xml(sc)) c, convert(xml(content dbo.sc), '<r><b>1</b></r>') v, cast(cast('<r a=" 07 "/>' as xml) as xml(sc)) x
declare @x xml(sc) = '<r><i>007</i></r>'; select @x as declared
set @x = '<r/><r/>'; select @x as content
GO
select cast('<r><d>x</d></r>' as xml(sc))
GO
select try_cast('<r><d>x</d></r>' as xml(sc))
GO
select cast('<q/>' as xml(sc))
GO
select cast('<r/><r/>' as xml(document sc))
GO
select cast('<r/>' as xml(nope))
GO
declare @x xml(sc) = '<r><q/></r>'
GO
create table doc (id int primary key, x xml(sc) null, y xml(document dbo.sc) null default '<r><d>5.0</d></r>')
insert doc (id, x) values (1, '<r><d>1.0</d><s>a</s><s>b</s></r>'), (2, null)
insert doc (id, x) select 3, cast('<r a="4"/>' as xml)
select * from doc
GO
insert doc (id, x) values (4, '<r><i>1.5</i></r>')
GO
update doc set x = '<r z="1"/>' where id = 1
GO
insert doc (id, x, y) values (5, '<r/>', '<r/><r/>')
GO
alter table doc add z xml
alter table doc alter column z xml(sc)
GO
-- Procedures, functions, table variables, temporary tables, SELECT INTO.
create procedure take @x xml(sc), @back xml(document sc) = null output as begin set @back = @x; select @x as taken end
GO
declare @back xml; exec take '<r><d>2.00</d></r>', @back output; select @back as back
exec take '<r><d>two</d></r>'
GO
create function made(@d varchar(9)) returns xml(sc) as begin return '<r><d>' + @d + '</d></r>' end
GO
select dbo.made('3.10') as made
select dbo.made('x') as made
GO
declare @t table (x xml(sc)); insert @t values ('<r><i>01</i></r>'); select x from @t
create table #t (x xml(sc)); insert #t values ('<r><i>02</i></r>'); select x from #t
select id, x into copied from doc where id = 1; insert copied values (9, '<q/>')
GO
create type lines as table (n int, x xml(sc))
GO
declare @l lines; insert @l values (1, '<r><i>03</i></r>'); select * from @l
GO
-- What is added is there at once; what is there is not changed.
alter xml schema collection sc add '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t"><xsd:element name="t" type="xsd:int"/></xsd:schema>'
GO
insert doc (id, x) values (6, '<t xmlns="urn:t"> 05 </t>'); select x from doc where id = 6
GO
alter xml schema collection sc add '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="r" type="xsd:int"/></xsd:schema>'
GO
alter xml schema collection nope add '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"/>'
GO
begin tran
alter xml schema collection sc add '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="z" type="xsd:int"/></xsd:schema>'
GO
insert doc (id, x) values (7, '<z>1</z>'); select x from doc where id = 7
rollback
GO
insert doc (id, x) values (7, '<z>1</z>')
GO
-- The catalog.
select name, schema_name(schema_id) as owner, xml_collection_id from sys.xml_schema_collections order by 3
select xml_collection_id, name, xml_namespace_id from sys.xml_schema_namespaces where xml_collection_id > 1
select name, symbol_space_desc, kind_desc, derivation_desc from sys.xml_schema_components where xml_collection_id > 1 order by xml_component_id
select name, is_nillable, is_abstract from sys.xml_schema_elements where name in ('n', 'r')
select object_name(object_id) as o, name, xml_collection_id, is_xml_document from sys.columns where xml_collection_id > 0 order by 1, 2
select object_name(object_id) as o, column_id, xml_collection_id from sys.column_xml_schema_collection_usages order by 1, 2
select object_name(object_id) as o, parameter_id, xml_collection_id from sys.parameter_xml_schema_collection_usages order by 1, 2
select name, xml_collection_schema, xml_collection_name, is_xml_document from sys.dm_exec_describe_first_result_set('select x, y, id from doc', null, 0)
select xml_schema_namespace('dbo', 'sc', 'urn:t') as of_one
GO
select xml_schema_namespace('dbo', 'sc', 'urn:none')
GO
-- What is used is not dropped.
drop xml schema collection sc
GO
drop table doc, copied, #t
drop xml schema collection sc
GO
drop type lines
drop procedure take
drop xml schema collection sc
GO
drop function made
drop xml schema collection dbo.sc
drop xml schema collection if exists sc
drop xml schema collection sc
GO
select count(*) as n from sys.xml_schema_collections
GO
