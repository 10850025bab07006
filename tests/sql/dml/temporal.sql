-- What changes of a system-versioned table leave in its history.
create table t (
    id int not null primary key, a int not null, b varchar(10) null,
    f datetime2 generated always as row start hidden, e datetime2 generated always as row end hidden, period for system_time (f, e)
) with (system_versioning = on (history_table = dbo.h))
GO
insert t values (1, 10, 'one'), (2, 20, 'two'), (3, 30, null)
select count(*) as past from h
select count(*) as open_rows, count(distinct f) as starts from t where e = '9999-12-31 23:59:59.9999999'
GO
-- A version ends when the next one begins: when the transaction began.
update t set a = 11 where id = 1
select h.id, h.a, h.b, iif(h.e = t.f and h.f < h.e, 'ends where the next begins', 'wrong') as period from h join t on t.id = h.id
delete t where id = 2
select id, a, b from h order by id
GO
begin transaction
insert t values (4, 40, 'four')
update t set a = 41 where id = 4
update t set a = 12 where id = 1
commit
select id, a, iif(f = e, 'for no time at all', 'for some time') as period from h where id in (1, 4) order by id, a
select id, a from t for system_time all where id in (1, 4) order by id, a
select count(distinct f) as one_transaction from t where id in (1, 4)
GO
-- What is rolled back, or fails, leaves nothing.
begin transaction
update t set a = 0
delete t where id = 3
rollback
select count(*) as past from h
GO
update t set a = a + 1, b = replicate('x', id * 5)
GO
select count(*) as past from h
select * from t order by id
GO
-- An index that comes to the history has what is kept from then on too.
create procedure touch as update t set a = a where id = 3
GO
exec touch
create index by_a on h (a)
exec touch
select count(*) as kept from h with (index (by_a)) where a = 30
drop procedure touch
GO
-- Rows of a procedure, which know nothing of hidden columns.
create procedure two as select 8, 80, 'eight' union all select 9, 90, 'nine'
GO
insert t exec two
select id, a, b from t where id in (8, 9) order by id
delete t where id in (8, 9)
drop procedure two
GO
-- Values of the period come from nobody.
insert t (id, a, f) values (5, 50, '2020-01-01')
GO
insert t (id, a, f, e) values (5, 50, default, default)
select count(*) as n from t where id = 5 and f < sysutcdatetime()
GO
insert t (id, a, f) select 6, 60, '2020-01-01'
GO
update t set f = '2020-01-01'
GO
insert h (id, a, f, e) values (1, 1, '2020-01-01', '2020-01-02')
GO
update h set a = 1
GO
delete h
GO
merge h using t on t.id = h.id when matched then delete;
GO
-- Shown period columns are among those an INSERT without a list gives, as DEFAULT.
create table shown (id int not null primary key, f datetime2 generated always as row start, e datetime2 generated always as row end, period for system_time (f, e))
    with (system_versioning = on (history_table = dbo.shown_history))
insert shown values (1, default, default), (2, default, default)
select count(*) as n from shown
GO
insert shown values (3)
GO
insert shown values (3, sysutcdatetime(), default)
GO
insert shown select 3, sysutcdatetime(), sysutcdatetime()
GO
insert shown (id) select id + 10 from shown
select id from shown order by id
GO
-- MERGE, OUTPUT, FROM, keys that move, keys that change places.
merge t using (values (1, 100), (3, 300), (7, 700)) s (id, a) on s.id = t.id
when matched and s.id = 3 then delete
when matched then update set a = s.a
when not matched then insert (id, a) values (s.id, s.a)
output $action, inserted.*, deleted.*;
select id, a from h where id in (1, 3) order by id, a
GO
update t set b = s.b output inserted.id, inserted.b, deleted.b from t join (values (1, 'from')) s (id, b) on s.id = t.id
select top (1) id, a, b from h where id = 1 order by e desc, f desc
GO
update t set id = 8 - id where id in (1, 7)
select id, a from t order by id
select id, a from h where a in (100, 700) order by a, id, b
GO
-- Cascades keep versions too.
create table child (
    id int primary key, parent int not null references t (id) on delete cascade on update cascade,
    f datetime2 generated always as row start, e datetime2 generated always as row end, period for system_time (f, e)
) with (system_versioning = on (history_table = dbo.child_history))
insert child (id, parent) values (1, 1), (2, 1), (3, 7)
update t set id = 9 where id = 1
delete t where id = 7
select id, parent from child order by id
select id, parent from child_history order by id
GO
-- Triggers see the rows; what they change is kept as well.
create table audit (id int identity, what varchar(20), n int)
GO
create trigger t_changed on t after update, delete as
    insert audit (what, n) select 'changed', count(*) from deleted
GO
update t set a = a + 1
delete t where id = 9
select what, n from audit order by id
GO
-- A transaction that began before a row did cannot end it.
create table busy (id int primary key, a int, f datetime2 generated always as row start hidden, e datetime2 generated always as row end hidden, period for system_time (f, e))
    with (system_versioning = on (history_table = dbo.busy_history))
insert busy (id, a) values (1, 1)
-- session a:
begin transaction; select @@trancount as n
-- session b:
update busy set a = 2
-- session a:
update busy set a = 3
-- session a:
rollback; select a from busy; select a from busy_history
GO
-- Without SYSTEM_VERSIONING the period goes on; nothing is kept.
alter table busy set (system_versioning = off)
declare @before datetime2 = (select f from busy)
update busy set a = 4
select iif(f > @before, 'later', 'same') as began from busy
select count(*) as past from busy_history
GO
-- Computed columns, rowversion, identity and large values are kept as they were.
create table wide (
    id int identity primary key, a int, twice as a * 2, big varchar(max), v rowversion,
    f datetime2 generated always as row start, e datetime2 generated always as row end, period for system_time (f, e)
) with (system_versioning = on (history_table = dbo.wide_history))
insert wide (a, big) values (1, replicate(cast('x' as varchar(max)), 20000))
declare @v binary(8) = (select v from wide)
update wide set a = 2, big = 'short'
select id, a, twice, len(big) as length, iif(v = @v, 'the version it had', 'another') as v from wide_history
select id, a, twice, len(big) as length from wide for system_time all order by a
GO
-- Columns dropped and added in between: rows of before are read as they are.
alter table wide drop column big
alter table wide add c int not null default 5
update wide set a = 3
select id, a, twice, c from wide_history order by a
GO
