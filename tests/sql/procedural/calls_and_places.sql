-- A cursor that a procedure gives out; defaults of new columns; where a text and a procedure of master run.
create proc p @c cursor varying output as set @c = cursor for select 1 a union all select 2 open @c
GO
declare @k cursor exec p @k output fetch @k fetch next from @k close @k deallocate @k
GO
create table g (id int); insert g values (1), (2), (3)
alter table g add u uniqueidentifier not null default newid()
select count(distinct u) as n from g
GO
create sequence s as int start with 1
alter table g add q int not null default next value for s
select q from g order by q
GO
create database other
exec('use other select db_name() as inside') select db_name() as after_exec
exec sp_executesql N'use other select db_name() as inside' select db_name() as after_executesql
GO
use master
GO
create proc sp_mine as select db_name() as db, object_name(@@procid) as name
GO
use other
GO
exec sp_mine
exec dbo.sp_mine
GO
create table here (id int)
GO
use master
GO
dbcc traceon(99999)
dbcc tracestatus
dbcc traceoff(99999)
GO
