-- Literals that become parameters: one program for texts that differ in these.
create table item (id int not null primary key, name varchar(20) null, wide nvarchar(20) null, price decimal(10, 2) null, weight float null, cost money null, code varbinary(8) null, made datetime2(0) null, flag bit null)
insert item (id, name) select value, concat('item ', value) from generate_series(1, 100)
create table line (item int not null, number int not null, amount int not null, primary key (item, number))
insert line select i.value, n.value, i.value * n.value from generate_series(1, 20) i cross join generate_series(1, 3) n
create table found (id int identity primary key, grp int not null index by_grp, other int not null)
insert found select value % 10, value from generate_series(1, 1000)
go
create view parameterized as
  select t.text as text, s.execution_count as times, p.objtype from sys.dm_exec_query_stats s
    join sys.dm_exec_cached_plans p on p.plan_handle = s.plan_handle
    cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.dbid = db_id() and t.text not like '%parameterized%' and t.text not like '%cross join%'
go
dbcc freeproccache with no_infomsgs
go
select name from item where id = 5
go
select name from item where id = 6
go
select  name /* another comment */ from item
where id=7
go
SELECT i.[name], i.price FROM dbo.item AS i WITH (NOLOCK) WHERE i.id = -1 AND i.name > 'a'
go
select amount from line where item = 3 and number between 2 and 3 order by number
go
select amount from line where item = 4 and number between 1 and 9 order by number
go
select count(*) as n, 'fixed' as c from line where item = 4
go
select text, times, objtype from parameterized order by text
go
-- All types of literals, and what is no literal.
insert item values (101, 'it''s', N'naïve', 12.50, 1.5e0, $3.25, 0x0A0B, '2026-02-03 04:05:06', 1)
go
insert item values (102, 'other', N'ключ', 99.75, -2e3, -$1, 0xff, '2026-02-03', 0)
go
insert item values (103, null, default, 1, 2, 3, 0x, getdate(), null), (104, 'two rows', N'', -1, 0, 0, 0x01, null, 1)
go
select id, name, wide, price, weight, cost, code, made, flag from item where id >= 101 and id <> 103
go
select id from item where price = 12.50
select id from item where price = 12.5
select id from item where weight = 1.5e0
select id from item where cost = $3.25
select id from item where code = 0x0A0B
select id from item where made = '2026-02-03 04:05:06'
select id from item where wide = N'КЛЮЧ'
select id from item where name = 'IT''S '
go
update item set price = price + 1.25, name = 'changed', weight *= 2 where id = 101
go
update item set price = price + 10.00, name = 'again', weight *= 3 where id = 102
go
select id, name, price, weight from item where id in (101, 102)
go
delete from item where id = 101
go
delete from item where id = 102
go
-- With what goes with an INSERT: transactions, the new number.
set nocount on; begin tran; insert found (grp, other) values (77, 5); select scope_identity() as id; commit
go
set nocount on; begin tran; insert found (grp, other) values (78, 6); select scope_identity() as id; commit
go
insert found (grp, other) output inserted.id, inserted.grp, 'x' as mark values (79, 7)
go
select text, times from parameterized where text like '%insert%' order by text
go
-- Errors are those of the text as it is written, with its lines.
insert item (id, name) values (1, 'there')
go

insert item (id, name)
  values (200, 'much too long for a name')
go
select name from item
  where id = 'x'
go
select name from item where id = 3000000000
go
insert item (id, flag) values (201, 'maybe')
go
update item set price = 123456789.5 where id = 1
go
select nothing from item where id = 1
go
select name from item where id = 1 and 1 = 1
go
-- Nothing of this is parameterized: another value might want another plan, or it is not simple.
dbcc freeproccache with no_infomsgs
go
select other from found where grp = 3 and other < 40
go
select name from item where id in (1, 2)
select name from item where id = 1 or id = 2
select top (1) name from item where id = 1
select distinct name from item where id = 1
select i.name from item i join line l on l.item = i.id where i.id = 1 and l.number = 2
select name from item where name like 'item 1_'
select name from item where id <> 1 and id < 3
select name from item where id = (select 1)
go
declare @a int = 1
select name from item where id = @a and name = 'item 1'
go
create table #t (a int primary key)
insert #t values (1)
go
if 1 = 1 select name from item where id = 1
go
select count(*) as n from parameterized where text like '%@1%'
go
-- Another index is a reason to plan for values, and none when it is gone.
select amount from line where amount = 6
go
select amount from line where amount = 40
go
create index by_amount on line (amount)
go
select amount from line where amount = 6
go
select text, times from parameterized where text like '%amount%=%' order by text
go
drop index by_amount on line
go
select amount from line where amount = 6
go
select text, times from parameterized where text like '%@1%amount%=%' or text like '%amount%=%@1%' order by text
go
-- Numbers that are no int are decimals. A bigint is found by them.
create table wide (id bigint not null primary key, other bigint not null index by_other)
insert wide select value * cast(1000000000 as bigint), value from generate_series(1, 10) union all select 9223372036854775807, 0
go
select id from wide where id = 3000000000
go
select id from wide where id = 4000000000.0
go
select id from wide where id = 4000000000.5
select id from wide where 9223372036854775807 = id
select id from wide where id = 9223372036854775808
select id from wide where id > 7999999999.9 and other = 8
go
select text, times from parameterized where text like '%)select _id_ from _wide_%' order by text
go
set showplan_text on
go
select id from wide where id = 4000000000.0
go
set showplan_text off
go
-- EXEC of a text, and sp_executesql without parameters.
exec ('select name from item where id = 8')
exec ('select name from item where id = 9')
exec sp_executesql N'select name from item where id = 10'
go
select text, times, objtype from parameterized where text like '%)select _name_ %id%' order by text
go
-- In plans.
select name from item where id = 11
go
declare @plan xml = (select top (1) p.query_plan from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t cross apply sys.dm_exec_query_plan(s.plan_handle) p where t.dbid = db_id() and t.text like '%)SELECT _name_%')
;with xmlnamespaces (default 'http://schemas.microsoft.com/sqlserver/2004/07/showplan')
select @plan.value('(//StmtSimple/@StatementText)[1]', 'varchar(100)') as text, @plan.value('(//StmtSimple/@ParameterizedText)[1]', 'varchar(100)') as parameterized, @plan.value('(//StmtSimple/@StatementParameterizationType)[1]', 'int') as kind, @plan.value('(//StmtSimple/@StatementOptmLevel)[1]', 'varchar(10)') as level
go
-- SHOWPLAN shows texts as they are written.
set showplan_text on
go
select name from item where id = 12
go
set showplan_text off
go
-- An int literal has its digits beside a decimal, an int parameter ten: where that would round, there is no parameter. The least int is one literal.
create table fine (id int not null primary key, d decimal(38, 35) not null, i int not null, b bigint not null)
insert fine values (1, 5.00000000000000000000000000000000001, 0, 0)
go
select id from fine where d = 5
go
select id from fine where d > 5
go
update fine set d = d + 1 where id = 1
go
update fine set d = d + 2 where id = 1
go
select d from fine where id = 1
go
create table least (id int not null primary key, i int not null, b bigint not null)
insert least values (1, -1, 0)
go
insert least values (2, -2147483648, -2147483648)
go
update least set b = i + -2147483648 where id = 1
go
select id from least where i = -2147483648
go
select text, times from parameterized where text like '%fine%@%' or text like '%least%@%' order by text
go
-- Arguments that nobody declared.
exec sp_executesql N'select name from item where id = 5', N'', 7
go
