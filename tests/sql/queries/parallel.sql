-- A statement for which several threads may work. Tables of tests are far below the cost threshold; the hint asks for a parallel plan
-- whatever it costs. The instance of these scripts counts four processors.
create database decisions
go
use decisions
go
create table n (i int not null primary key);
insert n values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
create table sales (id int not null primary key, shop int not null, day date not null, amount decimal(9, 2) not null, note varchar(20) null);
insert sales
  select a.i + 10 * b.i + 100 * c.i + 1000 * d.i, (a.i + b.i * 3 + c.i) % 7, dateadd(day, b.i + c.i, '2026-01-01'),
         a.i * 1.25 + c.i, case when a.i = 3 then null else 'sold by ' + cast(b.i as varchar(9)) end
  from n a, n b, n c, n d where d.i < 4;
create table shops (shop int not null primary key, name varchar(20) not null);
insert shops values (0, 'north'), (1, 'south'), (2, 'east'), (3, 'west'), (4, 'harbour'), (5, 'station');
go
-- One thread or several: the same rows.
select shop, count(*) as sales, sum(amount) as amount, min(day) as first, count(note) as notes from sales group by shop order by shop
select shop, count(*) as sales, sum(amount) as amount, min(day) as first, count(note) as notes from sales group by shop order by shop
  option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
select s.name, sum(a.amount) as amount from sales a left join shops s on s.shop = a.shop where a.day >= '2026-01-05' group by s.name
  order by s.name option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'), maxdop 3)
select count(*), sum(amount), max(day) from sales where note like '%5' option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
select top 3 id, amount from sales order by amount desc, id option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
select count(distinct note), count(*) from sales option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
-- What several threads run stands below a gather.
set showplan_text on
go
select shop, count(*) from sales group by shop option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
select sum(a.amount) from sales a join shops s on s.shop = a.shop where s.name < 'o' option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
select id, note from sales where amount > 15 order by note option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
-- Groups that an index brings together are made by each thread for its parts of the table.
select id, count(*) from sales group by id having sum(amount) > 19 option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
-- Serial: cheap; MAXDOP 1; an order that the index gives; a function of the session; rows that are locked; a change.
select shop, count(*) from sales group by shop
go
select shop, count(*) from sales group by shop option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'), maxdop 1)
go
select id from sales order by id option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
select id, @@spid from sales option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
select count(*) from sales with (updlock) option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
delete sales where amount > 1000 option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
set showplan_text off
go
-- What all threads did, counted; and why there is only one.
set statistics profile on
go
select count(*) from sales option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
go
set statistics profile off
go
set showplan_xml on
go
select count(*) from sales option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'), maxdop 1)
go
set showplan_xml off
go
-- The threshold is in the product's units of cost: at 0 every statement is parallel that can be.
exec sp_configure 'show advanced options', 1; reconfigure
exec sp_configure 'cost threshold for parallelism', 0; reconfigure
go
set showplan_text on
go
select max(amount + 0) from sales
go
set showplan_text off
go
-- A statement's MAXDOP goes before the database's, and that before the instance's.
exec sp_configure 'max degree of parallelism', 2; reconfigure
go
/* degree two */ select max(amount + 0) as most from sales
go
/* degree three */ select max(amount + 0) as most from sales option (maxdop 3)
go
alter database scoped configuration set maxdop = 4
go
/* degree four */ select max(amount + 0) as most from sales
go
alter database scoped configuration set maxdop = 1
alter database scoped configuration for secondary set maxdop = primary
go
/* degree one */ select max(amount + 0) as most from sales
go
select name, value, value_for_secondary, is_value_default from sys.database_scoped_configurations where name = 'MAXDOP'
go
alter database scoped configuration set maxdop = 40000
go
alter database scoped configuration set maxdop = primary
go
alter database scoped configuration set maxdop = 0
go
-- How many threads each had.
select substring(t.text, 4, 12) as statement, q.last_dop, q.max_dop, q.last_used_threads
  from sys.dm_exec_query_stats q cross apply sys.dm_exec_sql_text(q.sql_handle) t where t.text like '/* degree%' order by q.last_dop
go
-- A transaction sees its own rows, and others are not kept from helping.
begin transaction
delete sales where id < 100
select count(*) from sales
rollback
select count(*) from sales
go
-- Under SERIALIZABLE what is read is locked, by one thread.
set transaction isolation level serializable
begin transaction
/* degree one too */ select count(*) from sales
commit
set transaction isolation level read committed
go
select last_dop from sys.dm_exec_query_stats q cross apply sys.dm_exec_sql_text(q.sql_handle) t where t.text like '%degree one too%' and t.text not like '%sys.%'
go
-- A workload group's MAX_DOP goes before all of them.
alter workload group [default] with (max_dop = 2)
alter resource governor reconfigure
go
/* of a group */ select count(*) from sales option (maxdop 4)
go
select last_dop from sys.dm_exec_query_stats q cross apply sys.dm_exec_sql_text(q.sql_handle) t where t.text like '/* of a group%'
alter workload group [default] with (max_dop = 0)
alter resource governor reconfigure
go
-- An error of any thread is the statement's.
select sum(1 / (id - 3999)) from sales
go
select count(*) from sales where id = 10 / (id - 3999)
go
-- Temporary tables are read like others.
select id, amount into #part from sales where shop = 3
select count(*), sum(amount) from #part
go
select case when waiting_tasks_count > 0 then 'helpers were waited for' end from sys.dm_os_wait_stats where wait_type = 'CXPACKET'
go
