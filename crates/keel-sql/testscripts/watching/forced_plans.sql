-- Plans that are forced: what they are made of is kept, and the query is compiled to the same plan again.
create database shop
GO
use shop
GO
alter database shop set query_store = on (query_capture_mode = all)
create table customer (id int not null constraint c_id primary key, town varchar(10) not null)
create table orders (id int not null constraint o_id primary key, customer int not null, total int not null)
create index o_customer on orders (customer)
create index o_total on orders (total) include (customer)
insert customer select value, concat('t', value % 500) from generate_series(1, 2000)
insert orders select value, 1 + value % 2000, value from generate_series(1, 4000)
GO
create view of_plans as select p.plan_id, p.query_id, p.query_plan_hash, p.query_plan, p.is_forced_plan as forced, p.plan_forcing_type as type, p.plan_forcing_type_desc as type_desc,
    p.force_failure_count as failed, p.last_force_failure_reason as reason, p.last_force_failure_reason_desc as reason_desc,
    coalesce((select sum(s.count_executions) from sys.query_store_runtime_stats s where s.plan_id = p.plan_id), 0) as ran
from sys.query_store_plan p join sys.query_store_query q on q.query_id = p.query_id where q.object_id = object_id('in_town')
GO
create procedure in_town @town varchar(10) as
select count(*) as orders, sum(o.total) as total from customer c join orders o on o.customer = c.id where c.town = @town
GO
-- A plan by nested loops, and one that hashes, by a hint that goes again.
exec in_town 't1'
declare @query bigint = (select query_id from of_plans)
exec sp_query_store_set_hints @query, N'option (hash join, force order)'
exec in_town 't1'
exec sp_query_store_clear_hints @query
exec in_town 't1'
select plan_id, ran, forced, type, type_desc, failed, reason, reason_desc, iif(query_plan like '%Hash Match%', 'hash', 'loop') as joins from of_plans order by plan_id
GO
-- The planner would take the first. The second is forced, and the query is that plan again.
exec sp_query_store_force_plan 1000, 1
declare @query bigint = (select min(query_id) from of_plans), @second bigint = (select max(plan_id) from of_plans)
exec sp_query_store_force_plan @query, 1000
exec sp_query_store_force_plan @query
exec sp_query_store_force_plan @query, @second, 2
exec sp_query_store_force_plan @query, @second, 0, 0
exec sp_query_store_force_plan @query, @second, 0, 7
exec sp_query_store_force_plan @query_id = @query, @plan_id = @second, @disable_optimized_plan_forcing = 1
exec in_town 't1'
exec in_town 't2'
select plan_id, ran, forced, type, type_desc, failed, reason, reason_desc from of_plans order by plan_id
select query_id - @query as of_query, plan_id - @second as of_plan, replica_group_id from sys.query_store_plan_forcing_locations
GO
-- Plans say that they were made so.
select iif(cast(d.query_plan as nvarchar(max)) like '%<QueryPlan DegreeOfParallelism="1" UsePlan="true">%', 'yes', 'no') as says_so
from sys.dm_exec_cached_plans p cross apply sys.dm_exec_query_plan(p.plan_handle) d where d.objectid = object_id('in_town')
GO
-- While a plan is forced there are no hints, nothing is removed, and the other way round.
declare @query bigint = (select min(query_id) from of_plans), @second bigint = (select max(plan_id) from of_plans)
exec sp_query_store_set_hints @query, N'option (loop join)'
exec sp_query_store_remove_plan @second
exec sp_query_store_remove_query @query
exec sp_query_store_unforce_plan @query, @second
exec sp_query_store_unforce_plan @query, @second
exec sp_query_store_set_hints @query, N'option (loop join)'
exec sp_query_store_force_plan @query, @second
exec sp_query_store_clear_hints @query
exec in_town 't1'
select plan_id, ran, forced, type_desc from of_plans order by plan_id
GO
-- Forced, and without its index: a plan as the planner makes it, counted once each time that it is compiled.
declare @query bigint = (select min(query_id) from of_plans), @first bigint = (select min(plan_id) from of_plans)
exec sp_query_store_force_plan @query, @first
exec in_town 't1'
GO
drop index o_customer on orders
GO
exec in_town 't1'
exec in_town 't2'
select plan_id, ran, forced, type_desc, failed, reason, reason_desc from of_plans order by plan_id
GO
-- An index of that name makes the plan possible again, others make no difference. What has failed stays counted until it is forced anew.
create index o_customer on orders (customer)
create index o_both on orders (customer, total)
alter table customer add street varchar(10) null
GO
exec in_town 't1'
select plan_id, ran, forced, failed, reason_desc from of_plans order by plan_id
declare @query bigint = (select min(query_id) from of_plans), @first bigint = (select min(plan_id) from of_plans)
exec sp_query_store_unforce_plan @query, @first
exec sp_query_store_force_plan @query, @first
select plan_id, ran, forced, failed, reason_desc from of_plans order by plan_id
GO
-- An index of that name over other columns is not that of the plan.
drop index o_customer on orders
create index o_customer on orders (total)
GO
exec in_town 't1'
select forced, failed, reason, reason_desc from of_plans where failed > 0
GO
-- What is planned anew each time has no plan to force.
select * into #ulm from customer where town = 't1'
declare @query bigint, @plan bigint
select @query = p.query_id, @plan = p.plan_id from sys.query_store_plan p join sys.query_store_query q on q.query_id = p.query_id
join sys.query_store_query_text t on t.query_text_id = q.query_text_id where t.query_sql_text like 'select * into #ulm%'
exec sp_query_store_force_plan @query, @plan
GO
-- One statement under two settings is two queries: the other's plan is not forced.
select total from orders where customer = 3 and total > 480
set dateformat dmy
select total from orders where customer = 3 and total > 480
set dateformat mdy
declare @query bigint, @plan bigint
select @query = min(q.query_id), @plan = min(p.plan_id) from sys.query_store_plan p join sys.query_store_query q on q.query_id = p.query_id
join sys.query_store_query_text t on t.query_text_id = q.query_text_id where t.query_sql_text = 'select total from orders where customer = 3 and total > 480'
exec sp_query_store_force_plan @query, @plan
select count(*) as forced from sys.query_store_plan where is_forced_plan = 1
GO
-- Who may.
create user ann without login
grant select on customer to ann
GO
execute as user = 'ann'
exec sp_query_store_force_plan 1, 1
exec sp_query_store_unforce_plan 1, 1
select count(*) from sys.query_store_plan_forcing_locations
revert
GO
-- Off, nothing is forced, and nothing is forgotten; CLEAR forgets.
alter database shop set query_store = off
declare @query bigint = (select min(query_id) from of_plans), @first bigint = (select min(plan_id) from of_plans)
exec sp_query_store_force_plan @query, @first
exec sp_query_store_unforce_plan @query, @first
select count(*) as forced from sys.query_store_plan where is_forced_plan = 1
alter database shop set query_store = on
alter database shop set query_store clear
select count(*) as forced from sys.query_store_plan where is_forced_plan = 1
select count(*) as places from sys.query_store_plan_forcing_locations
GO
exec in_town 't1'
select count(*) as plans, max(failed) as failed from of_plans
GO
