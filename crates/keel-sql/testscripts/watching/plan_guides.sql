-- Plan guides: hints for statements whose text cannot be touched.
create database shop
GO
use shop
GO
create table customer (id int not null constraint c_id primary key, town varchar(10) not null)
create table orders (id int not null constraint o_id primary key, customer int not null, total int not null)
create index o_customer on orders (customer)
insert customer select value, concat('t', value % 500) from generate_series(1, 2000)
insert orders select value, 1 + value % 2000, value from generate_series(1, 4000)
GO
create procedure in_town @town varchar(10) as
set nocount on
select count(*) as orders from customer c join orders o on o.customer = c.id where c.town = @town
select max(total) as most from orders
GO
create view guided as select d.objectid, cast(d.query_plan as nvarchar(max)) as query_plan
from sys.dm_exec_cached_plans p cross apply sys.dm_exec_query_plan(p.plan_handle) d where cast(d.query_plan as nvarchar(max)) like '%PlanGuideName="%'
GO
-- A statement of a module. Space, comments and the case of words make no difference.
exec sp_create_plan_guide @name = N'hashes', @stmt = N'SELECT count(*) AS orders from customer c
    JOIN orders o ON o.customer = c.id /* by town */ where c.town = @town;', @type = N'OBJECT', @module_or_batch = N'dbo.in_town', @params = NULL, @hints = N'OPTION (HASH JOIN, FORCE ORDER)'
select name, is_disabled, scope_type, scope_type_desc, object_name(scope_object_id) as module, scope_batch, parameters, hints from sys.plan_guides
exec in_town 't1'
select object_name(objectid) as module, iif(query_plan like '%PlanGuideDB="shop" PlanGuideName="hashes"%', 'named', 'no') as guide, iif(query_plan like '%Hash Match%', 'hash', 'loop') as joins from guided where objectid is not null
GO
-- Switched off and on.
exec sp_control_plan_guide N'DISABLE', N'hashes'
exec in_town 't1'
select count(*) as guided from guided where objectid is not null
exec sp_control_plan_guide @operation = N'enable', @name = N'HASHES'
exec in_town 't1'
select count(*) as guided from guided where objectid is not null
GO
-- The module stays while it has a guide.
alter procedure in_town @town varchar(10) as select 1
GO
create or alter procedure in_town @town varchar(10) as select 1
GO
drop procedure in_town
GO
exec sp_rename 'in_town', 'in_city'
GO
-- A batch, letter by letter.
exec sp_create_plan_guide N'batch', N'select count(*) as orders from customer c join orders o on o.customer = c.id where c.town = ''t7''', N'SQL', NULL, NULL, N'OPTION (HASH JOIN, FORCE ORDER)'
GO
select count(*) as orders from customer c join orders o on o.customer = c.id where c.town = 't7'
GO
select count(*) as guided from guided where query_plan like '%PlanGuideName="batch"%'
exec sp_control_plan_guide N'DROP', N'batch'
GO
select count(*)  as orders from customer c join orders o on o.customer = c.id where c.town = 't7'
GO
select count(*) as guided from guided where query_plan like '%PlanGuideName="batch"%'
GO
-- One with parameters, of the same names and types.
exec sp_create_plan_guide N'parameters', N'select count(*) as orders from customer c join orders o on o.customer = c.id where c.town = @town', N'SQL', NULL, N'@town varchar(10)', N'OPTION (HASH JOIN, FORCE ORDER)'
exec sp_executesql N'select count(*) as orders from customer c join orders o on o.customer = c.id where c.town = @town', N'@town varchar(20)', 't7'
select count(*) as guided from guided where query_plan like '%PlanGuideName="parameters"%'
exec sp_executesql N'select count(*) as orders from customer c join orders o on o.customer = c.id where c.town = @town', N'@TOWN VARCHAR(10)', 't7'
select count(*) as guided from guided where query_plan like '%PlanGuideName="parameters"%'
GO
-- Without hints, the statement's own go.
exec sp_create_plan_guide N'none', N'select max(total) as most from orders option (maxrecursion 5, use hint(''QUERY_PLAN_PROFILE''))', N'SQL', NULL, NULL, NULL
select name, scope_type_desc, query_text, hints from sys.plan_guides order by name
GO
-- What is wrong with a call.
exec sp_create_plan_guide
exec sp_create_plan_guide N'g', N'select 1'
exec sp_create_plan_guide N'#g', N'select 1', N'SQL'
declare @long nvarchar(200) = replicate(N'g', 125)
exec sp_create_plan_guide @long, N'select 1', N'SQL'
exec sp_create_plan_guide N'g', N'select 1', N'VIEW'
exec sp_create_plan_guide N'g', N'select 1', N'TEMPLATE', NULL, N'@i int', N'OPTION (MAXDOP 2)'
exec sp_create_plan_guide N'g', N'select 1', N'OBJECT'
exec sp_create_plan_guide N'g', N'select 1', N'OBJECT', N'in_town', N'@i int'
exec sp_create_plan_guide N'g', N'select id from orders; select 2', N'SQL'
exec sp_create_plan_guide N'g', N'selec id from orders', N'SQL'
exec sp_create_plan_guide N'g', N'print 1', N'SQL'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', NULL, NULL, N'(HASH JOIN)'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', NULL, NULL, N'OPTION (NONSENSE)'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', NULL, NULL, N'OPTION (PARAMETERIZATION FORCED)'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', NULL, NULL, N'OPTION (TABLE HINT (orders, INDEX (o_none)))'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', NULL, NULL, N'<ShowPlanXML/>'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', N'select id from customer', NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', N'select from', NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', NULL, N'town', N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select id from orders', N'OBJECT', N'in_town', NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select id from orders', N'OBJECT', N'shop.dbo.in_town', NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select id from orders', N'OBJECT', N'dbo.nowhere', NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select id from orders', N'OBJECT', N'#here', NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'none', N'select id from orders', N'SQL', NULL, NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select max(total) as most from orders option (maxrecursion 5, use hint(''QUERY_PLAN_PROFILE''))', N'SQL', NULL, NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide_from_handle N'g', 0x00
exec sp_control_plan_guide N'ALTER', N'none'
exec sp_control_plan_guide N'DROP', N'nowhere'
select count(*) as guides from sys.plan_guides
GO
-- Two about one statement: one at a time.
exec sp_control_plan_guide N'DISABLE', N'hashes'
exec sp_create_plan_guide N'again', N'select count(*) as orders from customer c join orders o on o.customer = c.id where c.town = @town', N'OBJECT', N'in_town', NULL, N'OPTION (LOOP JOIN)'
exec sp_control_plan_guide N'ENABLE', N'hashes'
GO
-- What has become of its statement: an index that a guide names goes, and its hints count for nothing.
exec sp_create_plan_guide N'seeks', N'select max(total) as most from orders', N'OBJECT', N'in_town', NULL, N'OPTION (TABLE HINT (orders, INDEX (o_customer)))'
declare @id int = (select plan_guide_id from sys.plan_guides where name = 'seeks')
select * from sys.fn_validate_plan_guide(@id)
drop index o_customer on orders
select * from sys.fn_validate_plan_guide(@id)
select g.name, v.msgnum from sys.plan_guides g cross apply sys.fn_validate_plan_guide(g.plan_guide_id) v order by g.name
select * from sys.fn_validate_plan_guide(1)
exec in_town 't1'
GO
-- Undone with its transaction, and there after a crash.
begin transaction
exec sp_control_plan_guide N'DROP ALL'
select count(*) as guides from sys.plan_guides
rollback
select count(*) as guides from sys.plan_guides
-- restart:
-- session main:
use shop
GO
select name, is_disabled from sys.plan_guides order by name
exec in_town 't1'
select count(*) as guided from guided where query_plan like '%PlanGuideName="again"%'
GO
-- Who may.
create user ann without login
grant select on schema::dbo to ann
GO
execute as user = 'ann'
select count(*) as seen from sys.plan_guides
exec sp_create_plan_guide N'g', N'select id from orders', N'SQL', NULL, NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'set nocount on', N'OBJECT', N'in_town', NULL, N'OPTION (FAST 1)'
exec sp_create_plan_guide N'g', N'select max(total) as most from orders', N'OBJECT', N'in_town', NULL, N'OPTION (FAST 1)'
exec sp_control_plan_guide N'DROP', N'again'
exec sp_control_plan_guide N'DISABLE ALL'
revert
GO
grant alter on in_town to ann
execute as user = 'ann'
exec sp_control_plan_guide N'DROP', N'again'
revert
exec sp_control_plan_guide N'DROP ALL'
select count(*) as guides from sys.plan_guides
drop procedure in_town
GO
-- A trigger, and the table that would take it along.
create trigger counted on orders after update as
set nocount on
update c set town = town from inserted i join customer c on c.id = i.customer
GO
exec sp_create_plan_guide N'triggered', N'update c set town = town from inserted i join customer c on c.id = i.customer', N'OBJECT', N'dbo.counted', NULL, N'OPTION (LOOP JOIN)'
drop table orders
GO
drop trigger counted
GO
update orders set total = total + 1 where id < 3
exec sp_control_plan_guide N'DROP', N'triggered'
drop table orders
GO
