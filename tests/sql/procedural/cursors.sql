-- Cursors: scrolling, static against dynamic, WHERE CURRENT OF, variables.
create table t (id int primary key, v int)
insert t values (1, 10), (2, 20), (3, 30)
GO
declare c cursor local for select id, v from t order by id
declare @id int, @v int, @sum int = 0
open c
fetch next from c into @id, @v
while @@fetch_status = 0
begin
  set @sum += @v
  fetch next from c into @id, @v
end
close c
deallocate c
select @sum as s, @@fetch_status as fs
GO
declare s scroll cursor for select id from t order by id
open s
fetch last from s
fetch first from s
fetch absolute 2 from s
fetch relative 1 from s
fetch prior from s
fetch absolute -1 from s
fetch next from s
select @@fetch_status as fs, @@cursor_rows as rows, cursor_status('global', 's') as st
close s
deallocate s
GO
declare u cursor for select id, v from t for update of v
open u
fetch next from u
update t set v = v + 1 where current of u
fetch next from u
delete t where current of u
close u
deallocate u
select * from t order by id
GO
declare @c cursor
set @c = cursor static for select id from t
open @c
fetch next from @c
deallocate @c
GO
fetch next from nope
GO
declare d cursor for select 1
fetch next from d
deallocate d
GO
drop table t
-- Rows of a table without a unique index are found again by their place: NULLs, rows that are alike, a row changed twice.
create table #heap (a int, b varchar(10), c xml)
insert #heap values (1, 'x', '<a/>'), (null, 'y', null), (3, null, '<b/>'), (3, null, '<b/>'), (4, 'z', null)
create index ix_heap on #heap (b)
declare h cursor for select a from #heap where b is null or b > 'x'
open h
fetch next from h
update #heap set b = 'first' where current of h
update #heap set a = 100 where current of h
fetch next from h
update #heap set a = 200 where current of h
fetch next from h
delete #heap where current of h
update #heap set a = 300 where current of h
fetch next from h
update #heap set b = 'last' from #heap as t where current of h
close h
deallocate h
select a, b from #heap order by a
go
-- A unique index over a column with NULLs, and one that is filtered.
create table #unique (id int null, n int)
create unique index filtered on #unique (id) where n > 1
create unique index one on #unique (id)
insert #unique values (null, 1), (2, 2)
declare u cursor for select n from #unique
open u
fetch next from u
while @@fetch_status = 0 begin update #unique set n = n + 10 where current of u; fetch next from u end
deallocate u
select id, n from #unique order by n
drop index one on #unique
insert #unique values (2, 0), (2, 1)
declare u cursor for select n from #unique where id = 2
open u
fetch next from u
fetch next from u
delete #unique where current of u
deallocate u
select id, n from #unique order by n
drop table #heap, #unique
go
-- What cursors show of changes since they were opened: a dynamic one passes over rows that are gone or do not belong to its query any
-- more, a keyset one has holes, a static one shows them as they were.
create table live (id int primary key, n int not null, v varchar(10) null, g uniqueidentifier not null default 0x00, d date not null default '2020-01-01')
insert live (id, n, v) values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd'), (5, 5, 'e')
go
declare dynamics cursor for select id, v from live where n > 0
open dynamics
select @@cursor_rows as n, cursor_status('global', 'dynamics') as status
fetch next from dynamics
delete live where id = 2
update live set n = 0 where id = 3
update live set v = 'new' where id = 4
fetch next from dynamics
select @@fetch_status as status
delete live where id = 4
update live set v = 'x' where current of dynamics
fetch next from dynamics
fetch next from dynamics
select @@fetch_status as status
fetch absolute 1 from dynamics
fetch prior from dynamics
deallocate dynamics
go
truncate table live
insert live (id, n, v) values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')
declare keys cursor keyset for select id, n, v, g, d from live
open keys
delete live where id = 2
update live set v = 'new', n = -1 where id = 3
declare @id int = 7, @n int = 7, @v varchar(10) = 'seven', @g uniqueidentifier, @d date
select @@cursor_rows as n
fetch next from keys
fetch next from keys
select @@fetch_status as status
update live set v = 'x' where current of keys
fetch next from keys
fetch relative -1 from keys into @id, @n, @v, @g, @d
select @@fetch_status as status, @id as id, @n as n, @v as v
fetch absolute -1 from keys
deallocate keys
go
-- Without a key, and sorted, it is a read-only snapshot; static and forward-only read-only ones are, too.
create table #heap (a int, b int)
insert #heap values (1, 2), (2, 1)
declare h cursor for select a from #heap order by b
open h
update #heap set b = 3
fetch next from h
update #heap set a = 7 where current of h
deallocate h
declare h cursor static for select n from live
open h
fetch next from h
delete live where current of h
deallocate h
declare h cursor for select n, v from live order by id desc
open h
update live set v = 'last'
fetch next from h
fetch prior from h
deallocate h
drop table #heap, live
go
GO
-- options that exclude each other, and the two ways of writing them
declare c cursor local global for select 1 as a
GO
declare c cursor fast_forward scroll for select 1 as a
GO
declare c cursor static scroll_locks for select 1 as a
GO
declare c cursor read_only keyset dynamic for select 1 as a
GO
declare c insensitive cursor static for select 1 as a
GO
declare c cursor local fast_forward forward_only read_only for select 1 as a
open c
fetch c
deallocate c
