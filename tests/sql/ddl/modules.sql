-- Views, functions, procedures, triggers; CREATE OR ALTER; what depends on what is gone.
create table t (id int primary key, v int)
insert t values (1, 10), (2, 20), (3, 30)
GO
create view dbo.big as select id, v from t where v > 10
GO
select * from big order by id
GO
update big set v = v + 1 where id = 2
select v from t where id = 2
GO
create function dbo.twice (@x int) returns int as begin return @x * 2 end
GO
select id, dbo.twice(v) as w from t order by id
GO
create function dbo.above (@m int) returns table as return (select id, v from t where v > @m)
GO
select * from dbo.above(15) order by id
GO
create function dbo.steps (@n int) returns @r table (i int, sq int) as begin declare @i int = 1 while @i <= @n begin insert @r values (@i, @i * @i) set @i += 1 end return end
GO
select t.id, s.sq from t cross apply dbo.steps(t.id) s order by t.id, s.i
GO
create or alter procedure dbo.add_up @a int, @b int = 5, @sum int output as begin set @sum = @a + @b return 42 end
GO
declare @s int, @rc int
exec @rc = dbo.add_up 1, @sum = @s output
select @s as s, @rc as rc
exec @rc = dbo.add_up @a = 1, @b = 2, @sum = @s output
select @s as s
GO
exec dbo.add_up
GO
exec dbo.add_up 1, 2, 3, 4
GO
exec nothing_here
GO
alter view big as select id from t
GO
select * from big order by id
GO
create view big as select 1 as one
GO
create trigger tr on t after insert, update as begin set nocount on; insert log_t select 'ins', id from inserted; insert log_t select 'del', id from deleted end
GO
create table log_t (what char(3), id int)
insert t values (4, 40)
update t set v = 0 where id in (1, 2)
select * from log_t order by what, id
GO
drop view big
drop function dbo.twice, dbo.above, dbo.steps
drop procedure dbo.add_up
drop table t, log_t
GO
select * from big
GO
-- Arguments of table functions: converted, counted, DEFAULT.
create function numbers (@n int = 2, @s varchar(3) = 'x') returns @r table (i int, s varchar(3)) as begin declare @i int = 1 while @i <= @n begin insert @r values (@i, @s) set @i += 1 end return end
GO
create function both_ (@n int = 7, @s varchar(3) = 'y') returns table as return (select @n as n, @s as s)
GO
select * from numbers('3', 'abcdef')
select * from numbers(default, default)
select n.*, b.* from (values (1), (2)) v (x) cross apply numbers(v.x, default) n cross apply both_(default, n.i) b order by v.x, n.i
GO
select * from numbers()
GO
select * from numbers(1, 'a', 2)
GO
select * from both_(1)
GO
select * from both_(1, 'a', 2)
GO
select * from sys.fn_listextendedproperty(default, default, default, default, default, default, default)
if 1 = 1
    with c as (select 1 as a) select a from c
else
    with c as (select 2 as a) select a from c
select cast('<a>x</a>' as xml).value('.', 'varchar(10)') as v
select cast('<a>x</a>' as xml).value('(/a)[1]', 'varchar(10)') as v
GO
drop function numbers, both_
GO
