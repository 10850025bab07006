-- FOR JSON and FOR XML: AUTO nests by table, PATH by name, EXPLICIT by tag; what the product refuses.
create table customer (id int primary key, name nvarchar(30) not null, note nvarchar(30) null)
create table sale (id int primary key, customer int not null, placed date not null, amount money not null)
create table line (sale int not null, nr int not null, item varchar(20) not null, primary key (sale, nr))
insert customer values (1, N'Ann & Co', null), (2, N'Bob', N'said "no"'), (3, N'Cy', null)
insert sale values (10, 1, '2026-01-02', 12.5), (11, 1, '2026-01-03', 1), (12, 2, '2026-02-01', 99.99)
insert line values (10, 1, 'nail'), (10, 2, 'nut'), (11, 1, 'bolt'), (12, 1, 'saw')
GO
-- One level for each table, in the order in which the select list names them.
select c.id, c.name, s.id, s.amount, l.item from customer c join sale s on s.customer = c.id join line l on l.sale = s.id order by c.id, s.id, l.nr for json auto
select c.id, c.name, s.id as sale, l.item from customer c join sale s on s.customer = c.id join line l on l.sale = s.id order by c.id, s.id, l.nr for xml auto
GO
-- A parent's columns are gathered, wherever they stand; what belongs to no table joins the deepest level so far.
select s.id, c.name, s.amount, len(c.name) as n from sale s join customer c on c.id = s.customer order by s.id for json auto, root('sales')
select 1 as one, c.id, s.id as sale, c.name from customer c left join sale s on s.customer = c.id order by c.id, s.id for xml auto, elements, root
GO
-- No match: an object without members, an empty element.
select c.id, s.id as sale, s.amount from customer c left join sale s on s.customer = c.id where c.id > 1 order by c.id for json auto
select c.id, s.id as sale from customer c left join sale s on s.customer = c.id where c.id > 1 order by c.id for json auto, include_null_values
select c.id, c.note, s.id as sale from customer c left join sale s on s.customer = c.id where c.id > 1 order by c.id for xml auto
select c.id, c.note, s.id as sale from customer c left join sale s on s.customer = c.id where c.id > 1 order by c.id for xml auto, elements xsinil
GO
-- Names: aliases, table names, with the schema when it is written; dots do not nest.
select id as [a.b], name from dbo.customer where id = 2 for json auto, without_array_wrapper
select id, name as [full name] from dbo.customer where id = 2 for xml auto
select d.x, s.id from (select id as x from customer) d join sale s on s.customer = d.x order by s.id for json auto
select c.id, (select s.id, s.placed from sale s where s.customer = c.id for json auto) as sales from customer c where c.id < 3 for json auto
select c.id, (select s.id from sale s where s.customer = c.id for json path, without_array_wrapper) as sale from customer c where c.id = 2 for json path
GO
-- No rows, no row; in a subquery NULL.
select id from customer where id > 9 for json auto
select id from customer where id > 9 for xml auto
select isnull((select id from customer where id > 9 for json auto), 'none') as j
GO
-- PATH: columns next to each other share the elements of their paths.
select c.id as [@id], c.name as [who/name], c.note as [who/note], count(s.id) as [sales/@count], 'x' as [sales] from customer c left join sale s on s.customer = c.id group by c.id, c.name, c.note order by c.id for xml path('customer'), root('all')
select id as td, '' , name as td from customer for xml path('tr')
select name as [data()] from customer order by id for xml path('')
select ',' + name from customer order by id for xml path('')
select stuff((select ', ' + name from customer order by id for xml path(''), type).value('.', 'nvarchar(max)'), 1, 2, '') as names
select 1 as a, (select item as [@item] from line where sale = 10 for xml path('l'), type) as lines, (select 'x<y' as t for xml path('p')) as plain for xml path
select null as a, 1 as [b/text()], 'c' as [comment()], 'd' as [processing-instruction(go)] for xml path('r'), elements xsinil
GO
with xmlnamespaces ('urn:one' as p, default 'urn:two') select 1 as [p:a], 2 as [@p:b] for xml path('r'), root('x')
GO
with xmlnamespaces ('urn:one' as p, default 'urn:two') select 1 as [@p:b], 2 as [p:a] for xml path('r')
GO
-- RAW, and how values are written.
select id, name, note from customer order by id for xml raw
select id, note from customer where id = 2 for xml raw('c'), elements, root('r')
select cast(1.5 as float) as f, cast(2 as real) as r, cast(3 as money) as m, cast(1 as bit) as b, cast('2026-01-02 03:04:05' as datetime) as d, 0x0102 as bin, cast('2026-01-02' as date) as dd for xml raw, binary base64
select cast(1.5 as float) as f, cast(2 as real) as r, cast(3 as money) as m, cast(1 as bit) as b, cast('2026-01-02 03:04:05' as datetime) as d, 0x0102 as bin, newid() as u where 1 = 0 for json path
select cast(1.5 as float) as f, cast(2 as real) as r, cast(3 as money) as m, cast(1 as bit) as b, cast('2026-01-02 03:04:05' as datetime) as d, 0x0102 as bin for json path
GO
-- EXPLICIT: each row opens a tag inside an open one.
select 1 as Tag, null as Parent, c.id as [customer!1!id], c.name as [customer!1!name!element], null as [sale!2!id!id], null as [sale!2!!cdata], null as [sale!2!secret!hide]
from customer c
union all
select 2, 1, s.customer, null, s.id, convert(varchar(10), s.placed), 1 from sale s
order by [customer!1!id], [sale!2!id!id]
for xml explicit, root('r')
GO
select 1 as tag, null as parent, 'a<b' as [t!1], '<i/>' as [t!1!x!xml], '<o k="v">rest</o>' as [t!1!!xmltext], null as [t!1!gone!elementxsinil] for xml explicit
GO
-- Refusals.
select 1 as a for json auto
GO
select 1 as a for xml auto
GO
select 1 for json path
GO
select id as a, name as a from customer for json path
GO
select id as [a.b], name as c, note as [a.d] from customer for json path
GO
select 1 as a for json path, root('x'), without_array_wrapper
GO
select id, count(*) as n from customer group by id for xml auto
GO
select id, len(name) from customer for xml raw
GO
select id, id from customer for xml raw
GO
select 0x01 as b for xml raw
GO
select id from customer for xml auto, xmlschema
GO
select id from customer for xml path, xmlschema
GO
select id from customer for xml auto('x')
GO
select 1 as a, 2 as [@b] for xml path
GO
select 1 as [@b] for xml path('')
GO
select 1 as [a b] for xml path
GO
select 1 as [p:a] for xml path
GO
select 1 as a for xml path, root('')
GO
select nchar(1) as a for xml path
GO
select 1 as tag, null as parent for xml explicit
GO
select 1 as t, null as parent, 1 as [a!1!x] for xml explicit
GO
select 1 as tag, null as parent, 1 as a for xml explicit
GO
select 'x' as tag, null as parent, 1 as [a!1!x] for xml explicit
GO
select 0 as tag, null as parent, 1 as [a!1!x] for xml explicit
GO
select 1 as tag, -1 as parent, 1 as [a!1!x] for xml explicit
GO
select 1 as tag, 1 as parent, 1 as [a!1!x] for xml explicit
GO
select 2 as tag, null as parent, 1 as [a!1!x] for xml explicit
GO
select 1 as tag, 7 as parent, 1 as [a!1!x] for xml explicit
GO
select 1 as tag, 2 as parent, 1 as [a!1!x], 1 as [b!2!x] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x], 1 as [a!1!x] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x], 1 as [b!1!y] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!id!idref] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!!id] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!id!hide] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!id!xml] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!xml!element] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!cdata] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!wrong] for xml explicit
GO
select 1 as tag, null as parent, '<a/>' as [a!1!x!xmltext], '<a/>' as [a!1!y!xmltext] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!!xmltext] for xml explicit
GO
select 1 as tag, null as parent, 'no' as [a!1!!xmltext] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!hide!hide] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x!idrefs] for xml explicit
GO
select 1 as tag, null as parent, 1 as [a!1!x] for xml explicit, elements
GO
drop table line, sale, customer
GO
-- OPTION before it.
with n (n) as (select 1 union all select n + 1 from n where n < 3) select n from n order by n option (maxrecursion 10) for xml auto
GO
