-- Triggers of the server: on events of every database and on those of the server; what fires of which; vetoes before the act.
create database other
GO
use master
create table server_log (id int identity primary key, db sysname null, event_type sysname, object_name nvarchar(200) null, command nvarchar(max), who sysname)
GO
create trigger log_all on all server for DDL_EVENTS as
    insert server_log (db, event_type, object_name, command, who)
    select EVENTDATA().value('(/EVENT_INSTANCE/DatabaseName)[1]', 'sysname'), EVENTDATA().value('(/EVENT_INSTANCE/EventType)[1]', 'sysname'),
        EVENTDATA().value('(/EVENT_INSTANCE/ObjectName)[1]', 'sysname'), EVENTDATA().value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(max)'),
        suser_sname()
GO
use other
GO
create table t (a int)
create login made_here with password = 'Secret-Keel-1', default_database = other
alter login made_here with password = N'Other-Secret-2' old_password = 'Secret-Keel-1'
alter server role dbcreator add member made_here
grant view server state to made_here
create database made_too
alter database made_too set recovery simple
drop database made_too
drop login made_here
GO
select db, event_type, object_name, command, who from master.dbo.server_log order by id
GO
-- its own schema of names, seen from everywhere
select name, parent_class, parent_class_desc, type_desc, is_disabled from sys.server_triggers
select count(*) as events, min(event_group_type_desc) as grouped from sys.server_trigger_events
select left(definition, 30) as definition, execute_as_principal_id from sys.server_sql_modules
select count(*) as n from master.sys.triggers
select object_id('master.dbo.log_all') as id
GO
disable trigger log_all on all server
GO
-- a veto: neither is there afterwards, nor gone
create trigger no_databases on all server for CREATE_DATABASE, DROP_DATABASE, CREATE_LOGIN as
begin
    print concat('not ', EVENTDATA().value('(/EVENT_INSTANCE/EventType)[1]', 'sysname'), ' from ', db_name())
    rollback
end
GO
create database never
GO
drop database other
GO
create login never with password = 'Never-Keel-12'
GO
select name from sys.databases where name in ('never', 'other')
select count(*) as n from sys.server_principals where name = 'never'
GO
drop trigger no_databases on all server
GO
-- of the server first, then of the database; as whom
create trigger second on database for CREATE_VIEW as print concat('second: ', db_name(), ' ', user_name())
GO
create login low with password = 'Low-Keel-1234'
GO
create trigger first on all server with execute as 'low' for CREATE_VIEW, LOGON as print concat('first: ', db_name(), ' ', suser_sname(), ' ', original_login())
GO
create view v as select 1 as x
GO
select e.type, e.type_desc from sys.server_trigger_events e join sys.server_triggers t on t.object_id = e.object_id where t.name = 'first' order by e.type
exec sp_settriggerorder 'first', 'last', 'LOGON', 'SERVER'
select e.type_desc, is_first, is_last from sys.server_trigger_events e join sys.server_triggers t on t.object_id = e.object_id where t.name = 'first' order by e.type
GO
drop trigger first on all server
drop trigger second on database
GO
-- errors and permissions
create trigger x on all server with execute as 'nobody' for CREATE_VIEW as return
GO
create trigger x on all server for UPDATE as return
GO
drop trigger log_all
GO
create user low for login low
grant alter any database ddl trigger to low
GO
execute as login = 'low'
GO
create trigger mine on all server for CREATE_VIEW as return
GO
create trigger mine on database for CREATE_VIEW as return
GO
disable trigger log_all on all server
drop trigger log_all on all server
drop trigger mine on database
GO
revert
GO
drop trigger log_all on all server
use master
GO
drop table server_log
drop database other
drop login low
