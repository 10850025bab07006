-- Triggers of a database: what they fire on, what EVENTDATA() says, vetoes, and what is shown of them.
create database audited
GO
use audited
GO
create table ddl_log (id int identity primary key, event_type nvarchar(128), object_name nvarchar(256), command nvarchar(max), doc xml)
GO
create trigger logs on database for DDL_DATABASE_LEVEL_EVENTS as
begin
    set nocount on
    declare @d xml = EVENTDATA()
    insert ddl_log (event_type, object_name, command, doc)
    values (@d.value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(128)'),
            concat(@d.value('(/EVENT_INSTANCE/SchemaName)[1]', 'nvarchar(128)'), '.', @d.value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(128)'), ' ',
                   @d.value('(/EVENT_INSTANCE/ObjectType)[1]', 'nvarchar(128)'), ' ', @d.value('(/EVENT_INSTANCE/TargetObjectName)[1]', 'nvarchar(128)')),
            @d.value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(max)'), @d)
end
GO
create table t (a int not null constraint pk_t primary key, b varchar(10));
create index ix on t (b)
alter index ix on t rebuild
alter table t add c int, constraint ck check (a > 0)
alter table t drop constraint ck
create table #none (a int)
select 1 as a into #none2
select 1 as a, 'x' as b into made
GO
create view v as select a from t
GO
-- a comment that belongs to it
create or alter view v as select a, b from t
GO
create procedure p as select 1 as x
GO
create function f () returns int as begin return 1 end
GO
create trigger tr on t after insert as return
GO
drop trigger tr
drop procedure p
drop procedure if exists p
drop table if exists made, nothing_there
drop index ix on t
GO
create schema s
GO
create schema s2 create table s2.inner_table (a int)
GO
alter schema s transfer dbo.t
create type ty from int
create sequence sq start with 1
create synonym sy for s.t
create user u without login
create role r
alter role r add member u
grant select, insert on s.t to u
deny view definition to u with grant option
revoke select on s.t from u
create statistics st on s.t (b)
drop statistics s.t.st
exec sp_rename 's.t', 't2'
exec sp_rename 's.t2.b', 'bb', 'COLUMN'
exec sp_addextendedproperty 'MS_Description', N'a <remark>', 'schema', 's', 'table', 't2', 'column', 'bb'
exec sp_dropextendedproperty 'MS_Description', 'schema', 's', 'table', 't2', 'column', 'bb'
GO
-- what fails brings no event
create table s.t2 (a int)
GO
begin try
    drop table dbo.nothing_there
end try
begin catch
    print error_message()
end catch
GO
select id, event_type, object_name, command from ddl_log order by id
GO
select event_type, cast(doc.query('/EVENT_INSTANCE/AlterTableActionList') as nvarchar(max)) as actions from ddl_log where event_type = 'ALTER_TABLE' order by id
select cast(doc.query('for $e in /EVENT_INSTANCE/*[not(local-name() = ("PostTime", "SPID", "ServerName", "TSQLCommand"))] return $e') as nvarchar(max)) as doc
from ddl_log where event_type in ('CREATE_TABLE', 'GRANT_DATABASE', 'ADD_ROLE_MEMBER', 'RENAME', 'CREATE_EXTENDED_PROPERTY', 'CREATE_USER', 'CREATE_SYNONYM') order by id
select doc.query('/EVENT_INSTANCE/TSQLCommand') as command from ddl_log where id = 1
GO
-- outside of a trigger of events there is nothing
select EVENTDATA() as data
GO
disable trigger logs on database
GO
-- a veto
create trigger no_drops on database for DROP_TABLE, ALTER_TABLE as
begin
    print 'no: ' + EVENTDATA().value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(max)')
    rollback
end
GO
create table kept (a int)
GO
insert kept values (1)
drop table kept
print 'never said'
GO
select * from kept
select @@trancount as n
GO
begin transaction
create table gone_too (a int)
alter table kept add b int
GO
select @@trancount as n, object_id('gone_too') as gone, col_length('kept', 'b') as b
GO
begin try
    drop table kept
end try
begin catch
    select error_number() as number, error_procedure() as [procedure], xact_state() as state
end catch
GO
alter trigger no_drops on database for DROP_TABLE as throw 50001, 'Tables stay.', 3
GO
drop table kept
GO
select * from kept
begin try
    drop table kept
end try
begin catch
    select error_number() as number, error_message() as message, error_procedure() as [procedure], xact_state() as state
    if xact_state() <> 0 rollback
end catch
GO
drop trigger no_drops on database
drop table kept
GO
-- nesting: one that another brings; never its own
create trigger makes_view on database for CREATE_TABLE as
begin
    select trigger_nestlevel() as nested, db_name() as db, @@trancount as n
    exec ('create view of_table as select 1 as x')
    exec ('create table of_itself (a int)')
end
GO
create trigger sees_view on database for CREATE_VIEW, CREATE_TRIGGER as
    select trigger_nestlevel() as nested, trigger_nestlevel(0, 'AFTER', 'DDL') as ddl, trigger_nestlevel(0, 'AFTER', 'DML') as dml,
        EVENTDATA().value('(/EVENT_INSTANCE/ObjectName)[1]', 'sysname') as name
GO
create table brings (a int)
GO
create trigger another on database for DDL_VIEW_EVENTS as return
GO
-- order
create trigger second_view on database for CREATE_VIEW as print 'second'
GO
exec sp_settriggerorder 'second_view', 'First', 'create_view', 'DATABASE'
GO
create view v5 as select 1 as x
GO
exec sp_settriggerorder 'sees_view', 'first', 'CREATE_VIEW', 'DATABASE'
exec sp_settriggerorder 'sees_view', 'first', 'CREATE_TABLE', 'DATABASE'
exec sp_settriggerorder 'sees_view', 'first', 'DDL_VIEW_EVENTS', 'DATABASE'
exec sp_settriggerorder 'nobody', 'first', 'CREATE_VIEW', 'DATABASE'
exec sp_settriggerorder 'sees_view', 'middle', 'CREATE_VIEW', 'DATABASE'
GO
-- views
select name, parent_class, parent_class_desc, parent_id, type, type_desc, is_disabled, is_instead_of_trigger from sys.triggers order by name
select t.name, count(*) as events, min(e.type_desc) as one, min(cast(e.is_trigger_event as int)) as of_triggers from sys.events e join sys.triggers t on t.object_id = e.object_id group by t.name order by t.name
select t.name, count(*) as events, min(e.event_group_type_desc) as grouped, sum(cast(is_first as int)) as firsts from sys.trigger_events e join sys.triggers t on t.object_id = e.object_id group by t.name order by t.name
select count(*) as n from sys.objects where name in ('logs', 'sees_view')
select object_id('logs') as id, left(m.definition, 40) as definition from sys.triggers t join sys.sql_modules m on m.object_id = t.object_id where t.name = 'another'
select count(*) as types, sum(iif(type > 10000, 1, 0)) as groups, sum(iif(parent_type is null, 1, 0)) as roots from sys.trigger_event_types
GO
-- errors
create trigger bad on database for INSERT as return
GO
create trigger bad on database for CREATE_NOTHING as return
GO
create trigger bad on database for CREATE_LOGIN as return
GO
create trigger bad on database for LOGON as return
GO
create trigger dbo.bad on database for CREATE_TABLE as return
GO
create trigger bad on database with execute as owner for CREATE_TABLE as return
GO
create trigger logs on database for CREATE_TABLE as return
GO
alter trigger nobody on database for CREATE_TABLE as return
GO
create table logs (a int)
GO
drop trigger nobody on database
drop trigger if exists nobody on database
disable trigger nobody on database
disable trigger logs, nobody on database
enable trigger all on database
GO
create trigger bad on brings for CREATE_TABLE as return
GO
create trigger bad on brings for NOTHING as return
GO
create trigger bad on #none for insert as return
GO
create trigger bad on nowhere for insert as return
GO
create trigger bad on v5 for insert as return
GO
use master
GO
drop database audited
