-- Whole numbers: ranges, overflow, division, precedence.
select cast(255 as tinyint) as t, cast(-32768 as smallint) as s, 2147483647 as i, cast(9223372036854775807 as bigint) as b
GO
select cast(256 as tinyint)
GO
select 2147483647 + 1
GO
select cast(2147483647 as bigint) + 1 as fits
GO
select 7 / 2 as div, -7 / 2 as negdiv, 7 % 3 as md, -7 % 3 as negmd, 7 / 2.0 as dec
GO
select 1 / 0
GO
-- The sign takes the whole product.
select 6 / -3 * 2 as quirk, -2 * 3 as plain
GO
select 5 & 3 as a, 5 | 3 as o, 5 ^ 3 as x, ~5 as n
GO
select cast('  42 ' as int) as trimmed
GO
select cast('4x' as int)
GO
select try_cast('4x' as int) as t, try_convert(int, '7') as u
GO
select cast(1 as bit) as b1, cast(-5 as bit) as b2, cast(0 as bit) as b3, cast('true' as bit) as b4
