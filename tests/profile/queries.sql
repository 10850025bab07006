-- Decision support on TPROC-C's tables, and the statements of programs that do not use procedures: what `./build` has the
-- server do, beside TPROC-C itself, so that the profile it is built by has seen scans, joins, sorts and aggregates too.
set nocount on
go
select ol_number, sum(ol_quantity) as quantity, sum(ol_amount) as amount, avg(ol_quantity) as mean_quantity, avg(ol_amount) as mean_amount, count(*) as lines
from order_line where ol_o_id > 10 group by ol_number order by ol_number
go
select top 100 c_id, c_last, sum(ol_amount) as revenue, c_city, c_phone
from customer
join orders on c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
where o_entry_d >= '2000-01-01' and o_entry_d <= ol_delivery_d
group by c_id, c_last, c_city, c_phone order by revenue desc
go
select o_ol_cnt, sum(case when o_carrier_id in (1, 2) then 1 else 0 end) as high_line_count, sum(case when o_carrier_id not in (1, 2) then 1 else 0 end) as low_line_count
from orders where exists (select * from order_line where ol_o_id = o_id and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_quantity > 3)
group by o_ol_cnt order by o_ol_cnt
go
select top 50 i_name, substring(i_data, 1, 3) as brand, i_price, count(distinct s_w_id) as suppliers, max(s_quantity) as most, min(s_quantity) as least
from stock join item on i_id = s_i_id
where i_data not like 'zz%' and i_name like '%a%' and s_quantity between 20 and 90
group by i_name, substring(i_data, 1, 3), i_price order by suppliers desc, i_name
go
select 100.00 * sum(case when i_data like 'PR%' then ol_amount else 0 end) / (1 + sum(ol_amount)) as promo_revenue
from order_line, item where ol_i_id = i_id and ol_delivery_d is not null
go
with revenue (supplier, total) as (
  select s_w_id * s_i_id % 100, sum(ol_amount) from order_line join stock on ol_i_id = s_i_id and ol_supply_w_id = s_w_id group by s_w_id * s_i_id % 100
)
select supplier, total from revenue where total >= (select avg(total) from revenue) order by total desc, supplier
go
select d_w_id, d_id, d_name, (select count(*) from new_order where no_w_id = d_w_id and no_d_id = d_id) as open_orders,
  (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id) as last_order
from district order by d_w_id, d_id
go
select top 200 * from (
  select c_w_id, c_d_id, c_last, c_first, c_balance, row_number() over (partition by c_w_id, c_d_id order by c_balance desc, c_id) as place,
    sum(c_payment_cnt) over (partition by c_w_id, c_d_id) as payments, lag(c_balance) over (partition by c_w_id, c_d_id order by c_id) as before
  from customer
) as ranked where place <= 5 order by c_w_id, c_d_id, place
go
select c_state, c_credit, count(*) as customers, avg(c_discount) as discount, sum(c_balance) as balance, string_agg(left(c_last, 3), ',') as names
from customer where c_id <= 100 group by grouping sets ((c_state, c_credit), (c_credit), ()) having count(*) > 3 order by c_state, c_credit
go
select left(h_data, 4) as place, year(h_date) as y, datepart(hour, h_date) as h, sum(h_amount) as paid, cast(avg(h_amount) as decimal(10, 2)) as mean
from history group by left(h_data, 4), year(h_date), datepart(hour, h_date) order by paid desc
go
select i_id, i_price from item where i_id <= 400 except select ol_i_id, i_price from order_line join item on i_id = ol_i_id where ol_amount > 5000 order by i_id
go
select upper(c_last) + ', ' + rtrim(c_first) as name, replace(c_phone, '0', '#') as phone, format(c_balance, 'N2') as balance,
  convert(varchar(30), c_since, 121) as since, coalesce(nullif(c_credit, 'GC'), 'none') as credit, charindex('a', c_data) as at, len(c_data) as length
from customer where c_id between 1 and 60 order by name offset 20 rows fetch next 100 rows only
go
-- One row after the other, in text and with parameters.
declare @i int = 1, @name varchar(24), @price decimal(9, 2), @sum decimal(19, 2) = 0
while @i <= 3000
begin
  select @name = i_name, @price = i_price from item where i_id = @i
  if @name like '%b%' or @price > 50 set @sum += @price else set @sum -= 1
  set @i += 1
end
declare items cursor local fast_forward for select top 2000 i_id, i_name from item order by i_name
open items
fetch next from items into @i, @name
while @@fetch_status = 0 fetch next from items into @i, @name
close items
deallocate items
go
create table #work (id int identity primary key, k int not null, t nvarchar(60) null, at datetime2 not null default sysdatetime(), index by_k (k))
insert #work (k, t) select s_i_id % 997, concat(N'stock of ', s_i_id) from stock
update #work set t = upper(t), k = k + 1 where id % 3 = 0
merge #work as into_it using (select top 3000 i_id, i_name from item) as from_it on into_it.id = from_it.i_id
  when matched then update set t = from_it.i_name when not matched then insert (k, t) values (from_it.i_id, from_it.i_name);
delete #work where k between 100 and 300
select k, count(*) as n, max(t) as t from #work group by k order by n desc, k
drop table #work
go
declare @n int = 1
while @n <= 2000
begin
  exec sp_executesql N'select c_first, c_last, c_balance from customer where c_w_id = 1 and c_d_id = @d and c_id = @c', N'@d int, @c int', @d = 3, @c = @n
  if @n % 10 = 0 exec (N'update warehouse set w_name = lower(w_name) where w_id = 1; select w_ytd from warehouse where w_id = 1')
  set @n += 1
end
go
select s.name, t.name, c.name, y.name, c.max_length, i.name from sys.tables t join sys.schemas s on s.schema_id = t.schema_id join sys.columns c on c.object_id = t.object_id
join sys.types y on y.user_type_id = c.user_type_id left join sys.indexes i on i.object_id = t.object_id order by 1, 2, c.column_id
go
select table_name, column_name, data_type, is_nullable from information_schema.columns order by 1, 2
go
backup database tpcc to disk = 'profile.bak' with init
go
dbcc checkdb
go
