-- attributes, the default
declare @h int, @doc nvarchar(max) = N'<ROOT>
<Customer CustomerID="VINET" ContactName="Paul Henriot">
  <Order OrderID="10248" CustomerID="VINET" EmployeeID="5" OrderDate="1996-07-04T00:00:00">
    <OrderDetail ProductID="11" Quantity="12"/>
    <OrderDetail ProductID="42" Quantity="10"/>
  </Order>
</Customer>
<Customer CustomerID="LILAS" ContactName="Carlos Gonzlez">
  <Order OrderID="10283" CustomerID="LILAS" EmployeeID="3" OrderDate="1996-08-16T00:00:00">
    <OrderDetail ProductID="72" Quantity="3"/>
  </Order>
</Customer>
</ROOT>'
exec sp_xml_preparedocument @h output, @doc
select * from openxml(@h, '/ROOT/Customer', 1) with (CustomerID varchar(10), ContactName varchar(20))
-- patterns of columns, upwards too
select * from openxml(@h, '/ROOT/Customer/Order/OrderDetail', 2)
  with (OrderID int '../@OrderID', CustomerID varchar(10) '../@CustomerID', OrderDate datetime '../@OrderDate',
        ProdID int '@ProductID', Qty int '@Quantity')
-- properties
select * from openxml(@h, '/ROOT/Customer/Order') with (id int '@mp:id', parent varchar(20) '@mp:parentlocalname', up varchar(20) '../@mp:localname', oid int '@OrderID')
-- joins, inserts and updates from it
create table detail (product int, qty smallint null)
insert detail select ProductID, Quantity from openxml(@h, '//OrderDetail') with (ProductID int, Quantity smallint)
update d set qty = d.qty + x.Quantity from detail d join openxml(@h, '//OrderDetail[@Quantity > 5]') with (ProductID int, Quantity int) x on x.ProductID = d.product
select * from detail order by product
-- a table's columns
select * from openxml(@h, '//OrderDetail') with detail
exec sp_xml_removedocument @h
GO
-- child elements; both; text and xml
declare @h int
exec sp_xml_preparedocument @h output, '<r><p id="1"><name>rope &amp; sail</name><qty>3</qty><tags><t>a</t><t>b</t></tags></p><p id="2" name="anchor"><qty/></p></r>'
select * from openxml(@h, '/r/p', 2) with (id int, name nvarchar(20), qty int)
select * from openxml(@h, '/r/p', 3) with (id int, name nvarchar(20), qty int)
select * from openxml(@h, 'r/p', 2) with (i int '@id', t nvarchar(10) 'tags/t[2]', tags xml, own nvarchar(20) 'name/text()', everything nvarchar(200) '@mp:xmltext')
select * from openxml(@h, '/r/nobody') with (id int)
exec sp_xml_removedocument @h
GO
-- namespaces
declare @h int
exec sp_xml_preparedocument @h output, '<a:r xmlns:a="urn:a"><a:i v="1">x</a:i></a:r>', '<root xmlns:q="urn:a"/>'
select * from openxml(@h, '/q:r/q:i') with (v int, t char(1) '.', ns varchar(10) '@mp:namespaceuri', p varchar(5) '@mp:prefix')
select * from openxml(@h, '/a:r') with (v int)
GO
-- the edge table
declare @h int
exec sp_xml_preparedocument @h output, '<r a="1"><b>x</b><!--c--><b>y</b></r>'
select * from openxml(@h, '/r')
select id, parentid, localname, [text] from openxml(@h, '/r/b') order by id
GO
-- what goes wrong
select * from openxml(99, '/r') with (a int)
GO
exec sp_xml_removedocument 99
GO
declare @h int; exec sp_xml_preparedocument @h output, '<a><b></a>'; select @h
GO
declare @h int; exec sp_xml_preparedocument @h output, '<a x="q"/>'
select * from openxml(@h, '/a') with (x int)
GO
declare @h int; exec sp_xml_preparedocument @h output, '<a x="q"/>'
select * from openxml(@h, '/a[') with (x int)
GO
declare @h int; exec sp_xml_preparedocument @h output, '<a x="q"/>'
select * from openxml(@h, '/a', 8) with (x varchar(3))
GO
declare @h int; exec sp_xml_preparedocument @h output, '<a x="q"/>'
select * from openxml(@h, '/a') with (x varchar(3) '@mp:nothing')
GO
select * from openxml(1) with (a int)
GO
select * from openxml(1, '/a') with nobody
GO
declare @h int; exec sp_xml_preparedocument @h output, null; select * from openxml(@h, '/a') with (x int)
GO
