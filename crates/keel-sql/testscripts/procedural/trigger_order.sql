-- Which triggers fire together and in what order, which fire others, and which fire themselves.
create table t (a int)
create table said (id int identity, what varchar(60))
GO
create trigger one on t after insert, update as insert said values (concat('one ', trigger_nestlevel()))
GO
create trigger two on t after insert as insert said values (concat('two ', trigger_nestlevel()))
GO
create trigger three on t after insert as insert said values (concat('three ', trigger_nestlevel()))
GO
insert t values (1)
select what from said order by id
truncate table said
GO
exec sp_settriggerorder 'three', 'First', 'INSERT'
exec sp_settriggerorder @triggername = 'dbo.one', @order = 'last', @stmttype = 'insert'
insert t values (2)
select what from said order by id
truncate table said
GO
select t.name, e.type_desc, e.is_first, e.is_last from sys.trigger_events e join sys.triggers t on t.object_id = e.object_id order by t.name, e.type
select objectproperty(object_id('three'), 'ExecIsFirstInsertTrigger') as a, objectproperty(object_id('one'), 'ExecIsLastInsertTrigger') as b,
    objectproperty(object_id('one'), 'ExecIsLastUpdateTrigger') as c, objectproperty(object_id('t'), 'ExecIsFirstInsertTrigger') as d
GO
exec sp_settriggerorder 'two', 'First', 'Insert'
exec sp_settriggerorder 'two', 'First', 'UPDATE'
exec sp_settriggerorder 'two', 'Sometimes', 'INSERT'
exec sp_settriggerorder 'two', 'First', 'MERGE'
exec sp_settriggerorder 'four', 'First', 'INSERT'
exec sp_settriggerorder 't', 'First', 'INSERT'
exec sp_settriggerorder 'three', 'none', 'INSERT'
exec sp_settriggerorder 'two', 'First', 'Insert'
insert t values (3)
select what from said order by id
truncate table said
GO
-- ALTER forgets it
alter trigger two on t after insert as insert said values ('two again')
GO
insert t values (4)
select what from said order by id
GO
drop trigger one, two, three
truncate table said
truncate table t
GO
-- itself: not, but where the database says so
create trigger again on t after insert as
begin
    insert said values (concat('again ', trigger_nestlevel(), ' ', trigger_nestlevel(object_id('again'))))
    if trigger_nestlevel() < 4 insert t select a + 1 from inserted
end
GO
insert t values (1)
select a from t order by a
select what from said order by id
GO
alter database current set recursive_triggers on
GO
insert t values (10)
select a from t where a >= 10 order by a
GO
exec sp_configure 'nested triggers', 0
reconfigure
GO
insert t values (20)
select a from t where a >= 20 order by a
GO
exec sp_configure 'nested triggers', 1
reconfigure
alter database current set recursive_triggers off
drop trigger again
GO
-- by way of another it may
create table other (a int)
GO
create trigger there on t after insert as if (select max(a) from inserted) < 104 insert other select a + 1 from inserted
GO
create trigger back on other after insert as insert t select a + 1 from inserted
GO
insert t values (100)
select a from t where a >= 100 order by a
GO
-- INSTEAD OF: what it does itself to its own table is done
create table kept (a int)
GO
create trigger instead on kept instead of insert as insert kept select a * 2 from inserted
GO
exec sp_settriggerorder 'instead', 'First', 'INSERT'
insert kept values (21)
select a from kept
GO
-- a trigger belongs to its table
alter trigger instead on t instead of insert as return
GO
disable trigger nobody on t
alter table t disable trigger nobody
alter table t disable trigger there
select name, is_disabled from sys.triggers order by name
