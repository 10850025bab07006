-- A module that names columns which its tables do not have is not made; all of them are told of. Tables may come later.
create table t (a int, b varchar(10))
create table u (a int)
GO
create procedure wrong @x int as
begin
    print 'first'
    insert t (a, c) values (@x, 1)
    if @x = 0 select t.nope from t where t.a = @x
    select a from t join u on t.a = u.a
    update t set b = x.b from t y
end
GO
select object_id('wrong') as id
exec wrong 1
GO
-- what is not there yet may come, with any columns
create procedure later as
begin
    select nope from not_there
    select n.whatever, t.nope from not_there n join t on t.a = n.a
    insert also_not_there (x) select a from t
end
GO
select case when object_id('later') is null then 'no' else 'yes' end as made
GO
-- an alteration that is wrong changes nothing
create procedure p as select a from t
GO
alter procedure p as select z from t
GO
create or alter procedure p as delete t where z = 1
GO
exec p
GO
-- variables, parameters, table variables, common table expressions and rows of a trigger are known
create procedure fine @a int, @rows int output as
begin
    declare @mine table (id int, note varchar(5)), @n int
    insert @mine (id, note) select a, left(b, 5) from t where a = @a;
    with few as (select id as one, note from @mine) select @n = count(*) from few where one > 0 and note like 'x%'
    select @rows = count(*) from @mine m join t on t.a = m.id
    truncate table u
    insert u (a) values (@n)
end
GO
declare @r int
exec fine 1, @r output
select @r as r
GO
create procedure not_fine as
begin
    declare @mine table (id int)
    select note from @mine
end
GO
create trigger watches on t for insert as
    insert u (a) select i.a from inserted i
    insert u (zz) select i.a from inserted i
GO
create trigger watches on t for insert as insert u (a) select i.a + 100 from inserted i
GO
insert t values (7, 'seven')
select a from u order by a
GO
create function counts (@a int) returns int as
begin
    declare @n int
    select @n = count(*) from t where zz = @a
    return @n
end
GO
create function rows_of (@a int) returns @r table (a int) as
begin
    insert @r (a) select a from t where a = @a
    insert @r (b) select a from t
    return
end
GO
create function rows_of (@a int) returns @r table (a int) as
begin
    insert @r (a) select a from t where a = @a
    return
end
GO
select a from rows_of(7)
GO
-- temporary tables that it makes itself, and what it changes
create procedure makes as
begin
    create table #w (x int)
    insert #w (x) values (1)
    alter table t add late int
    exec ('update t set late = 5')
    select x from #w
end
GO
exec makes
GO
select late from t
GO
-- caught as an error of the text that makes it
begin try
    exec ('create procedure wrong as select nope from t')
end try
begin catch
    select error_number() as number, error_procedure() as [procedure], error_line() as line
end catch
select object_id('wrong') as id
GO
-- in a transaction: it goes on
begin transaction
exec ('create procedure wrong as select nope from t')
select @@trancount as n
rollback
GO
-- conditions, assignments, what is returned: of modules and of batches
create function first_of () returns int as
begin
    declare @a int = (select max(zz) from t)
    if exists (select * from t where nope = 1) return 1
    while @a < (select count(t.none) from t) set @a += 1
    return (select min(a) from t where zzz = 1)
end
GO
create procedure returns_it as return (select top 1 nope from t)
GO
print 'not said'
if exists (select nope from t) print 'nor this'
print 'nor that'
GO
delete t
declare @n int = (select count(*) from t where nope = 1)
GO
if not exists (select * from not_there where x = 1) print 'no'
print 'not said: the batch ends'
GO
select count(*) as n from t
GO
-- queries of cursors, of inline functions, of views
create procedure cursors as
begin
    declare c cursor for select nope from t
    declare @c cursor
    set @c = cursor local for select x.none from t x
end
GO
create function inline (@a int) returns table as return select nope from t where a = @a
GO
create function inline (@a int) returns table as return select nope from not_there where a = @a
GO
create type numbers as table (n int)
GO
create function inline (@a int, @of numbers readonly) returns table as return (select a, @a as given from t where a in (select n from @of))
GO
alter function inline (@a int, @of numbers readonly) returns table as return (select a, zz from t)
GO
declare @some numbers
insert @some values (7), (8)
select * from inline(1, @some)
GO
create view sees as select nope from t
GO
create view sees as select a from not_there
GO
-- columns of system views that are not there wait until they are asked for: the rest of a script works
create procedure asks @rare bit as
begin
    if @rare = 1 select no_such_column from sys.objects
    print 'works'
end
GO
exec asks 0
exec asks 1
GO
