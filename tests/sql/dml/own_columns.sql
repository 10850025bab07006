-- What SET assigns to is the target's column, also where it is read on the way and another source has one of its name.
create database own_columns
GO
use own_columns
GO
create table t (id int primary key, n int, b int, s varchar(max), x xml)
create table other (id int primary key, n int, b int, s varchar(max), x xml)
GO
insert t values (1, 10, 12, 'first', '<a/>'), (2, 20, 10, 'second', '<a/>')
insert other values (1, 3, 5, 'FIRST', '<z/>'), (2, 6, 6, 'SECOND', '<z/>')
GO
update b set n += d.n from t b join (select id, n from other) d on d.id = b.id
select id, n from t order by id
update b set n -= d.n from t b join (select id, n from other) d on d.id = b.id
select id, n from t order by id
update b set n *= d.n from t b join other d on d.id = b.id
select id, n from t order by id
update b set n /= d.n from other d join t b on d.id = b.id
select id, n from t order by id
update b set n %= d.n from t b cross apply (select n from other where other.id = b.id) d
select id, n from t order by id
GO
update b set b &= d.b from t b join other d on d.id = b.id
select id, b from t order by id
update b set b |= d.b from t b join other d on d.id = b.id
select id, b from t order by id
update b set b ^= d.b from t b join other d on d.id = b.id
select id, b from t order by id
GO
-- With the target's name, or another source's.
update b set b.n += d.n from t b join other d on d.id = b.id
update t set t.n += other.n from t join other on other.id = t.id
select id, n from t order by id
GO
update b set d.n += 1 from t b join other d on d.id = b.id
GO
merge t using other s on s.id = t.id when matched then update set s.n = 1;
GO
-- A value is as ambiguous as ever.
update b set n += n from t b join other d on d.id = b.id
GO
update b set n = n from t b join other d on d.id = b.id
GO
-- With a variable.
declare @v int
update b set @v = n = d.n + 1 from t b join other d on d.id = b.id where b.id = 1
select @v as v
update b set @v = n += d.n from t b join other d on d.id = b.id where b.id = 1
select @v as v
select id, n from t order by id
GO
-- Parts of long values, and of documents.
update b set s.write('-', 1, 2) from t b join other d on d.id = b.id
update b set s.write(d.s, null, null) from t b join other d on d.id = b.id
update b set b.s.write(null, 12, null) from t b join other d on d.id = b.id where b.id = 2
update b set x.modify('insert <b n="{sql:column("d.n")}"/> into (/a)[1]') from t b join other d on d.id = b.id
select id, s, x from t order by id
GO
-- MERGE
merge t using other s on s.id = t.id
when matched and s.id = 1 then update set n += s.n, b -= s.b, s.write(s.s, 0, 0)
when not matched by source then update set n *= 2;
select id, n, b, s from t order by id
merge t as target using (select id, n from other union all select 3, 33) s on s.id = target.id
when matched then update set target.n += s.n
when not matched then insert (id, n) values (s.id, s.n)
output $action, deleted.n as old, inserted.n as new;
GO
-- Views and common table expressions
create view v as select id as k, n as m from t
GO
with c as (select t.id, t.n, o.n as other_n from t join other o on o.id = t.id) update c set n += other_n
update a set m += d.m from v a join (select id, n as m from other) d on d.id = a.k;
with c as (select id, n from t) update c set n -= d.n from c join other d on d.id = c.id
select id, n from t order by id
GO
-- Two tables of one name
create schema far
GO
create table far.t (id int primary key, n int)
insert far.t values (1, 100), (2, 200)
update dbo.t set n += far.t.n from dbo.t join far.t on far.t.id = dbo.t.id
select id, n from t order by id
select id, n from far.t order by id
GO
declare @t table (id int, n int)
insert @t values (1, 1)
update @t set n += o.n from @t v join other o on o.id = v.id
select * from @t
GO
-- A qualifier of SET that names no source, or another one than the target.
update t set nowhere.n = 1
GO
update a set nowhere.n += 1 from t a
GO
update a set b.n = 1 from t a join other b on b.id = a.id
GO
update t set t.n = 5 where id = 1
update t set dbo.t.n = 6 where id = 1
update a set a.n = 7 from t a where id = 1;
with c as (select * from t) update c set c.n = 8 where id = 1
merge t as m using other o on o.id = m.id when matched then update set m.n = 9;
select n from t where id = 1
GO
merge t as m using other o on o.id = m.id when matched then update set o.n = 9;
GO
merge t as m using other o on o.id = m.id when matched then update set nowhere.n = 9;
GO
