-- What a procedure and a function name of a collection is the collection as it is when they are called.
create xml schema collection kept as N'<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="r" type="xsd:int"/></xsd:schema>'
GO
create procedure holds @x xml(kept) as declare @y xml(kept) = @x; select @y as y
GO
create function same(@x xml(kept)) returns xml(kept) as begin return @x end
GO
exec holds N'<r>1</r>'
select dbo.same(N'<r>2</r>') as y
GO
alter xml schema collection kept add N'<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="s" type="xsd:int"/></xsd:schema>'
GO
exec holds N'<r>3</r>'
exec holds N'<s>4</s>'
select dbo.same(N'<s>5</s>') as y
GO
begin transaction
alter xml schema collection kept add N'<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="t" type="xsd:int"/></xsd:schema>'
exec holds N'<t>6</t>'
rollback
exec holds N'<s>7</s>'
GO
exec holds N'<t>8</t>'
GO
drop procedure holds
drop function same
drop xml schema collection kept
GO
