-- Dynamic cursors look for their rows when they are fetched, those that were inserted since among them.
create table t (id int primary key, v varchar(10) null, n int not null default 1)
insert t (id, v) values (10, 'a'), (20, 'b'), (30, 'c')
GO
-- What is declared without more is dynamic, forwards only. Rows come in the order of the table.
declare c cursor for select id, v from t where n > 0
open c
select @@cursor_rows as n, cursor_status('global', 'c') as status
fetch next from c
insert t (id, v) values (5, 'before'), (15, 'behind'), (16, 'behind')
fetch next from c
delete t where current of c
delete t where id = 16
fetch next from c
update t set n = 0 where id = 30
insert t (id, v) values (40, 'last')
fetch next from c
-- It is found again behind a key that it is moved to.
update t set id = 50 where current of c
fetch next from c
fetch next from c
select @@fetch_status as status
insert t (id, v) values (60, 'too late')
fetch next from c
close c
open c
fetch next from c
deallocate c
GO
-- The rows of a list grow while it is read.
create table #parts (id int identity primary key, part varchar(10), of_part varchar(10))
insert #parts values ('bike', null)
declare @part varchar(10)
declare walk cursor local for select part from #parts
open walk
fetch next from walk into @part
while @@fetch_status = 0
begin
  insert #parts (part, of_part) select part, @part from (values ('wheel', 'bike'), ('frame', 'bike'), ('spoke', 'wheel'), ('rim', 'wheel')) as b (part, whole) where whole = @part
  fetch next from walk into @part
end
select * from #parts order by id
drop table #parts
GO
-- All directions but ABSOLUTE.
truncate table t
insert t (id, v) values (10, 'a'), (20, 'b'), (30, 'c'), (40, 'd'), (50, 'e')
declare s cursor scroll dynamic for select id from t
open s
fetch prior from s
fetch last from s
fetch prior from s
fetch relative -2 from s
insert t (id, v) values (25, 'new')
fetch relative 1 from s
delete t where id = 25
fetch relative 0 from s
fetch relative 0 from s
fetch relative 2 from s
fetch next from s
fetch relative -1 from s
fetch relative -5 from s
select @@fetch_status as status
fetch relative 2 from s
fetch first from s
fetch relative 9 from s
select @@fetch_status as status
fetch absolute 1 from s
deallocate s
GO
-- An order that is the table's from its end; one that is none of an index; one of another index, whose later rows are not seen.
create index iv on t (v)
declare d cursor scroll dynamic for select id, v from t order by id desc
open d
fetch next from d
insert t (id, v) values (45, 'x')
fetch next from d
fetch prior from d
fetch first from d
fetch last from d
deallocate d
declare d cursor dynamic for select id from t order by n
open d
select @@cursor_rows as kept
deallocate d
declare d cursor dynamic for select v, id from t order by v
open d
fetch next from d
insert t (id, v) values (1, 'aa')
fetch next from d
deallocate d
drop index iv on t
GO
-- Without a key: rows that are alike, NULLs; a clustered index that is not unique.
create table #heap (a int null, b varchar(5) null)
insert #heap values (1, 'x'), (1, 'x'), (null, null)
declare h cursor dynamic scroll for select a, b from #heap
open h
fetch next from h
update #heap set b = 'first' where current of h
fetch next from h
delete #heap where current of h
fetch next from h
insert #heap values (2, 'new')
fetch next from h
fetch next from h
fetch prior from h
deallocate h
create clustered index ch on #heap (a desc)
declare h cursor dynamic scroll for select a, b from #heap order by a desc
open h
fetch last from h
fetch prior from h
insert #heap values (1, 'same')
fetch next from h
fetch next from h
deallocate h
declare h cursor dynamic scroll for select a, b from #heap order by a
open h
fetch next from h
fetch next from h
fetch next from h
deallocate h
drop table #heap
GO
-- Subqueries are looked at again; variables have the values that they had. Aggregates and windows are of all rows: static.
create table #limit (n int)
insert #limit values (20)
declare @least int = 10
declare q cursor for select id, (select max(n) from #limit) as upto from t where id >= @least and id <= (select max(n) from #limit)
set @least = 1000
open q
fetch next from q
insert #limit values (30)
fetch next from q
fetch next from q
fetch next from q
select @@fetch_status as status
deallocate q
declare q cursor for select count(*) + 1 as c from t
open q
select @@cursor_rows as kept
deallocate q
declare q cursor for select 1 + row_number() over (order by id desc) as r, upper(v) as v from t
open q
fetch next from q
deallocate q
declare q cursor for select upper(v) as v from t
open q
select @@cursor_rows as kept
fetch next from q
deallocate q
drop table #limit
GO
-- Conditions that another index answers, lists, a whole key; many rows of one value.
create table many (id int not null, g int not null, v int null, primary key (g, id))
create index iv on many (v)
insert many select value, value % 2, value % 100 from generate_series(1, 2000)
declare @id int, @g int, @n int = 0, @sum int = 0
declare m cursor local for select id, g from many where v = 7
open m
while 1 = 1 begin fetch next from m into @id, @g; if @@fetch_status <> 0 break; select @n += 1, @sum += @id end
select @n as n, @sum as [sum]
close m
deallocate m
declare m cursor local for select id, g from many where v in (7, 8) and g in (0, 1)
open m
select @n = 0, @sum = 0
while 1 = 1 begin fetch next from m into @id, @g; if @@fetch_status <> 0 break; select @n += 1, @sum += @id end
select @n as n, @sum as [sum]
close m
deallocate m
declare m cursor local scroll dynamic for select id, g from many where g = 1 and id > 1990
open m
fetch last from m
fetch prior from m
fetch relative -3 from m
fetch next from m
close m
deallocate m
declare m cursor local scroll dynamic for select id, g from many where g = 1 and id = 1991
open m
fetch next from m
fetch next from m
fetch prior from m
close m
deallocate m
declare m cursor local scroll dynamic for select id, g from many where v = 7
open m
fetch last from m
fetch prior from m
fetch relative -3 from m
fetch next from m
delete many where current of m
fetch prior from m
fetch relative 2 from m
close m
deallocate m
drop table many
GO
-- Table variables.
declare @t table (id int primary key, v varchar(5))
insert @t values (1, 'a'), (2, 'b')
declare tv cursor local for select id, v from @t
open tv
fetch next from tv
update @t set v = 'A' where current of tv
insert @t values (3, 'c')
fetch next from tv
delete @t where current of tv
fetch next from tv
close tv
deallocate tv
declare tv cursor local keyset for select x.id, v from @t as x where x.id > 0 order by v
open tv
select @@cursor_rows as kept
fetch next from tv
delete @t where current of tv
deallocate tv
select * from @t
GO
-- A common table expression with the name of a table.
declare ct cursor for with t as (select 1 as a, 2 as b) select a from t
open ct
select @@cursor_rows as kept
fetch next from ct
deallocate ct
GO
-- A table that is defined otherwise.
declare a cursor for select id, v from t
open a
fetch next from a
alter table t add more int null
fetch next from a
alter table t drop column more
alter table t alter column v varchar(20) not null
fetch next from a
deallocate a
GO
-- What an API asks for: rows that are fetched several at a time.
create table w (id int primary key, v varchar(5))
insert w values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')
declare @c int, @scroll int = 2, @cc int = 4, @rows int, @rc int, @at int, @n int
exec sp_cursoropen @c output, N'select id, v from w', @scroll output, @cc output, @rows output
select @scroll as scroll, @cc as cc, @rows as rows
exec sp_cursorfetch @c, 2, 0, 2
exec sp_cursorfetch @c, 0x100, @at output, @n output
select @at as at, @n as n
exec sp_cursor @c, 2, 2
exec sp_cursor @c, 1, 1, '', @v = 'A'
exec sp_cursor @c, 4, 0, '', @id = 6, @v = 'f'
exec sp_cursorfetch @c, 0x80, 0, 2
exec sp_cursorfetch @c, 2, 0, 2
exec sp_cursorfetch @c, 2, 0, 9
exec @rc = sp_cursorfetch @c, 2, 0, 9
set @n = 0
exec sp_cursorfetch @c, 0x100, @at output, @n output
select @rc as rc, @at as at, @n as n
exec sp_cursorfetch @c, 4, 0, 2
exec @rc = sp_cursorfetch @c, 4, 0, 9
select @rc as adjusted
exec sp_cursorfetch @c, 8, 0, 2
exec sp_cursorfetch @c, 0x200, 0, 9
exec sp_cursorfetch @c, 8, 0, 1
exec sp_cursorfetch @c, 0x20, -2, 3
exec sp_cursorfetch @c, 0x20, 1, 2
exec sp_cursorfetch @c, 0x20, -9, 2
exec sp_cursorfetch @c, 0x20, 2, 1
exec sp_cursorfetch @c, 1, 0, 0
exec sp_cursorfetch @c, 2, 0, 1
exec sp_cursorfetch @c, 2, 0, 0
exec sp_cursorfetch @c, 2, 0, 1
exec sp_cursorfetch @c, 0x10, 1, 1
exec sp_cursorclose @c
-- Forward-only ones, too; they do not close themselves, which fast-forward ones do, and say so.
set @scroll = 0x4004
exec sp_cursoropen @c output, N'select id from w', @scroll output, 1, @rows output
select @scroll as scroll, @rows as rows
exec sp_cursorfetch @c, 2, 0, 4
insert w values (7, 'g')
exec sp_cursorfetch @c, 2, 0, 4
exec sp_cursorfetch @c, 2, 0, 4
exec sp_cursorclose @c
exec @rc = sp_cursoropen @c output, N'select id from w', 0x6010, 1, 4
select @rc as open_still
exec @rc = sp_cursorfetch @c, 2, 0, 4
select @rc as closed
exec sp_cursorfetch @c, 2, 0, 4
exec @rc = sp_cursoropen @c output, N'select id from w', 0x6010, 1, 9
select @rc as closed, @c as c
GO
drop table t, w
GO
-- Fast-forward ones read some rows ahead, in the order of the table, and see no more than they ask for.
create table f (id int primary key, v int)
insert f select value, value % 7 from generate_series(1, 200)
declare @id int, @n int = 0, @sum int = 0
declare ff cursor local fast_forward for select id from f where v < 6 order by id desc
open ff
select @@cursor_rows as n, cursor_status('local', 'ff') as status
while 1 = 1 begin fetch next from ff into @id; if @@fetch_status <> 0 break; select @n += 1, @sum += @id end
select @n as n, @sum as [sum]
fetch next from ff
close ff
open ff
fetch next from ff
fetch prior from ff
delete f where current of ff
deallocate ff
declare ff cursor local forward_only read_only for select id from f where id in (3, 199)
open ff
insert f values (0, 0)
fetch next from ff
fetch next from ff
fetch next from ff
deallocate ff
declare ff cursor local fast_forward for select v, count(*) as c from f group by v
open ff
select @@cursor_rows as n
deallocate ff
drop table f
