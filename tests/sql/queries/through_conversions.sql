-- Seeks through conversions: where a column is converted to be compared, an index on it is searched all the same.
create table v (id int not null primary key, at datetime null index by_at, at2 datetime2(3) null index by_at2, small smalldatetime null index by_small, d date null index by_d, t time(0) null index by_t,
  i int null index by_i, b bigint null index by_b, ti tinyint null index by_ti, m money null index by_m, dec decimal(10, 2) null index by_dec, r real null index by_r, other int null index by_other (other desc, i desc))
insert v select n, dateadd(millisecond, n * 10 / 3 * 1000 / 250, dateadd(day, n / 60, '2025-01-01')), dateadd(millisecond, n % 7, dateadd(hour, n, cast('2025-01-01' as datetime2(3)))), dateadd(minute, n * 37, '2025-01-01'), dateadd(day, n / 3, '2025-01-01'),
  dateadd(second, n * 211, cast('00:00' as time(0))), n - 150, cast(n - 150 as bigint) * 30000000000, n % 256, (n - 150) * 1.0001, (n - 150) * 1.25, (n - 150) * 0.1, n % 5
from (select value from generate_series(1, 300)) s(n)
insert v (id) values (1000)
insert v (id, at, at2, small, d, t, i, b, ti, m, dec, r) values (1001, '9999-12-31 23:59:59.997', '9999-12-31 23:59:59.999', '2079-06-06', '2079-06-06', '23:59:59', 2147483647, 900000000000000, 255, 922337203685477.5807, 99999999.99, 3.4e38),
  (1002, '1753-01-01', '0001-01-01', '1900-01-01', '1900-01-01', '00:00', -2147483648, -900000000000000, 0, -922337203685477.5808, -99999999.99, -3.4e38)
go
-- Whatever is compared with whatever: the same rows as by reading all of them.
create table asked (col sysname, type varchar(30), value varchar(60) null)
insert asked select c.col, p.type, p.value from (values ('at'), ('at2'), ('small'), ('d')) c(col) cross join (values ('datetime2(7)', '2025-01-03'), ('datetime2(7)', '2025-01-03 00:00:00.0000001'), ('datetime2(7)', '2025-01-03 01:00:00.003'),
  ('datetime2(7)', '2025-01-03 01:00:00.0033333'), ('datetime2(0)', '2025-01-05 12:00'), ('datetime2(7)', '0001-01-01'), ('datetime2(7)', '9999-12-31 23:59:59.9999999'), ('datetime2(7)', null), ('datetime', '2025-01-03 02:00'), ('datetime', '2025-01-02 23:59:59.997'),
  ('datetimeoffset', '2025-01-03 01:00 +01:00'), ('datetimeoffset', '2025-01-03 00:00 +00:00'), ('smalldatetime', '2025-01-04 00:37'), ('date', '2025-01-04')) p(type, value)
insert asked select 't', p.type, p.value from (values ('time(7)', '12:00:00.0000001'), ('time(7)', '11:59:59.9999999'), ('time(3)', '00:03:31'), ('time(7)', null)) p(type, value)
insert asked select c.col, p.type, p.value from (values ('i'), ('b'), ('ti'), ('m'), ('dec')) c(col) cross join (values ('decimal(18, 4)', '5'), ('decimal(18, 4)', '5.5'), ('decimal(18, 4)', '-5.5'), ('decimal(18, 4)', '12.5'), ('decimal(38, 10)', '1.0001'), ('decimal(18, 4)', null), ('money', '7'), ('money', '-7.5'), ('float', '7'), ('float', '12.5'), ('float', '-1e300'), ('float', '1e300'), ('float', '30000000000'), ('float', '9223372036854775807'), ('bigint', '60000000000'), ('bigint', '20')) p(type, value)
insert asked select c.col, p.type, p.value from (values ('i'), ('b'), ('ti')) c(col) cross join (values ('decimal(38, 0)', '99999999999999999999999999999999999999'), ('decimal(38, 0)', '-99999999999999999999999999999999999999'), ('decimal(38, 20)', '19.99999999999999999999')) p(type, value)
insert asked select 'r', p.type, p.value from (values ('float', '0.1'), ('float', '0.100000001490116'), ('float', '5'), ('float', '1e300'), ('float', null), ('int', '5'), ('decimal(9, 3)', '2.5')) p(type, value)
go
create procedure compares as
begin
  set nocount on
  declare @col sysname, @type varchar(30), @value varchar(60), @op char(2), @sql nvarchar(max), @sought int, @scanned int, @asked int = 0, @found bigint = 0
  declare c cursor local fast_forward for select a.col, a.type, a.value, o.op from asked a cross join (values ('='), ('<'), ('<='), ('>'), ('>=')) o(op)
  open c
  fetch next from c into @col, @type, @value, @op
  while @@fetch_status = 0
  begin
    set @sql = concat(N'declare @p ', @type, ' = cast(@value as ', @type, '); select @sought = count(*) from v with (forceseek) where ', @col, ' ', @op, ' @p; select @scanned = count(*) from v with (index(1), forcescan) where ', @col, ' ', @op, ' @p')
    exec sp_executesql @sql, N'@value varchar(60), @sought int output, @scanned int output', @value, @sought output, @scanned output
    if @sought <> @scanned print concat(@col, ' ', @op, ' ', @type, ' ', @value, ': ', @sought, ' instead of ', @scanned)
    set @asked += 1
    set @found += @sought
    fetch next from c into @col, @type, @value, @op
  end
  select @asked as asked, @found as found
end
go
exec compares
go
-- With other conditions on the same column, whichever comes first: all of them hold.
declare @dec decimal(18, 4) = 5.5, @dec2 decimal(18, 4) = 7, @dt2 datetime2(7) = '2025-01-03', @later datetime2(7) = '2025-01-03 00:00:01'
select count(*) as n from v where i > @dec and i < 8
select count(*) as n from v where i < 8 and i > @dec
select count(*) as n from v where i = @dec2 and i > 6
select count(*) as n from v where i > 7 and i = @dec2
select count(*) as n from v where i = @dec and i = 5
select count(*) as n from v where at >= @dt2 and at < dateadd(day, 1, @dt2)
select count(*) as n from v where at between @dt2 and @later
select id from v where other = 2 and i = @dec2
select id from v where other = 2 and i between @dec and 13 order by i
go
-- Joins, and changes.
create table keys (k decimal(12, 1) not null primary key, at datetime2(7) not null)
insert keys values (1.0, '2025-01-03'), (2.5, '2025-01-04'), (3.0, '2025-01-05')
go
select k.k, v.id from keys k join v on v.i = k.k order by k.k
select k.k, v.id from keys k left join v on v.i = k.k order by k.k
select k.k from keys k where exists (select * from v where v.at = k.at) order by k.k
go
declare @p decimal(18, 4) = 4
update v set other = 99 where i = @p
delete v where i = @p
select count(*) as n from v where i = @p
go
-- How it is read.
set showplan_text on
go
declare @dt2 datetime2(7), @dto datetimeoffset, @dec decimal(18, 4), @f float, @n nvarchar(10)
select id from v where at > @dt2
select id from v where at = @dt2
select id from v where d <= @dt2
select id from v where at >= @dto
select id from v where dec = @dec
select id from v where i = @dec
select id from v where i > 5.5
select id from v where i < @f
select id from v where other = 3 and i >= @dec
select k.k, v.id from keys k join v on v.i = k.k
-- These are not in the column's order.
select id from v where cast(i as varchar(10)) = '5'
select id from v where cast(dec as int) = 5
select id from v where cast(at as time) = '12:00'
go
set showplan_text off
go
set showplan_text off
go
-- What a histogram says of values of another type: shares of 20,000 rows.
create table sale (id int not null primary key, day date not null, at datetime not null, n int not null, price decimal(10, 2) not null, cost money not null, weight float not null)
insert sale select value, dateadd(day, value % 1000, '2020-01-01'), dateadd(hour, value, '2020-01-01'), value, value / 4.0, value, value from generate_series(1, 20000)
go
exec sp_executesql N'declare @x int; select @x = id from sale where day >= @from and day < @to /* moments, 100 of 1,000 days */', N'@from datetime2, @to datetime2', '2020-03-01', '2020-06-09'
exec sp_executesql N'declare @x int; select @x = id from sale where day < @to /* moments with an offset, 100 days */', N'@to datetimeoffset', '2020-04-10'
exec sp_executesql N'declare @x int; select @x = id from sale where at < @to /* datetime, a tenth */', N'@to date', '2020-03-24'
exec sp_executesql N'declare @x int; select @x = id from sale where n < @p /* decimal, a tenth */', N'@p decimal(12, 2)', 2000.5
exec sp_executesql N'declare @x int; select @x = id from sale where n > @p /* float, a tenth */', N'@p float', 18000
exec sp_executesql N'declare @x int; select @x = id from sale where price < @p /* float, a tenth */', N'@p float', 500
exec sp_executesql N'declare @x int; select @x = id from sale where cost < @p /* decimal, a tenth */', N'@p decimal(19, 6)', 2000
exec sp_executesql N'declare @x int; select @x = id from sale where weight < @p /* decimal, a tenth */', N'@p decimal(19, 6)', 2000
go
select substring(t.text, charindex('where', t.text), 80) as asked, round(p.query_plan.value('declare default element namespace "http://schemas.microsoft.com/sqlserver/2004/07/showplan"; (//StmtSimple/@StatementEstRows)[1]', 'float'), -3) as estimated
from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t cross apply sys.dm_exec_query_plan(s.plan_handle) p where t.text like '%= id from sale where%' and t.text not like '%charindex%' and t.text not like '%exec %' order by 1
go
