-- Security policies as objects: how they are written, shown, held to and refused.
create database shop
GO
use shop
GO
create schema rules
GO
create table dbo.orders (id int primary key, owner sysname, amount int, note varchar(20))
create table dbo.others (id int primary key, owner sysname)
create user ann without login
create user officer without login
grant select on dbo.orders to ann
GO
create function rules.own(@owner sysname) returns table with schemabinding as
return select 1 as ok where @owner = user_name()
GO
create function rules.loose(@owner sysname) returns table as
return select 1 as ok where @owner = user_name()
GO
create function rules.scalar(@owner sysname) returns int with schemabinding as begin return 1 end
GO
create function rules.many(@owner sysname) returns @t table (a int) with schemabinding as begin return end
GO
create view dbo.bound with schemabinding as select id, owner from dbo.others
GO
create view dbo.unbound as select id, owner from dbo.others
GO
-- What is refused.
create security policy rules.x add filter predicate rules.nothing(owner) on dbo.orders
GO
create security policy rules.x add filter predicate rules.scalar(owner) on dbo.orders
GO
create security policy rules.x add filter predicate rules.many(owner) on dbo.orders
GO
create security policy rules.x add filter predicate rules.own(owner) on dbo.nothing
GO
create security policy rules.x add filter predicate rules.own(nothing) on dbo.orders
GO
create security policy rules.x add filter predicate rules.own(owner, id) on dbo.orders
GO
create security policy rules.x add filter predicate rules.own() on dbo.orders
GO
create security policy rules.x add filter predicate rules.own(owner) on dbo.unbound
GO
create security policy rules.x add block predicate rules.own(owner) on dbo.bound
GO
create security policy rules.x add filter predicate rules.loose(owner) on dbo.orders
GO
create security policy rules.x add filter predicate own(owner) on dbo.orders
GO
create security policy rules.x add filter predicate rules.own(owner) on orders
GO
create security policy rules.x add filter predicate rules.own(owner) on #t
GO
create security policy rules.x add filter predicate rules.own(owner) on dbo.orders, add filter predicate rules.own(owner) on dbo.orders
GO
create security policy rules.x add block predicate rules.own(owner) on dbo.orders, add block predicate rules.own(owner) on dbo.orders after insert
GO
declare @v sysname create security policy rules.x add filter predicate rules.own(@v) on dbo.orders
GO
create security policy rules.x add filter predicate rules.own((select 'a')) on dbo.orders
GO
create security policy rules.x add filter predicate rules.own(owner) on dbo.orders after insert
GO
create security policy rules.x add block predicate rules.own(owner) on dbo.orders after delete
GO
create security policy rules.x add filter predicate rules.own(owner) on dbo.orders with (state = on, state = off)
GO
create security policy rules.x add filter predicate rules.own(owner) on dbo.orders with (color = on)
GO
create security policy shop.rules.x
GO
create security policy nowhere.x
GO
create security policy sys.x
GO
create security policy dbo.orders
GO
alter security policy rules.x with (state = off)
GO
alter security policy dbo.orders with (state = off)
GO
drop security policy rules.x
GO
drop security policy if exists rules.x
GO
select count(*) as n from sys.security_policies
GO
-- What is made.
create security policy rules.p add filter predicate rules.own(owner) on dbo.orders,
add block predicate rules.own(upper(owner) + '') on dbo.orders after insert with (state = off) not for replication
GO
create security policy rules.p
GO
alter security policy rules.p with (schemabinding = off)
GO
alter security policy rules.p drop filter predicate on dbo.others
GO
alter security policy rules.p drop block predicate on dbo.orders
GO
alter security policy rules.p alter block predicate rules.own(owner) on dbo.orders before delete
GO
alter security policy rules.p add block predicate rules.own(owner) on dbo.orders before delete, drop block predicate on dbo.orders after insert,
alter filter predicate rules.own(note) on dbo.orders
GO
select name, schema_name(schema_id) as s, type, type_desc, is_ms_shipped, is_enabled, is_not_for_replication, uses_database_collation, is_schema_bound from sys.security_policies
select object_name(object_id) as p, security_predicate_id, object_name(target_object_id) as t, predicate_definition, predicate_type, predicate_type_desc, operation, operation_desc from sys.security_predicates
select name, type, type_desc from sys.objects where object_id = object_id('rules.p')
select objectpropertyex(object_id('rules.p'), 'BaseType') as b, object_id('rules.p', 'SP') - object_id('rules.p') as z, object_id('rules.p', 'U') as u
select referenced_schema_name, referenced_entity_name, referenced_minor_id, is_schema_bound_reference from sys.sql_expression_dependencies where referencing_id = object_id('rules.p')
exec sp_rename 'rules.p', 'q'
select name, object_id('rules.p') as old from sys.security_policies
exec sp_rename 'rules.q', 'p'
GO
-- One enabled policy for a table.
alter security policy rules.p alter filter predicate rules.own(owner) on dbo.orders with (state = on)
GO
create security policy rules.second add block predicate rules.own(owner) on dbo.orders
GO
create security policy rules.second add block predicate rules.own(owner) on dbo.orders with (state = off)
GO
alter security policy rules.second with (state = on)
GO
alter security policy rules.p with (state = off)
alter security policy rules.second with (state = on)
alter security policy rules.p with (state = on)
GO
drop security policy rules.second
alter security policy rules.p with (state = on) drop security policy if exists rules.second
GO
-- What it is bound to stays.
drop function rules.own
GO
alter function rules.own(@owner sysname) returns table with schemabinding as return select 1 as ok
GO
drop table dbo.orders
GO
drop table rules.p
GO
alter table dbo.orders alter column owner nvarchar(200)
GO
alter table dbo.orders drop column owner
GO
exec sp_rename 'dbo.orders', 'orders2'
GO
exec sp_rename 'dbo.orders.owner', 'owned'
GO
drop schema rules
GO
alter table dbo.orders drop column note
alter table dbo.orders add more int
alter table dbo.orders alter column amount bigint
truncate table dbo.orders
GO
-- Who may.
execute as user = 'ann'
create security policy rules.y add filter predicate rules.own(owner) on dbo.others
GO
alter security policy rules.p with (state = off)
GO
drop security policy rules.p
GO
revert
grant alter any security policy to officer
grant alter on schema::rules to officer
GO
execute as user = 'officer'
create security policy rules.y add filter predicate rules.own(owner) on dbo.others
GO
revert
grant select on rules.own to officer
GO
execute as user = 'officer'
create security policy rules.y add filter predicate rules.own(owner) on dbo.others
alter security policy rules.y with (state = off)
drop security policy rules.y
create security policy dbo.y
GO
revert
select permission_name, type, class_desc, user_name(grantee_principal_id) as u from sys.database_permissions where permission_name like '%POLICY%'
GO
-- Not bound: whoever reads needs the function, and what becomes of it counts.
drop security policy rules.p
create table rules.lookup (owner sysname)
insert rules.lookup values ('ann')
insert dbo.orders (id, owner) values (1, 'ann'), (2, 'dbo')
GO
create function rules.by_lookup(@owner sysname) returns table as
return select 1 as ok from rules.lookup as l where l.owner = @owner
GO
create security policy rules.p add filter predicate rules.by_lookup(owner) on dbo.orders with (schemabinding = off)
GO
execute as user = 'ann'
select id from dbo.orders
GO
revert
grant select on rules.by_lookup to ann
GO
execute as user = 'ann'
select id from dbo.orders
GO
revert
grant select on rules.lookup to ann
GO
execute as user = 'ann'
select id from dbo.orders
GO
revert
GO
alter function rules.by_lookup(@owner sysname) returns table as return select 1 as ok where @owner = 'dbo'
GO
select id from dbo.orders
GO
alter function rules.by_lookup(@owner sysname, @more int) returns table as return select 1 as ok
GO
select id from dbo.orders
GO
insert dbo.orders (id, owner) values (3, 'dbo')
GO
drop function rules.by_lookup
GO
select id from dbo.orders
GO
alter security policy rules.p alter filter predicate rules.loose(owner) on dbo.orders
GO
select id from dbo.orders
GO
alter table dbo.orders drop column owner
GO
select id from dbo.orders
GO
drop table dbo.orders
select count(*) as n from sys.security_predicates
drop security policy rules.p
GO
-- On a schema-bound view: what is read through it.
insert dbo.others values (1, 'ann'), (2, 'dbo')
grant select on dbo.bound to ann
grant select on dbo.others to ann
GO
create security policy rules.v add filter predicate rules.own(owner) on dbo.bound
GO
execute as user = 'ann'
select id from dbo.bound
select id from dbo.others
select count(*) as n from dbo.bound where 1 / (id - 2) < 0
revert
GO
drop view dbo.bound
GO
-- Events.
create trigger watch on database for ddl_security_policy_events as
    select eventdata().value('(/EVENT_INSTANCE/EventType)[1]', 'varchar(60)') as e, eventdata().value('(/EVENT_INSTANCE/ObjectName)[1]', 'varchar(60)') as o,
        eventdata().value('(/EVENT_INSTANCE/ObjectType)[1]', 'varchar(60)') as t
GO
create security policy rules.w
alter security policy rules.w not for replication
drop security policy rules.w, rules.v
GO
-- Between schemas: what a policy is bound to stays, the policy itself goes.
create schema elsewhere
GO
create table dbo.moved (id int primary key, owner sysname)
insert dbo.moved values (1, 'ann'), (2, 'dbo')
GO
create security policy rules.x add filter predicate rules.own(owner) on dbo.moved
GO
alter schema elsewhere transfer dbo.moved
GO
alter schema elsewhere transfer rules.own
GO
alter schema elsewhere transfer rules.x
select schema_name(schema_id) as s, name from sys.security_policies
select id from dbo.moved
drop security policy elsewhere.x
GO
create security policy rules.y add filter predicate rules.own(owner) on dbo.moved with (schemabinding = off)
GO
alter schema elsewhere transfer dbo.moved
select id from elsewhere.moved
exec sp_depends 'elsewhere.moved'
exec sp_depends 'rules.y'
drop security policy rules.y
GO
