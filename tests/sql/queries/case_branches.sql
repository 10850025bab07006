-- Columns that only the branches of CASE read: NULLs, columns added later, conditions on other columns, nesting.
create table b (id int primary key, kind int null, a char(30) null, b varchar(40) null, n decimal(9, 2) null)
insert b values (1, 1, 'first', 'one', 1.10), (2, 2, 'second', 'two', 2.20), (3, 3, null, null, null), (4, null, 'fourth', 'four', 4.40)
alter table b add added varchar(20) not null default 'by default'
insert b values (5, 4, 'fifth', 'five', 5.50, 'given')
GO
select id, case kind when 1 then a when 2 then b when 3 then a when 4 then added else 'none' end as t from b order by id
GO
select id, case when kind = 1 then n else id end as n, case when kind > 1 then case when kind = 2 then b else added end end as nested from b order by id
GO
declare @t varchar(40), @n decimal(9, 2), @id int = 1
while @id <= 5
begin
  select @t = case when kind <= 2 then b else added end, @n = case kind when 4 then n end from b with (updlock) where id = @id
  print concat(@id, ' ', @t, ' ', @n)
  set @id = @id + 1
end
GO
select a, case when id < 3 then a else b end as t from b where id <> 4 order by a
GO
select sum(case when kind = 1 then n when kind = 2 then n * 10 end) as s from b
GO
select id, case when id = (select max(id) from b) then a else b end as t from b order by id
GO
drop table b
