-- Tables that are not there do not keep the others.
create table a (i int)
create table b (i int)
create table #c (i int)
GO
drop table a, nosuch, #c, #nosuch, b
select @@error as error
select object_id('a') as a, object_id('b') as b, object_id('tempdb..#c') as c
GO
create table a (i int primary key)
create table b (i int references a)
create table c (i int)
go
create procedure p as select 1
go
create view v as select 1 as one
go
drop table c, a, v, b
drop procedure nosuch, p
select name from sys.objects where name in ('a', 'b', 'c', 'v', 'p') order by name
drop table if exists a
drop view v
go
create table a (i int)
begin try drop table nosuch, a end try
begin catch select error_number() as number, error_message() as message end catch
drop table if exists nosuch, a
drop table nosuch
GO
-- A condition over one column makes a constraint of that column, wherever it is declared.
create table f (id int, bar int check (bar > 0), constraint one check (id < 100), constraint two check (id < bar))
alter table f add constraint later check (bar < 100)
select name, parent_column_id from sys.check_constraints where parent_object_id = object_id('f') and name not like 'CK[_][_]%' order by name
insert f values (1, 100)
insert f values (9, 9)
drop table f
GO
-- DBCC CHECKIDENT looks at the rows.
create table it (id int identity primary key, n int)
insert it (n) values (1), (2), (3)
dbcc checkident ('it', reseed, 0) with no_infomsgs
dbcc checkident ('it', noreseed)
dbcc checkident ('it', reseed)
insert it (n) values (9)
select id, n from it order by id
dbcc checkident ('it', reseed, 100)
dbcc checkident ('it')
insert it (n) values (10)
select max(id) as id from it
create table #down (id decimal(9) identity(-1, -5), n int)
insert #down (n) values (1), (2)
dbcc checkident ('#down', reseed, 10)
dbcc checkident ('#down')
insert #down (n) values (3)
select min(id) as id from #down
dbcc checkident ('#down', noreseed)
create table none (id int identity)
dbcc checkident ('none')
drop table it, #down, none
GO
