-- How many different values there are is told from a sample of neighbours, and where a part of a calendar lies from who uses it.
create database spread
go
use spread
create table calendar (day_id int primary key, year_no int not null, day_name varchar(10) not null)
insert calendar select value, 1900 + value / 365, concat('day ', value % 7) from generate_series(0, 72999)
create table sale (order_no int not null, line_no int not null, day_id int not null, item int not null, note varchar(max), primary key (order_no, line_no))
insert sale select value / 4, value % 4, 36500 + value / 40, abs(checksum(value * 7919)) % 500, null from generate_series(0, 59999)
create table item (item int not null, part int not null, price money not null, primary key (item, part))
insert item select value / 100, value % 100, value from generate_series(0, 49999)
go
create table #v (all_density float, average_length float, columns nvarchar(200))
go
create procedure #told @column sysname, @truth int as
begin
  declare @s nvarchar(max) = concat(N'dbcc show_statistics (''sale'', ', @column, N') with density_vector, no_infomsgs')
  delete #v
  insert #v exec (@s)
  select @column as of_column, case when 1 / all_density between @truth * 0.5 and @truth * 2 then 'about right' else concat('told ', 1 / all_density) end as told from #v where columns not like '%,%'
end
go
-- Those of the same order and of the same day lie side by side.
set nocount on
exec #told 'order_no', 15000
exec #told 'line_no', 4
exec #told 'day_id', 1500
exec #told 'item', 500
set nocount off
go
-- All of a year's sales are expected, not a two hundredth of them.
select count(*) as sales from sale s join calendar c on c.day_id = s.day_id where c.year_no = 2002
go
set showplan_text on
go
select count(*) as n, sum(i.price) as price from sale s join calendar c on c.day_id = s.day_id join item i on i.item = s.item where c.year_no = 2002
go
set showplan_text off
go
use master
drop database spread
