-- Plans in all their forms: SHOWPLAN_ALL and SHOWPLAN_XML instead of what statements do, STATISTICS PROFILE and XML behind it.
create database plans
GO
use plans
GO
create table customer (id int not null constraint customer_key primary key, name nvarchar(40) not null, region int not null)
create table bought (id int not null constraint bought_key primary key, customer int not null, amount decimal(9, 2) not null)
create index bought_by on bought (customer)
insert customer select value, concat('customer ', value), value % 5 from generate_series(1, 50)
insert bought select value, value % 50 + 1, value * 1.5 from generate_series(1, 1000)
GO
-- SET SHOWPLAN stands alone in its batch.
set showplan_all on
select 1
GO
set showplan_all on
GO
select name from customer where id = 7
insert customer values (51, 'not inserted', 1)
GO
set showplan_all off
GO
select count(*) as customers from customer
GO
-- What was done, counted; the result comes first.
set statistics profile on
GO
select c.name, sum(b.amount) as total from customer c join bought b on b.customer = c.id
where c.region = 2 and c.id < 20 group by c.name having sum(b.amount) > 10 order by total desc
GO
update bought set amount = amount + 1 where id between 5 and 9
GO
set statistics profile off
GO
-- As XML: of a text that ran, from the cache.
create procedure of_region @region int as
select top (3) name, (select max(amount) from bought b where b.customer = c.id) as most
from customer c where region = @region order by name
GO
create procedure plan_of @name sysname as
select p.query_plan.value('declare default element namespace "http://schemas.microsoft.com/sqlserver/2004/07/showplan";
    count(//StmtSimple)', 'int') as statements,
  p.query_plan.value('declare default element namespace "http://schemas.microsoft.com/sqlserver/2004/07/showplan";
    (//StmtSimple/@StatementType)[1]', 'varchar(20)') as kind,
  p.objectid - object_id(@name) as other_object
from sys.dm_exec_procedure_stats s cross apply sys.dm_exec_query_plan(s.plan_handle) p where s.object_id = object_id(@name)
select o.value('@NodeId', 'int') as node, o.value('@PhysicalOp', 'varchar(30)') as physical, o.value('@LogicalOp', 'varchar(30)') as logical,
  o.value('declare default element namespace "http://schemas.microsoft.com/sqlserver/2004/07/showplan"; (*/Object/@Index)[1]', 'varchar(30)') as [index],
  o.value('declare default element namespace "http://schemas.microsoft.com/sqlserver/2004/07/showplan"; (*/Predicate/ScalarOperator/@ScalarString)[1]', 'varchar(60)') as predicate,
  o.value('declare default element namespace "http://schemas.microsoft.com/sqlserver/2004/07/showplan";
    (*/SeekPredicates/SeekPredicateNew/SeekKeys/Prefix/RangeExpressions/ScalarOperator/@ScalarString)[1]', 'varchar(40)') as sought
from sys.dm_exec_procedure_stats s cross apply sys.dm_exec_query_plan(s.plan_handle) p
cross apply p.query_plan.nodes('declare default element namespace "http://schemas.microsoft.com/sqlserver/2004/07/showplan"; //RelOp') n (o)
where s.object_id = object_id(@name) order by node
GO
exec of_region 1
exec plan_of 'of_region'
GO
set showplan_xml on
GO
select name from customer where id = 7 and region > 1
GO
set showplan_xml off
GO
-- Whoever sees a plan has SHOWPLAN in its database.
create user reader without login
grant select on customer to reader
GO
execute as user = 'reader'
GO
set statistics xml on
GO
select name from customer where id = 7
GO
set statistics xml off
GO
revert
GO
use master
drop database plans
GO
