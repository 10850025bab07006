-- INSERT in all its forms.
create table t (id int identity primary key, a int default 9, b varchar(10))
GO
insert t default values
insert into t (b) values ('x'), ('y')
insert t (a, b) select a + 1, 's' from t where a = 9
insert t (a, b) values (default, null)
select * from t order by id
GO
insert t (a, b) output inserted.id, inserted.b values (1, 'out')
GO
declare @ids table (id int, b varchar(10))
insert t (a, b) output inserted.id, inserted.b into @ids select 2, 'into' union all select 3, 'into'
select * from @ids order by id
GO
insert t (a, b) values (1)
GO
insert t values (1, 'b', 2)
GO
insert t (nope) values (1)
GO
insert t (a, a) values (1, 2)
GO
create procedure p as select 7 as a, 'proc' as b
GO
insert t (a, b) exec p
insert t (a, b) exec ('select 8, ''dyn''')
select a, b from t where a in (7, 8) order by a
GO
select id, a into #copy from t where a < 5
select count(*) as n from #copy
GO
insert top (2) into #copy (a) select a from t
select @@rowcount as n
GO
select * into t from #copy
GO
drop table t, #copy
drop procedure p
go
-- A NULL that a procedure hands out is an int, and any column takes it.
create table handed (i int, x xml, d date)
insert handed exec('select 1, null, null')
insert handed exec('select ''2'', ''<a/>'', null')
insert handed exec('select 3, 3, null')
go
select i, x, d from handed order by i
drop table handed
