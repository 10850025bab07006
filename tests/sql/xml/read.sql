-- value(), exist(), query() and nodes() of xml: variables, columns, expressions, nested rows.
create table doc (id int primary key, x xml null, tag varchar(20) null)
insert doc values (1, '<order no="17"><line sku="a" qty="2">Nail</line><line sku="b" qty="5">Nut &amp; bolt</line></order>', 'a')
insert doc values (2, '<order no="18"><line sku="c" qty="1">Saw</line></order>', 'c'), (3, null, 'x'), (4, '', 'y')
GO
-- Values of a variable.
declare @x xml = '<r a="1"><i id="7" on="true">one</i><i id="8">two</i><d>2026-03-04T05:06:07</d><m>12.50</m></r>'
select @x.value('(/r/i)[1]', 'varchar(10)') as first, @x.value('(/r/i/@id)[2]', 'int') as second, @x.value('(/r/@a)[1]', 'bigint') as a,
  @x.value('(/r/i/@on)[1]', 'bit') as is_on, @x.value('(/r/d)[1]', 'datetime') as d, @x.value('(/r/m)[1]', 'decimal(9,2)') as m,
  @x.value('(/r/none)[1]', 'int') as none
select @x.value('count(/r/i)', 'int') as n, @x.value('sum(/r/i/@id)', 'int') as s, @x.value('string((/r/i)[last()])', 'nvarchar(10)') as l,
  @x.value('concat("<", string((/r/i)[1]), ">")', 'varchar(20)') as c, @x.value('local-name((/r/*)[3])', 'sysname') as name,
  @x.value('max(/r/i/@id)', 'int') as m, @x.value('/r[1]/i[2]', 'varchar(10)') as two
GO
-- The old ways of splitting a string and of putting one together.
declare @list varchar(100) = 'red,green,blue & white'
select t.c.value('.', 'varchar(20)') as part from (select cast('<a>' + replace(replace(@list, '&', '&amp;'), ',', '</a><a>') + '</a>' as xml) as x) d cross apply d.x.nodes('/a') as t(c)
select stuff((select ',' + tag from doc where tag < 'd' order by id for xml path(''), type).value('.', 'nvarchar(max)'), 1, 1, '') as tags
select (select '<' + tag + '>' from doc where id = 1 for xml path(''), type).value('(./text())[1]', 'varchar(max)') as kept
GO
-- Rows of a column; what matches nothing, and NULL, give none.
select d.id, l.c.value('@sku', 'varchar(5)') as sku, l.c.value('@qty', 'int') as qty, l.c.value('text()[1]', 'varchar(20)') as name, l.c.value('../@no', 'int') as no
from doc d cross apply d.x.nodes('/order/line') as l(c) order by d.id, sku
select d.id, l.c.value('@sku', 'varchar(5)') as sku from doc d outer apply d.x.nodes('/order/line[@qty > 1]') as l(c) order by d.id, sku
select d.id, count(*) as n, sum(l.c.value('@qty', 'int')) as q from doc d cross apply x.nodes('//line') l(c) group by d.id order by d.id
select count(*) as n from doc d cross apply d.x.nodes('/order/line') l(c) where l.c is not null and l.c.exist('.[@sku="b"]') = 1
GO
-- Rows of rows.
declare @x xml = '<g><p n="1"><c>a</c><c>b</c></p><p n="2"/><p n="3"><c>c</c></p></g>'
select p.p.value('@n', 'int') as n, c.c.value('.', 'varchar(5)') as c from @x.nodes('/g/p') as p(p) cross apply p.p.nodes('c') as c(c)
select p.p.value('@n', 'int') as n, c.c.value('.', 'varchar(5)') as c from @x.nodes('/g/p') as p(p) outer apply p.p.nodes('./c') as c(c)
select p.p.query('.') as whole, p.p.query('c') as part, p.p.exist('c') as has from @x.nodes('/g/p') as p(p)
select n.c.value('local-name(.)', 'varchar(10)') as name, n.c.value('count(../*)', 'int') as siblings from @x.nodes('//*') as n(c)
GO
-- exist(): 1, 0, NULL.
select id, x.exist('/order/line[@sku="b"]') as b, x.exist('/order[@no=18]') as n18, x.exist('//line[contains(., "a") and not(@qty = 2)]') as a from doc order by id
select id from doc where x.exist('/order/line/@qty[. = 5]') = 1
GO
-- sql:variable and sql:column.
declare @no int = 18, @sku nvarchar(10) = N'a', @n int = 2
select id, x.exist('/order[@no = sql:variable("@no")]') as no, x.exist('//line[@sku = sql:column("tag")]') as tag, x.exist('//line[@sku = sql:column("d.tag")]') as qualified from doc d order by id
select x.value('(/order/line[@sku = sql:variable("@sku")]/@qty)[1]', 'int') as qty, x.value('(/order/line[sql:variable("@n")])[1]', 'varchar(20)') as nth from doc where id = 1
select cast('' as xml).value('xs:base64Binary(sql:variable("@sku"))', 'varbinary(10)') as none, cast('' as xml).value('sql:variable("@no") + 1', 'int') as n
declare @b varbinary(10) = 0x00FF10, @s varchar(20) = 'AP8Q', @h varchar(20) = '00ff10'
select cast('' as xml).value('xs:base64Binary(sql:variable("@b"))', 'varchar(20)') as encoded, cast('' as xml).value('xs:base64Binary(sql:variable("@s"))', 'varbinary(20)') as decoded, cast('' as xml).value('xs:hexBinary(sql:variable("@h"))', 'varbinary(20)') as hex
GO
-- query(): paths, FLWOR, constructors, conditions.
declare @x xml = (select x from doc where id = 1)
select @x.query('/order/line[2]') as a, @x.query('//line/text()') as b, @x.query('data(//@sku)') as c, @x.query('/nothing') as d
select @x.query('<lines no="{/order/@no}">{ for $l in /order/line where $l/@qty > 1 order by $l/@sku descending return <l>{ data($l/@qty) }: { string($l) }</l> }</lines>') as made
select @x.query('for $l in //line let $q := $l/@qty return if ($q > 3) then <many/> else element few { attribute q { $q }, text { "x" } }') as made
select @x.value('some $l in //line satisfies $l/@qty > 3', 'bit') as s, @x.value('every $l in //line satisfies $l/@qty > 3', 'bit') as e, @x.value('if (//line) then "y" else "n"', 'char(1)') as i
select @x.query('/order').query('order/line[1]').value('.', 'varchar(10)') as chained
GO
-- Namespaces: in the prolog, or of the statement.
declare @x xml = '<r xmlns="urn:d" xmlns:p="urn:p"><p:a p:b="1">x</p:a><c>y</c></r>'
select @x.value('declare namespace q="urn:p"; declare default element namespace "urn:d"; (/r/q:a/@q:b)[1]', 'int') as b, @x.value('(//*:c)[1]', 'char(1)') as c, @x.exist('/r') as none;
with xmlnamespaces ('urn:p' as q, default 'urn:d') select @x.value('(/r/q:a)[1]', 'char(1)') as a, n.c.value('.', 'char(1)') as c, @x.query('/r/c') as q from @x.nodes('/r/c') n(c)
select @x.query('//*:a') as q
GO
-- The form in which xml is kept.
select cast('<?xml version="1.0"?><r>  <a b = ''1''></a> <![CDATA[x<y]]> </r>' as xml) as x, convert(xml, '<r> <a/> </r>', 1) as kept, cast(N'a<b/>' as xml) as content, cast(0x3C612F3E as xml) as bytes
select try_cast('<a>' as xml) as t, try_convert(xml, '<a/>') as u
GO
-- text and ntext become xml by themselves, as clients send long strings
create table long_strings (a text, b ntext)
insert long_strings values ('<a  x = "1"/>', N'<b/>')
declare @t table (x xml)
insert @t select a from long_strings
insert @t select b from long_strings
select x from @t
GO
