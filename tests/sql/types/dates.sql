-- Dates: literals, parts, arithmetic, conversion styles.
select cast('2024-02-29' as date) as d, cast('20240229 13:14:15.678' as datetime) as dt, cast('2024-02-29T13:14:15.1234567' as datetime2) as d2, cast('13:14:15' as time(0)) as t, cast('2024-02-29 13:14' as smalldatetime) as s, cast('2024-02-29 13:14:15 +02:00' as datetimeoffset(0)) as o
GO
select cast('2023-02-29' as date)
GO
select dateadd(month, 1, cast('2024-01-31' as date)) as m, datediff(day, '2024-01-01', '2024-03-01') as d, datepart(weekday, '2024-02-29') as w, datename(month, '2024-02-29') as n, year('2024-02-29') as y, month('2024-02-29') as mm, day('2024-02-29') as dd, eomonth('2024-02-10') as e
GO
select convert(varchar(30), cast('2024-02-29 13:14:15.678' as datetime), 121) as s121, convert(varchar(8), cast('2024-02-29' as datetime), 112) as s112, convert(varchar(30), cast('2024-02-29' as datetime), 101) as s101, convert(varchar(30), cast('2024-02-29 13:14:15' as datetime), 120) as s120, convert(varchar(30), cast('2024-02-29 13:14:15' as datetime), 126) as s126
GO
-- datetime has ticks of 1/300 s.
select cast('2024-01-01 00:00:00.001' as datetime) as a, cast('2024-01-01 00:00:00.002' as datetime) as b, cast('2024-01-01 00:00:00.999' as datetime) as c
GO
select cast(cast('2024-01-01' as datetime) + 1.5 as varchar(30)) as plus, datediff(minute, '2024-01-01 00:59:59', '2024-01-01 01:00:00') as boundary
GO
select datetimefromparts(2024, 2, 29, 1, 2, 3, 4) as d, datefromparts(2024, 2, 29) as e, isdate('2024-13-01') as bad
GO
select datefromparts(2024, 2, 30)
GO
select cast('2024-02-29 12:00 +02:00' as datetimeoffset(0)) at time zone 'UTC' as utc, switchoffset(cast('2024-02-29 12:00 +02:00' as datetimeoffset(0)), '+05:30') as sw
