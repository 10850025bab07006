-- What the methods of xml refuse, and texts that are no xml.
declare @x xml = '<r/>'; select @x.value('/r/a', 'int')
GO
declare @x xml = '<r/>'; select @x.value('(/r/a)[1]/text()', 'int')
GO
declare @x xml = '<r/>'; select @x.query('contains(/r/a, "x")')
GO
declare @x xml = '<r/>'; select @x.exist('/r[')
GO
declare @x xml = '<r/>'; select @x.exist('/r/a[1')
GO
declare @x xml = '<r/>'; select @x.exist('(/r')
GO
declare @x xml = '<r/>'; select @x.exist('')
GO
declare @x xml = '<r/>'; select @x.exist('/p:r')
GO
declare @x xml = '<r/>'; select @x.exist('starts-with("a", "b")')
GO
declare @x xml = '<r/>'; select @x.exist('/r["a" = 1]')
GO
declare @x xml = '<r/>'; select @x.query('("a", /r)')
GO
declare @x xml = '<r/>'; select @x.query('/r/following-sibling::a')
GO
declare @x xml = '<r a="1"/>'; select @x.query('/r/@a')
GO
declare @x xml = '<r/>'; select @x.query('$y')
GO
declare @x xml = '<r/>'; select @x.value('(/r)[1]', @x)
GO
declare @x xml = '<r/>', @p varchar(10) = '/r'; select @x.exist(@p)
GO
declare @x xml = '<r/>'; select @x.exist('/r', 'int')
GO
declare @x xml = '<r/>'; select @x.value('sql:variable("@missing")', 'int')
GO
declare @x xml = '<r/>'; select @x.value('sql:column("missing")', 'int')
GO
declare @x varchar(10) = '<r/>'; select @x.value('.', 'int')
GO
declare @x xml = '<r/>'; select @x.modify('delete /r')
GO
declare @x xml = '<r/>'; select @x.Value('.', 'int')
GO
declare @x xml = '<r/>'; select c from @x.nodes('/r') t(c)
GO
declare @x xml = '<r/>'; select * from @x.nodes('/r') t(c)
GO
declare @x xml = '<r>x</r>'; select @x.value('(/r)[1]', 'int')
GO
declare @x xml = '<a><b></a>'
GO
select cast('<a>' as xml)
GO
select cast('<a>&foo;</a>' as xml)
GO
select cast('<a x=1/>' as xml)
GO
select cast('<a x="1" x="2"/>' as xml)
GO
select cast('<p:a/>' as xml)
GO
select cast(N'<?xml version="1.0" encoding="utf-8"?><a/>' as xml)
GO
select cast('<!DOCTYPE a [<!ELEMENT a ANY>]><a/>' as xml)
GO
select cast(replicate(cast('<a>' as varchar(max)), 200) + replicate(cast('</a>' as varchar(max)), 200) as xml)
GO
create table t (x xml)
insert t values ('<a>')
GO
-- characters that XML does not know cannot be made either
declare @x xml = '<r/>', @s nvarchar(3) = nchar(1); select @x.query('<a>{sql:variable("@s")}</a>')
GO
declare @x xml = '<r/>', @s nvarchar(3) = nchar(1); set @x.modify('insert text{sql:variable("@s")} into (/r)[1]')
GO
