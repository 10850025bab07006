-- Implicit conversion by precedence, and what cannot be.
select '5' + 1 as n, 1 + '2.0'
GO
select 'a' + 1
GO
select 1 + N'3' as n, cast(3.9 as int) as trunc, cast(1 as varchar(5)) + 'x' as s
GO
select cast(getdate() as int) / 1000000 as zero, cast(0x0102 as int) as b, cast(258 as binary(4)) as bb, cast('abc' as varbinary(10)) as vb, cast(0x616263 as varchar(10)) as back
GO
select cast(newid() as int)
GO
select cast('6F9619FF-8B86-D011-B42D-00C04FC964FF' as uniqueidentifier) as g, cast(cast('6F9619FF-8B86-D011-B42D-00C04FC964FF' as uniqueidentifier) as binary(16)) as b
GO
select cast('not a guid' as uniqueidentifier)
GO
select isnull(cast(null as varchar(2)), 'long') as cut, coalesce(null, 'long') as kept, nullif(1, 1) as n, nullif(1, 2) as o
GO
select iif(1 < 2, 'yes', 'no') as i, choose(2, 'a', 'b') as c, case 3 when 1 then 'one' else 'other' end as k
GO
select case when null = null then 1 else 0 end as eq, case when null is null then 1 else 0 end as isn
GO
select sql_variant_property(cast(1.5 as sql_variant), 'BaseType') as base
GO
select 1 union all select '2' order by 1
GO
select 1 union all select 'x'
