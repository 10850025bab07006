-- session other:
create database shop
GO
create table shop.dbo.every (id int primary key, a bit, b tinyint, c smallint, d bigint, e decimal(38,10), f numeric(5,0), g money, h smallmoney, i real, j float,
  k date, l time(3), m datetime, n smalldatetime, o datetime2(7), p datetimeoffset(2), q char(5), r varchar(20) collate Cyrillic_General_CI_AS, s varchar(max),
  t nchar(3), u nvarchar(20), v nvarchar(max), w binary(3), x varbinary(10), y varbinary(max), z uniqueidentifier, aa xml, bb sql_variant, cc text, dd ntext, ee image, ff sysname null)
GO
-- session main:
create database here
GO
use here
create table every (id int primary key, a bit, b tinyint, c smallint, d bigint, e decimal(38,10), f numeric(5,0), g money, h smallmoney, i real, j float,
  k date, l time(3), m datetime, n smalldatetime, o datetime2(7), p datetimeoffset(2), q char(5), r varchar(20) collate Cyrillic_General_CI_AS, s varchar(max),
  t nchar(3), u nvarchar(20), v nvarchar(max), w binary(3), x varbinary(10), y varbinary(max), z uniqueidentifier, aa xml, bb sql_variant, cc text, dd ntext, ee image, ff sysname null)
insert every values (1, 1, 255, -32768, 9223372036854775807, -1234567890123456789012345678.0123456789, 99999, -922337203685477.5808, 214748.3647, 1.5, -1e300,
  '0001-01-01', '23:59:59.999', '2026-11-26T12:34:56.997', '2026-11-26T12:34', '9999-12-31T23:59:59.9999999', '2026-11-26T12:34:56.78+05:30', 'abc', N'привет', replicate(cast('x' as varchar(max)), 9000),
  N'漢', N'täkel 😀', replicate(cast(N'ж' as nvarchar(max)), 5000), 0x0102, 0x, 0xDEADBEEF, '6F9619FF-8B86-D011-B42D-00C04FC964FF', N'<a b="1">ü</a>', cast(1.50 as decimal(5,2)), 'old', N'ält', 0xFF, N'name')
insert every (id) values (2)
insert there.shop.dbo.every select * from every
insert there.shop.dbo.every select 3, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, ff from there.shop.dbo.every where id = 1
GO
-- the same came back as went
select l.id, case when r.id is null then 'missing'
  when exists (select l.a, l.b, l.c, l.d, l.e, l.f, l.g, l.h, l.i, l.j, l.k, l.l, l.m, l.n, l.o, l.p, l.q, l.r, l.s, l.t, l.u, l.v, l.w, l.x, l.y, l.z, cast(l.aa as nvarchar(max)), l.bb, cast(l.cc as varchar(max)), cast(l.dd as nvarchar(max)), cast(l.ee as varbinary(max)), l.ff
  except select r.a, r.b, r.c, r.d, r.e, r.f, r.g, r.h, r.i, r.j, r.k, r.l, r.m, r.n, r.o, r.p, r.q, r.r, r.s, r.t, r.u, r.v, r.w, r.x, r.y, r.z, cast(r.aa as nvarchar(max)), r.bb, cast(r.cc as varchar(max)), cast(r.dd as nvarchar(max)), cast(r.ee as varbinary(max)), r.ff)
  then 'differs' else 'same' end as it
from every l left join there.shop.dbo.every r on r.id = l.id
select count(*) as n from there.shop.dbo.every a join there.shop.dbo.every b on a.e = b.e and a.o = b.o and a.u = b.u and a.z = b.z where a.id = 1 and b.id = 3
GO
-- values of every type as parameters
declare @e decimal(38,10) = -1234567890123456789012345678.0123456789, @o datetime2(7) = '9999-12-31T23:59:59.9999999', @u nvarchar(20) = N'täkel 😀', @r varchar(20) = 'x',
  @z uniqueidentifier = '6F9619FF-8B86-D011-B42D-00C04FC964FF', @g money = -922337203685477.5808, @p datetimeoffset(2) = '2026-11-26T12:34:56.78+05:30', @l time(3) = '23:59:59.999'
select id from there.shop.dbo.every where e = @e and o = @o and u = @u and z = @z and g = @g and p = @p and l = @l and r <> @r and k < '1900-01-01' and x = 0x and r = N'ПРИВЕТ' order by id
GO
-- a table with a CLR type
-- session other:
create table shop.dbo.place (id int, p geometry)
GO
-- session main:
select * from there.shop.dbo.place
GO
