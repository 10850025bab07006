-- SET ANSI_WARNINGS OFF, ARITHABORT OFF: arithmetic that fails gives NULL and a message, and the statement goes on.
select 1 / 0 as x
GO
set ansi_warnings off
set arithabort off
GO
select 1 / 0 as x
select n, 12 / n as q, 12 % n as r, 1.5 / n as d, cast(1 as float) / n as f, cast(1 as money) / n as m from (values (0), (4)) t (n) order by n
GO
select n, n + 1 as i, n * 2 as j, -(-n) as k from (values (2147483647), (1)) t (n) order by n
select cast(n as tinyint) as t, cast(n as smallint) as s, cast(n as decimal(3, 1)) as d from (values (300), (70000), (7)) t (n) order by n
GO
select sqrt(f) as s, log(f) as l, power(2, cast(f as int) + 40) as p from (values (-1e0), (4e0)) t (f) order by f
GO
select sum(n) as s, avg(n) as a, count(*) as c from (values (2147483647), (1)) t (n)
select n from (values (0), (4)) t (n) where 12 / n > 1
GO
-- what is no arithmetic fails as before
select cast('x' as int)
GO
declare @v int = 1 / 0
set @v = 2147483647 + 1
select @v as v
if 1 / 0 = 1 print 'one' else print 'unknown'
select @v = 5 / 0
select @v as v, @@error as e
GO
-- one message for a statement, and none with ARITHIGNORE
set arithignore on
select 1 / 0 as x
set arithignore off
GO
create table divided (id int not null, q int null, s varchar(3) null, d tinyint null)
insert divided values (1, 1 / 0, 'abcdef', 300)
update divided set q = id / 0, s = s + 'xyz' where id = 1
select * from divided
insert divided (id) values (1 / 0)
GO
-- text is cut off in silence; aggregates skip NULL so
insert divided (id, s) select 2, 'long enough'
declare @t varchar(3) = 'abcdef'
select s, @t as t from divided where id = 2
select sum(q) as s, max(d) as m from divided
GO
-- ARITHABORT alone raises the error again, and ANSI_WARNINGS alone cuts no text
set arithabort on
select 1 / 0 as x
GO
insert divided (id, s) values (3, 'long enough')
GO
set arithabort off
set ansi_warnings on
select 1 / 0 as x
GO
insert divided (id, s) values (4, 'long enough')
GO
select sum(q) as s from divided
drop table divided
GO
