-- Queries over typed xml: paths know their types, and how often what they find may be there.
create xml schema collection sc as '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="r"><xsd:complexType><xsd:sequence>
<xsd:element name="d" type="xsd:decimal" minOccurs="0"/><xsd:element name="i" type="xsd:int" minOccurs="0"/>
<xsd:element name="s" type="xsd:string" minOccurs="0" maxOccurs="unbounded"/><xsd:element name="b" type="xsd:boolean" minOccurs="0"/>
<xsd:element name="dt" type="xsd:dateTime" minOccurs="0"/><xsd:element name="n" type="xsd:int" nillable="true" minOccurs="0"/>
<xsd:element name="f" type="xsd:double" minOccurs="0"/><xsd:element name="l" minOccurs="0"><xsd:simpleType><xsd:list itemType="xsd:int"/></xsd:simpleType></xsd:element></xsd:sequence>
<xsd:attribute name="a" type="xsd:int"/><xsd:attribute name="k" type="xsd:string" use="required"/></xsd:complexType></xsd:element></xsd:schema>'
GO
-- A document has one root, and its schema says what comes once.
declare @x xml(document sc) = '<r a="5" k="x"><d>1.50</d><i>7</i><s>a</s><s>b</s><l>1 2 3</l></r>'
select @x.value('/r/d', 'decimal(9,2)') as d, @x.value('/r/@a', 'int') as a, @x.value('/r/@k', 'char(1)') as k
select @x.query('(/r/d)[1] + 1') as sum, @x.query('data(/r/l)') as list, @x.exist('/r[d > 1.4 and i = 7.0]') as found, @x.exist('/r/l[. = 2]') as one
select t.c.value('d', 'float') as d, t.c.value('@a + 1', 'int') as a from @x.nodes('/r') as t(c)
select t.c.value('.', 'char(1)') as s from @x.nodes('/r/s') as t(c)
GO
declare @x xml(document sc) = '<r k="x"/>'; select @x.value('/r/s', 'char(1)')
GO
-- Content may have several.
declare @x xml(sc) = '<r k="x"><d>1</d></r>'; select @x.value('/r/d', 'decimal(9,2)')
GO
declare @x xml(sc) = '<r a="5" k="x"/>'; select @x.query('data(/r/@a) + 1')
GO
declare @x xml(sc) = '<r k="x"><d>1.5</d></r>'; select @x.query('(/r/d)[1] = "1.5"')
GO
declare @x xml(sc) = '<r k="x"><s>a</s></r>'; select @x.query('(/r/s)[1] + 1')
GO
declare @x xml(sc) = '<r k="x"><d>2</d></r>'; select @x.query('/r/d/text()')
GO
declare @x xml(sc) = '<r k="x"/>'; select @x.query('/q')
GO
declare @x xml(sc) = '<r k="x"/>'; select @x.query('/r/q')
GO
declare @x xml(sc) = '<r k="x"/>'; select @x.query('/r/@q')
GO
declare @x xml(sc) = '<r k="x"><d>2</d><f>1234567</f></r>'
select @x.query('(/r/d)[1] div 3') as exact, @x.query('(/r/f)[1] + 1') as approximate, @x.query('data((/r/d)[1]) instance of xs:decimal?') as of_type, @x.query('//d') as anywhere
GO
-- modify() keeps the instance valid, and values are of their types.
declare @x xml(sc) = '<r k="x"><d>1.5</d><i>1</i><n>1</n></r>'
set @x.modify('replace value of (/r/d)[1] with (/r/d)[1] + 1')
set @x.modify('replace value of (/r/@k)[1] with "y"')
set @x.modify('replace value of (/r/n)[1] with ()')
set @x.modify('insert <s>z</s> after (/r/i)[1]')
set @x.modify('insert attribute a {"09"} into (/r)[1]')
select @x as x, @x.value('(/r/n)[1]', 'int') as nil
GO
declare @x xml(sc) = '<r k="x"><d>1</d></r>'; set @x.modify('replace value of (/r/d)[1] with "abc"')
GO
declare @x xml(sc) = '<r k="x"><i>1</i></r>'; set @x.modify('replace value of (/r/i)[1] with 1.5')
GO
declare @x xml(sc) = '<r k="x"><i>1</i></r>'; set @x.modify('insert <q/> into (/r)[1]')
GO
declare @x xml(sc) = '<r k="x"><i>1</i></r>'; set @x.modify('delete /r/@k')
GO
-- A column of the target is meant, whatever the other tables have.
create table doc (id int primary key, x xml(sc))
insert doc values (1, '<r k="x"><i>1</i></r>'), (2, '<r k="y"/>')
update doc set x.modify('insert <d>0.00</d> as first into (/r)[1]') from (select id, x from doc) old where old.id = doc.id and old.x.exist('/r/d') <> 1
update doc set x.modify('replace value of (/r/d)[1] with (/r/d)[1] + 0.5') where id = 1
select * from doc
drop table doc
GO
drop xml schema collection sc
GO
-- Types that come from types, substitution, nil, wildcards, defaults.
create xml schema collection shapes as '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:s" targetNamespace="urn:s" elementFormDefault="qualified">
<xs:complexType name="shape" abstract="true"><xs:sequence><xs:element name="name" type="xs:string" nillable="true"/></xs:sequence><xs:attribute name="unit" type="xs:string" default="cm"/></xs:complexType>
<xs:complexType name="circle"><xs:complexContent><xs:extension base="shape"><xs:sequence><xs:element name="radius" type="xs:decimal"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>
<xs:simpleType name="size"><xs:restriction base="xs:int"><xs:minInclusive value="1"/><xs:maxInclusive value="9"/></xs:restriction></xs:simpleType>
<xs:element name="shape" type="shape"/><xs:element name="round" type="circle" substitutionGroup="shape"/>
<xs:element name="all"><xs:complexType><xs:sequence><xs:element ref="shape" minOccurs="0" maxOccurs="unbounded"/><xs:any namespace="##other" processContents="lax" minOccurs="0"/></xs:sequence><xs:attribute name="size" type="size"/></xs:complexType></xs:element></xs:schema>'
GO
declare @x xml(shapes) = '<all xmlns="urn:s" size="3"><round><name>r</name><radius>2.50</radius></round><o:other xmlns:o="urn:o"><what>ever</what></o:other></all>'
select @x as x, @x.value('declare default element namespace "urn:s"; sum(/all/round/radius)', 'decimal(9,2)') as total
set @x = '<shape xmlns="urn:s" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="circle"><name xsi:nil="true"/><radius>1</radius></shape>'
select @x as x
GO
declare @x xml(shapes) = '<shape xmlns="urn:s"><name>r</name></shape>'
GO
declare @x xml(shapes) = '<all xmlns="urn:s" size="10"/>'
GO
declare @x xml(shapes) = '<all xmlns="urn:s"><square/></all>'
GO
declare @x xml(shapes) = '<shape xmlns="urn:s" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="size">1</shape>'
GO
drop xml schema collection shapes
GO
