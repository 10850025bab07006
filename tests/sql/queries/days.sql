-- CAST(moment AS date) beside a day: a range of moments, in which an index is searched.
create table visit (id int not null primary key, at datetime not null index by_at, at2 datetime2(3) null index by_at2, small smalldatetime null index by_small, zoned datetimeoffset null index by_zoned, n int not null)
insert visit select value, dateadd(minute, value * 7, '2025-01-01'), dateadd(millisecond, value % 1000, dateadd(second, value * 420, cast('2025-01-01' as datetime2(3)))), dateadd(minute, value * 7, '2025-01-01'), dateadd(minute, value * 7, '2025-01-01'), value from generate_series(1, 20000)
insert visit values (30001, '2025-02-03 00:00', '2025-02-03 00:00', '2025-02-03 00:00', '2025-02-03 00:00', 1), (30002, '2025-02-03 23:59:59.997', '2025-02-03 23:59:59.999', '2025-02-03 23:59', '2025-02-03 23:59:59.9999999', 2),
  (30003, '2025-02-04 00:00', '2025-02-04 00:00', '2025-02-04 00:00', '2025-02-04 00:00', 3), (30004, '2025-02-02 23:59:59.997', null, null, null, 4), (30005, '9999-12-31 23:59:59.997', '9999-12-31 23:59:59.999', '2079-06-06', null, 5)
go
-- The same rows, whether an index is searched or all rows are read.
create procedure compares @day date as
begin
  select 'at =' as what, (select count(*) from visit where cast(at as date) = @day) as sought, (select count(*) from visit with (index(1)) where convert(varchar(10), at, 23) = convert(varchar(10), @day, 23)) as scanned
  union all select 'at <', (select count(*) from visit where cast(at as date) < @day), (select count(*) from visit with (index(1)) where convert(varchar(10), at, 23) < convert(varchar(10), @day, 23))
  union all select 'at <=', (select count(*) from visit where cast(at as date) <= @day), (select count(*) from visit with (index(1)) where convert(varchar(10), at, 23) <= convert(varchar(10), @day, 23))
  union all select 'at >', (select count(*) from visit where @day < cast(at as date)), (select count(*) from visit with (index(1)) where convert(varchar(10), at, 23) > convert(varchar(10), @day, 23))
  union all select 'at >=', (select count(*) from visit where convert(date, at) >= @day), (select count(*) from visit with (index(1)) where convert(varchar(10), at, 23) >= convert(varchar(10), @day, 23))
  union all select 'at <>', (select count(*) from visit where cast(at as date) <> @day), (select count(*) from visit with (index(1)) where convert(varchar(10), at, 23) <> convert(varchar(10), @day, 23))
  union all select 'at2 =', (select count(*) from visit where cast(at2 as date) = @day), (select count(*) from visit with (index(1)) where convert(varchar(10), at2, 23) = convert(varchar(10), @day, 23))
  union all select 'at2 >', (select count(*) from visit where cast(at2 as date) > @day), (select count(*) from visit with (index(1)) where convert(varchar(10), at2, 23) > convert(varchar(10), @day, 23))
  union all select 'small =', (select count(*) from visit where cast(small as date) = @day), (select count(*) from visit with (index(1)) where convert(varchar(10), small, 23) = convert(varchar(10), @day, 23))
  union all select 'small between', (select count(*) from visit where cast(small as date) between @day and dateadd(day, 1, @day)), (select count(*) from visit with (index(1)) where convert(varchar(10), small, 23) between convert(varchar(10), @day, 23) and convert(varchar(10), dateadd(day, 1, @day), 23))
  union all select 'zoned =', (select count(*) from visit where cast(zoned as date) = @day), (select count(*) from visit with (index(1)) where convert(varchar(10), zoned, 23) = convert(varchar(10), @day, 23))
end
go
exec compares '2025-02-03'
go
exec compares null
go
select count(*) as n from visit where cast(at as date) = '9999-12-31'
select count(*) as n from visit where cast(at as date) > '9999-12-31'
select count(*) as n from visit where cast(at as date) >= '0001-01-01'
go
-- With another condition on the same column, either way round: both hold.
select id from visit where cast(at as date) = '2025-02-03' and at > '2025-02-03 23:50'
select id from visit where at > '2025-02-03 23:50' and cast(at as date) = '2025-02-03'
select id from visit where at < '2025-02-03 00:05' and cast(at as date) = '2025-02-03'
select id from visit where cast(at as date) = '2025-02-03' and cast(at as date) = '2025-02-04'
select min(id) as least, max(id) as most, count(*) as n from visit where cast(at as date) >= '2025-02-03' and cast(at as date) < '2025-02-05' and n % 2 = 1
go
-- Days of another table.
create table day (day date not null primary key, name varchar(10))
insert day values ('2025-02-03', 'monday'), ('2025-02-04', 'tuesday'), ('2020-01-01', 'none')
go
select d.name, count(v.id) as visits from day d left join visit v on cast(v.at as date) = d.day group by d.name order by d.name
go
-- Descending keys.
create table log (at datetime2(7) not null, n int not null, index by_at (at desc))
insert log select dateadd(hour, value, cast('2025-03-01' as datetime2(7))), value from generate_series(1, 2000)
go
select count(*) as n, min(n) as least, max(n) as most from log where cast(at as date) = '2025-03-10'
select count(*) as n from log where cast(at as date) > '2025-03-10'
update log set n = 0 where cast(at as date) <= '2025-03-01'
delete log where cast(at as date) = '2025-03-02'
select count(*) as n, sum(iif(n = 0, 1, 0)) as changed from log
go
-- How it is read.
set showplan_text on
go
select id from visit where cast(at as date) = '2025-02-03'
select id from visit where cast(at2 as date) > '2025-03-03'
select id from visit where cast(zoned as date) = '2025-02-03'
select id from visit where try_cast(at as date) = '2025-02-03'
select id from visit where cast(at as date) = cast(getdate() as date)
select d.name, v.id from day d join visit v on cast(v.at as date) = d.day
go
set showplan_text off
