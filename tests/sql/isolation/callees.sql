-- What statements of functions, triggers and cursors read, SELECT INTO, and what is in several databases, is as it was when the statement began,
-- though somebody empties it or gives it other rows before the statement comes to it. Here each waits for the row of a gate before that, and a checkpoint takes away what nobody reads.
create table gate (k int primary key, v int); insert gate values (1, 0)
create table t (k int primary key, v int); insert t select value, 1 from generate_series(1, 5)
create table u (k int primary key, v int); insert u values (1, 0)
create table log (n int)
GO
create function dbo.f() returns int as begin declare @n int = (select v from u where k = 1); select @n = max(t.k) from gate g with (repeatableread) inner loop join t on t.k = g.v + 5 where g.k = 1; return @n end
GO
create function dbo.rows_of() returns @r table (n int) as begin declare @n int = (select v from u where k = 1); insert @r select t.k from gate g with (repeatableread) inner loop join t on t.k = g.v + 5 where g.k = 1; return end
GO
create trigger u_changed on u after update as insert log select max(t.k) from gate g with (repeatableread) inner loop join t on t.k = g.v + 5 where g.k = 1
GO
create function dbo.g() returns int as begin declare @x int = (select v from u where k = 1); return @x + (select v from gate with (repeatableread) where k = 1) end
GO
-- Functions.
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
select dbo.f() n
-- session c waits:
select n from dbo.rows_of()
-- session d waits:
declare @n int = dbo.f(); select @n n
-- session main:
truncate table t; checkpoint
-- session a:
commit
-- session b resumes:
-- session c resumes:
-- session d resumes:
-- session main:
insert t select value, 1 from generate_series(1, 5)
GO
-- The caller's view stays the caller's, whatever a function reads before.
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
select dbo.g() g, (select t.k from t where t.k = c.x) n from (values (5)) c (x)
-- session main:
truncate table t; checkpoint
-- session a:
commit
-- session b resumes:
-- session main:
insert t select value, 1 from generate_series(1, 5)
GO
-- Triggers.
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
update u set v = 0
-- session main:
truncate table t; checkpoint
-- session a:
commit
-- session b resumes:
select n from log
-- session main:
insert t select value, 1 from generate_series(1, 5)
GO
-- SELECT INTO: what it waits for, and what it comes to later.
-- session a:
begin transaction; truncate table t; insert t select value, 1 from generate_series(1, 7)
-- session b waits:
select k into copied from t with (holdlock)
-- session a:
commit
-- session b resumes:
select count(*) n from copied
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
select t.k n into #counted from gate g with (repeatableread) inner loop join t on t.k = g.v + 5 where g.k = 1; select n from #counted
-- session main:
truncate table t; checkpoint
-- session a:
commit
-- session b resumes:
-- session main:
insert t select value, 1 from generate_series(1, 5)
GO
-- What is selected from has another shape by the time it is there: so has the new table.
create table shaped (k int); insert shaped values (1)
GO
-- session a:
begin transaction; alter table shaped add w varchar(10) not null default 'w'
-- session b waits:
select * into shaped_too from shaped with (holdlock)
-- session a:
commit
-- session b resumes:
select * from shaped_too
-- session main:
select count(*) n from sys.tables where name = 'shaped_too'
GO
-- Cursors: opened after the table got other rows, or other columns.
-- session b:
declare s cursor global static for select k from t
declare f cursor global fast_forward for select k from t where k < 100
declare w cursor global static for select * from shaped
-- session main:
truncate table t; insert t select value, 1 from generate_series(1, 7)
alter table shaped add x int
-- session b:
open s; select @@cursor_rows n; close s; deallocate s
open f; fetch f; close f; deallocate f
open w
-- session b:
deallocate w
-- session main:
truncate table t; insert t select value, 1 from generate_series(1, 5)
GO
-- Cursors that are opened, and rows that are read again.
-- session b:
declare s cursor global static for select t.k n from gate g with (repeatableread) inner loop join t on t.k = g.v + 5 where g.k = 1
declare y cursor global keyset for select k, (select t.k from t where t.k = g.v + 5) n from gate g with (repeatableread)
open y
-- session c:
declare y cursor global dynamic for select k, (select t.k from t where t.k = g.v + 5) n from gate g with (repeatableread); open y
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
open s; fetch s
-- session c waits:
fetch y
-- session d waits:
declare @h int, @rows int = 1; exec sp_cursoropen @h output, N'select t.k n from gate g with (repeatableread) inner loop join t on t.k = g.v + 5 where g.k = 1', 8200, 1, @rows output; exec sp_cursorclose @h
-- session main:
truncate table t; checkpoint
-- session a:
commit
-- session b resumes:
-- session c resumes:
-- session d resumes:
-- session main:
insert t select value, 1 from generate_series(1, 5)
GO
-- Several databases: each is read as it was before the statement waited.
create database other
GO
create table other.dbo.far (k int primary key); insert other.dbo.far select value from generate_series(1, 5)
create table far_sum (n int)
GO
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
select t.k n from gate g with (repeatableread) inner loop join other.dbo.far t on t.k = g.v + 5 where g.k = 1
-- session c waits:
insert far_sum select t.k from gate g with (repeatableread) inner loop join other.dbo.far t on t.k = g.v + 5 where g.k = 1
-- session main:
truncate table other.dbo.far; exec other.sys.sp_executesql N'checkpoint'
truncate table t; checkpoint
-- session a:
commit
-- session b resumes:
-- session c resumes:
select n from far_sum
GO
-- A hint that asks for committed rows, whatever the session's level.
insert t select value, 1 from generate_series(1, 5)
GO
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
set transaction isolation level read uncommitted; select t.k n from gate g with (repeatableread) inner loop join t with (readcommitted) on t.k = g.v + 5 where g.k = 1
-- session main:
truncate table t; checkpoint
-- session a:
commit
-- session b resumes:
-- Rows that come behind the place that DBCC has read to, and rows that are being changed, are no damage.
create table checked (k int primary key, v int, index iv (v)); insert checked select value, value from generate_series(1, 5)
GO
-- session a:
begin transaction; update checked set v = 30 where k = 3; insert checked values (0, 0)
-- session d:
dbcc checktable (checked) with no_infomsgs
-- session a:
commit
-- session d:
dbcc checktable (checked) with no_infomsgs; select count(*) n from checked
GO
-- Temporary tables that everybody has.
create table ##all (k int primary key); insert ##all select value from generate_series(1, 5)
GO
-- session a:
begin transaction; update gate set v = 0
-- session b waits:
select t.k n from gate g with (repeatableread) inner loop join ##all t on t.k = g.v + 5 where g.k = 1
-- session main:
truncate table ##all
-- session a:
commit
-- session b resumes:
-- session a:
begin transaction; truncate table ##all; insert ##all select value from generate_series(1, 7)
-- session b waits:
select count(*) n from ##all with (holdlock) where k <= 7
-- session c waits:
insert ##all values (8); select count(*) n from ##all
-- session a:
commit
-- session b resumes:
-- session c resumes:
