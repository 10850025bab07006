-- Full-text search in documents: by the extensions that a type column has, and in xml.
create database office
GO
use office
create table dbo.paper (id uniqueidentifier not null constraint pk_paper primary key, name varchar(20), doc varbinary(max), kind nvarchar(8), x xml, old_ ntext)
insert dbo.paper values
    ('11111111-1111-1111-1111-111111111111', 'page', convert(varbinary(max), '<html><title>Anchors</title><style>p {color: red}</style><p>Harbour &amp; lighthouse</html>'), N'.html', null, N'ink'),
    ('22222222-2222-2222-2222-222222222222', 'text', convert(varbinary(max), N'' + nchar(0xfeff) + N'Straße am Hafen'), N'txt', N'<a name="attribute" n="12"><b>element</b><c>12.5</c></a>', null),
    ('33333333-3333-3333-3333-333333333333', 'xml', convert(varbinary(max), '<r><i>lighthouse</i></r>'), N'.xml', null, null),
    ('44444444-4444-4444-4444-444444444444', 'word', convert(varbinary(max), 'lighthouse'), N'.doc', null, null),
    ('55555555-5555-5555-5555-555555555555', 'none', convert(varbinary(max), 'lighthouse'), null, null, null)
create fulltext catalog c as default
create fulltext index on dbo.paper (doc type column kind language N'German', x, old_) key index pk_paper
exec sys.sp_keel_fulltext_wait
GO
select name from dbo.paper where contains(doc, N'lighthouse') order by name
select name from dbo.paper where contains(doc, N'red or anchors') order by name
select name from dbo.paper where contains(doc, N'"straße am hafen"')
select name from dbo.paper where contains(x, N'attribute and element') order by name
select name from dbo.paper where contains(x, N'"12"')
select name from dbo.paper where contains(*, N'ink or "12.5"') order by name
-- What could not be read is counted; the rows are indexed but for it.
select objectproperty(object_id('dbo.paper'), 'TableFulltextFailCount') as unread, objectproperty(object_id('dbo.paper'), 'TableFulltextItemCount') as items
-- Another type is another document.
update dbo.paper set kind = N'.txt' where name = 'word'
exec sys.sp_keel_fulltext_wait
select name from dbo.paper where contains(doc, N'lighthouse') order by name
select [key] from containstable(dbo.paper, doc, N'harbour')
GO
use master
drop database office
