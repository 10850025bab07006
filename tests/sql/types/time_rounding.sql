-- A time of day does not become the midnight after it.
declare @t time(1) = null
select convert(time(0), '23:59:59.999999999') as t0, convert(time(4), '23:59:59.999999999') as t4, convert(time(7), '23:59:59.999999999') as t7, @t as t1
select cast(cast('23:59:59.9999999' as time(7)) as time(2)) as t2, cast(cast('2026-01-05 23:59:59.9999999' as datetime2) as time(0)) as t0,
  cast('12:00:00.5' as time(0)) as up, cast(cast('2026-01-05 23:59:59.9999999' as datetime2) as datetime2(0)) as next_day
