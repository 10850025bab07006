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
-- The key is read by who is told it; what an index holds is for who may read all of its columns.
create user narrow without login
create user broad without login
grant select on dbo.item (t, secret) to narrow
grant select on dbo.item to broad
deny select on dbo.item (id) to broad
GO
execute as user = 'narrow'
select [rank] / 2000 as r from containstable(dbo.item, t, 'red')
GO
select display_term, document_count from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item')) where display_term in ('apple', 'one') order by 1
GO
select display_term from sys.dm_fts_index_keywords_by_document(db_id(), object_id('dbo.item'))
GO
revert
execute as user = 'broad'
select [key] from freetexttable(dbo.item, t, 'red')
GO
select count(*) as n from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
select count(*) as n from sys.dm_fts_index_keywords_by_document(db_id(), object_id('dbo.item'))
GO
revert
revoke select on dbo.item (id) to broad
deny select on dbo.item (secret) to broad
execute as user = 'broad'
select count(*) as n from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
GO
revert
revoke select on dbo.item (secret) to broad
grant select on dbo.item to broad
GO
-- Masked columns: words of the index are their values; a key that is masked later is shown behind its mask.
alter table dbo.item alter column secret add masked with (function = 'default()')
alter table dbo.item alter column id add masked with (function = 'default()')
execute as user = 'broad'
select [key] from containstable(dbo.item, t, 'red')
select i.id, i.t from containstable(dbo.item, t, 'red') f join dbo.item i on i.id = f.[key]
select i.id, i.t from dbo.item i where contains(t, 'red')
GO
select count(*) as n from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
GO
revert
grant unmask on dbo.item (secret) to broad
execute as user = 'broad'
select count(*) as n from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
select count(*) as n from sys.dm_fts_index_keywords_by_document(db_id(), object_id('dbo.item'))
GO
revert
grant unmask on dbo.item (id) to broad
execute as user = 'broad'
select [key] from containstable(dbo.item, t, 'red')
select count(*) as n from sys.dm_fts_index_keywords_by_document(db_id(), object_id('dbo.item'))
GO
revert
alter table dbo.item alter column secret drop masked
alter table dbo.item alter column id drop masked
GO
-- A policy hides rows from searches too.
create function dbo.visible (@id int) returns table with schemabinding as return select 1 as ok where @id <> 1
GO
create security policy dbo.p add filter predicate dbo.visible(id) on dbo.item
GO
select id from dbo.item where contains(t, 'apple')
select [key] from containstable(dbo.item, t, 'apple')
GO
-- Words of hidden rows are not shown but to who could drop the policy.
execute as user = 'broad'
select count(*) as n from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
GO
revert
select count(*) as n from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
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
