-- Full-text search: who may make what, who may search, and rows that a policy hides.
create database shop
GO
use shop
create table dbo.item (id int not null constraint pk_item primary key, t varchar(100), secret varchar(100))
insert dbo.item values (1, 'red apple', 'one'), (2, 'green apple', 'two')
create fulltext catalog c as default
create fulltext index on dbo.item (t, secret) key index pk_item
exec sys.sp_keel_fulltext_wait
create user reader without login
create user maker without login
grant select on dbo.item (id, t) to reader
GO
execute as user = 'reader'
select id from dbo.item where contains(t, 'apple') order by id
select [key] from containstable(dbo.item, t, 'red')
GO
select id from dbo.item where contains(secret, 'one')
GO
select [key] from containstable(dbo.item, *, 'one')
GO
create fulltext catalog d
GO
alter fulltext catalog c rebuild
GO
create fulltext stoplist s
GO
drop fulltext index on dbo.item
GO
select count(*) as hidden from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
GO
revert
grant create fulltext catalog to maker
execute as user = 'maker'
create fulltext catalog d
drop fulltext catalog d
GO
revert
grant alter any fulltext catalog to maker
execute as user = 'maker'
drop fulltext catalog d
GO
revert
GO
-- A policy hides rows from searches too.
create function dbo.visible (@id int) returns table with schemabinding as return select 1 as ok where @id <> 1
GO
create security policy dbo.p add filter predicate dbo.visible(id) on dbo.item
GO
select id from dbo.item where contains(t, 'apple')
select [key] from containstable(dbo.item, t, 'apple')
GO
drop security policy dbo.p
-- Triggers of the database are told.
create table dbo.told (event nvarchar(100), object nvarchar(100))
GO
create trigger tell on database for ddl_fulltext_catalog_events, alter_fulltext_index, create_fulltext_stoplist as
insert dbo.told select eventdata().value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(100)'), eventdata().value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(100)')
GO
create fulltext catalog e
alter fulltext catalog e rebuild
drop fulltext catalog e
alter fulltext index on dbo.item set stoplist off
create fulltext stoplist s
select * from dbo.told
GO
use master
drop database shop
