-- Dynamic data masking: what who has no UNMASK sees, and keeps.
create database shop
GO
use shop
GO
create table dbo.people (id int primary key,
    name varchar(20) masked with (function = 'default()'),
    email varchar(40) masked with (function = 'email()'),
    phone varchar(30) masked with (function = 'partial(2, "-XX-", 1)') null,
    salary int masked with (function = 'default()'),
    born datetime masked with (function = 'default()'),
    seen datetime2(3) masked with (function = 'datetime("M")'),
    plain varchar(10), shout as upper(name))
insert dbo.people values (1, 'hello', 'john@x.com', 'abcdefghij', 42, '2020-05-06 07:08:09', '2021-07-15 13:14:15.678', 'p1'),
    (2, 'ab', '', 'ab', 7, '1999-01-01', '2020-02-29 01:02:03', 'p2')
insert dbo.people (id) values (3)
create user ann without login
grant select, update, insert, delete on dbo.people to ann
grant create table to ann
grant alter on schema::dbo to ann
GO
select * from dbo.people order by id
GO
execute as user = 'ann'
select * from dbo.people order by id
-- Conditions, orders and joins see what is there.
select id, name from dbo.people where name = 'hello' and salary > 40
select id from dbo.people order by salary desc
select count(*) as n from dbo.people a join dbo.people b on a.email = b.email
-- What is computed is masked by its type.
select name + 'x' as a, left(name, 2) as b, len(name) as c, salary + 1 as d, upper(email) as e, convert(varchar(30), born, 120) as f, year(born) as g from dbo.people where id = 1
select isnull(name, 'nobody') as a, coalesce(email, name) as b from dbo.people where id = 3
select max(name) as a, sum(salary) as b, count(name) as c, count(*) as d, min(email) as e from dbo.people
select name, count(*) as n from dbo.people group by name order by name
select distinct salary from dbo.people
select id, sum(salary) over (order by id) as s, lag(name) over (order by id) as l, row_number() over (order by salary) as r from dbo.people order by id
select cast(email as varchar(10)) as a, cast(email as varchar(40)) as b, email collate Latin1_General_BIN as c from dbo.people where id = 1
-- The column's own function follows its values.
select nullif(email, 'q') as a, (select email from dbo.people where id = 1) as b, case when id = 1 then email else 'nobody' end as c from dbo.people where id < 3 order by id
select case when id = 1 then phone else email end as a, case when name = 'hello' then 'yes' else 'no' end as b, case name when 'hello' then 'h' end as c from dbo.people where id = 1
select x.email from (select email, id from dbo.people) x where x.email like 'john%'
;with c as (select email, id from dbo.people) select email from c where id = 1
select x from (select plain as x from dbo.people where id = 1 union all select email from dbo.people where id = 1) u
select x from (select phone as x from dbo.people where id = 1 union all select email from dbo.people where id = 1) u
select email from dbo.people where id = 1 union select email from dbo.people where id = 1
select a.x from dbo.people t cross apply (select t.phone as x) a where id = 1
select (select top 1 t.phone from (values (1)) v (a)) as x from dbo.people t where id = 1
select v.x from dbo.people t cross apply (values (t.phone), ('other')) v (x) where id = 1
;with r as (select id, phone from dbo.people where id = 1 union all select id + 1, phone from r where id < 2) select * from r
-- Documents.
select id, name, phone from dbo.people where id = 1 for json path
select id, name from dbo.people where id = 1 for xml auto
select id, name from dbo.people p where id = 1 for xml raw, elements
select (select name from dbo.people where id = 1 for json path) as j
select p.id, p.name, o.email from dbo.people p join dbo.people o on o.id = p.id where p.id < 3 order by p.id for xml auto
select p.id, p.name, o.email from dbo.people p join dbo.people o on o.id = p.id where p.id < 3 order by p.id for json auto
-- Cursors that go back to the rows.
declare k cursor keyset for select id, name, phone from dbo.people order by id
open k
fetch first from k
update dbo.people set plain = 'k' where current of k
fetch next from k
close k
deallocate k
declare d cursor dynamic for select id, email from dbo.people
open d
fetch next from d
close d
deallocate d
revert
select plain from dbo.people where id = 1
GO
-- Views, functions and procedures show no more.
create view dbo.addresses as select id, email, email + '' as computed from dbo.people
GO
create procedure dbo.show as select name from dbo.people where id = 1
GO
create procedure dbo.show_as_owner with execute as owner as select name from dbo.people where id = 1
GO
create function dbo.rows(@id int) returns table as return select id, email from dbo.people where id = @id
GO
create function dbo.one() returns int as begin return (select salary from dbo.people where id = 1) end
GO
create function dbo.kept() returns @t table (name varchar(20)) as begin insert @t select name from dbo.people return end
GO
grant select on dbo.addresses to ann
grant execute on dbo.show to ann
grant execute on dbo.show_as_owner to ann
grant select on dbo.rows to ann
grant select on dbo.kept to ann
grant execute on dbo.one to ann
GO
execute as user = 'ann'
select email, computed from dbo.addresses where id = 1
exec dbo.show
exec dbo.show_as_owner
select email from dbo.rows(1)
select dbo.one() as n
select name from dbo.kept()
exec ('select email from dbo.people where id = 1')
declare c cursor local for select name, email from dbo.people where id = 1
open c
declare @n varchar(20), @e varchar(40), @short varchar(20)
fetch next from c into @n, @e
print @n + ' ' + @e
close c
select @e = email, @short = email from dbo.people where id = 1
print @e
print @short
set @e = (select phone from dbo.people where id = 1)
print @e
declare @s varchar(20) = (select top 1 salary from dbo.people)
print @s
if (select salary from dbo.people where id = 1) = 42 print 'guessed'
revert
GO
-- What is copied is what is seen.
create table dbo.kept_rows (id int, name varchar(20), email varchar(40))
grant select, insert, update on dbo.kept_rows to ann
execute as user = 'ann'
select id, name, email, salary into dbo.copied from dbo.people
insert dbo.kept_rows select id, name, email from dbo.people where id = 1
insert dbo.kept_rows (id, email) values (2, (select email from dbo.people where id = 1))
insert dbo.kept_rows (id) values (3)
update k set email = p.email from dbo.kept_rows k join dbo.people p on p.id = 1 where k.id = 3
merge dbo.kept_rows as k using dbo.people as p on k.id = p.id + 3
when not matched and p.id = 1 then insert values (p.id + 3, p.name, p.phone)
output $action, p.email, inserted.name;
update dbo.people set plain = left(name, 10) where id = 2
update dbo.people set salary = salary + 1 output deleted.salary, inserted.salary, inserted.id where id = 1
delete dbo.people output deleted.name where id = 3
insert dbo.people (id, name) output inserted.name values (3, 'three')
create table #mine (a varchar(10) masked with (function = 'default()'))
insert #mine values ('mine')
select a from #mine
declare @t table (a varchar(10) masked with (function = 'default()'))
insert @t values ('abc')
select a from @t
revert
select id, name, email, salary from dbo.copied order by id
select * from dbo.kept_rows order by id
select id, name, plain, salary from dbo.people order by id
select count(*) as n from sys.masked_columns where object_id = object_id('dbo.copied')
GO
-- Errors tell no values.
execute as user = 'ann'
select cast(phone as int) from dbo.people where id = 1
GO
select x from (select phone + 1 as x from dbo.people where id = 1) q
GO
select cast(salary + 1000 as tinyint) from dbo.people where id = 1
GO
revert
select cast(phone as int) from dbo.people where id = 1
GO
-- UNMASK of the database, a schema, a table and columns.
grant unmask to ann
GO
execute as user = 'ann'
select name, email from dbo.people where id = 1
revert
deny unmask on dbo.people (email) to ann
execute as user = 'ann'
select name, email, name + email as both from dbo.people where id = 1
revert
revoke unmask to ann
revoke unmask on dbo.people (email) to ann
grant unmask on schema::dbo to ann
execute as user = 'ann'
select name, email from dbo.people where id = 1
revert
revoke unmask on schema::dbo to ann
grant unmask on dbo.people to ann
execute as user = 'ann'
select name, email from dbo.people where id = 1
revert
revoke unmask on dbo.people to ann
grant unmask on dbo.people (name) to ann
execute as user = 'ann'
select name, email, shout, name + email as both from dbo.people where id = 1
select has_perms_by_name(db_name(), 'DATABASE', 'UNMASK') as d, has_perms_by_name('dbo.people', 'OBJECT', 'UNMASK', 'name', 'COLUMN') as c
revert
select class_desc, permission_name, type, state_desc, minor_id from sys.database_permissions where permission_name = 'UNMASK'
revoke unmask on dbo.people (name) to ann
grant control on dbo.people to ann
execute as user = 'ann'
select name, email from dbo.people where id = 1
revert
revoke control on dbo.people to ann
alter role db_owner add member ann
execute as user = 'ann'
select name, email from dbo.people where id = 1
revert
alter role db_owner drop member ann
grant unmask on dbo.addresses to ann
GO
-- All types.
create table dbo.kinds (a char(6) masked with (function = 'default()'), b nchar(3) masked with (function = 'default()'), c varchar(1) masked with (function = 'default()'),
    d varchar(5) masked with (function = 'email()'), e char(8) masked with (function = 'partial(1, "-", 1)'), f varchar(10) masked with (function = 'partial(2, "*", 2)'),
    g varchar(10) masked with (function = 'partial(2, "*", 2)'), h varchar(5) masked with (function = 'partial(0, "abcdefgh", 0)'), i varchar(max) masked with (function = 'default()'),
    j xml masked with (function = 'default()'), k sql_variant masked with (function = 'default()'), l binary(4) masked with (function = 'default()'), m uniqueidentifier masked with (function = 'default()'),
    n decimal(6, 2) masked with (function = 'default()'), o money masked with (function = 'default()'), p float masked with (function = 'default()'), q bit masked with (function = 'default()'),
    r date masked with (function = 'default()'), s time(0) masked with (function = 'default()'), t datetimeoffset(0) masked with (function = 'default()'), u smalldatetime masked with (function = 'datetime("D")'),
    v date masked with (function = 'datetime("Y")'), w time(3) masked with (function = 'datetime("m")'), x datetimeoffset(3) masked with (function = 'datetime("h")'), y datetime2(3) masked with (function = 'datetime("s")'))
insert dbo.kinds values ('abc', N'ab', 'a', 'abc', 'ab', 'abcd', 'abcde', 'q', 'long', '<a/>', 'ab', 0x01020304, newid(), 12.34, 5.5, 1e3, 1, '2020-02-03', '10:11:12', '2020-01-02 03:04:05 +02:00',
    '2021-07-15 13:14', '2021-07-15', '13:14:15.678', '2021-07-15 13:14:15.678 +02:00', '2021-07-15 13:14:15.678')
grant select on dbo.kinds to ann
create table dbo.numbers (a int masked with (function = 'random(5, 9)'), b decimal(6, 2) masked with (function = 'random(1.5, 2.5)'), c float masked with (function = 'random(-1, 1)'), d bit masked with (function = 'random(0, 1)'),
    e money masked with (function = 'random(10, 10)'))
insert dbo.numbers values (100, 100, 100, 0, 100), (null, null, null, null, null)
grant select on dbo.numbers to ann
GO
execute as user = 'ann'
select a, b, c, d, e, f, g, h, i from dbo.kinds
select j, k, l, m, n, o, p, q from dbo.kinds
select r, s, t, u, v, w, x, y from dbo.kinds
select a, b, c, d, e into #n from dbo.numbers
select case when a between 5 and 9 then 'in' end as a, case when b between 1.5 and 2.5 then 'in' end as b, case when c between -1 and 1 then 'in' end as c, e from #n order by e
revert
GO
-- A key with a mask: the cursor finds its rows again all the same.
create table dbo.codes (code varchar(10) masked with (function = 'partial(1, "*", 0)') primary key, n int)
insert dbo.codes values ('alpha', 1), ('amber', 2), ('azure', 3)
grant select, update on dbo.codes to ann
GO
execute as user = 'ann'
declare k cursor keyset for select code, n from dbo.codes order by code
open k
fetch next from k
fetch next from k
update dbo.codes set n = 20 where current of k
fetch next from k
fetch prior from k
close k
deallocate k
revert
select * from dbo.codes
GO
-- What table functions make of masked columns, and statistics of them.
create table dbo.notes (id int primary key, words varchar(20) masked with (function = 'default()'), js varchar(40) masked with (function = 'default()'),
    doc xml masked with (function = 'default()'), n int masked with (function = 'default()'), plain varchar(10))
insert dbo.notes values (1, 'red,blue', '{"a":"secret"}', '<a>secret</a>', 3, 'x,y')
create statistics numbers on dbo.notes (n)
create statistics texts on dbo.notes (plain)
grant select on dbo.notes to ann
GO
create function dbo.rows_of(@x varchar(50)) returns @t table (y varchar(50)) as begin insert @t values (@x) return end
GO
create function dbo.row_of(@x varchar(50)) returns table as return select @x as y
GO
grant select on dbo.rows_of to ann
grant select on dbo.row_of to ann
GO
execute as user = 'ann'
select w.value, p.value from dbo.notes cross apply string_split(words, ',') w cross apply string_split(plain, ',') p
select j.* from dbo.notes cross apply openjson(js) j
select j.a from dbo.notes cross apply openjson(js) with (a varchar(20)) j
select x.c.value('.', 'varchar(20)') as v, x.c.exist('.') as e from dbo.notes cross apply doc.nodes('/a') x (c)
select doc.value('(/a)[1]', 'varchar(20)') as v from dbo.notes
select g.value from dbo.notes cross apply generate_series(1, n) g
select r.y from dbo.notes cross apply dbo.rows_of(words) r
select r.y from dbo.rows_of((select words from dbo.notes)) r
select r.y from dbo.notes cross apply dbo.row_of(words) r
select j.words from openjson((select words from dbo.notes for json path)) with (words varchar(20)) j
dbcc show_statistics ('dbo.notes', numbers) with histogram
dbcc show_statistics ('dbo.notes', texts) with histogram
revert
grant unmask on dbo.notes to ann
execute as user = 'ann'
select w.value from dbo.notes cross apply string_split(words, ',') w
select j.a from dbo.notes cross apply openjson(js) with (a varchar(20)) j
dbcc show_statistics ('dbo.notes', numbers) with histogram
revert
GO
-- A trigger sees what is there, also for who has no UNMASK; what it reads of the table is masked.
revoke unmask on dbo.notes from ann
grant update on dbo.notes to ann
GO
create trigger dbo.changed on dbo.notes after update as
    select d.words as was, i.words as now_is, n.words as in_table from inserted i join deleted d on d.id = i.id join dbo.notes n on n.id = i.id
GO
execute as user = 'ann'
update dbo.notes set plain = 'z' where id = 1
revert
GO
