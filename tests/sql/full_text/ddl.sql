-- Full-text search: catalogs, indexes and stop lists, what they may be, and what the views show of them.
select serverproperty('IsFullTextInstalled') as server_, fulltextserviceproperty('IsFullTextInstalled') as service
create fulltext catalog c
GO
create database shop
GO
use shop
create table dbo.item (id int not null constraint pk_item primary key, code char(5) not null constraint uq_code unique, name nvarchar(50) null, note varchar(max) null,
    doc varbinary(max) null, kind varchar(10) null, x xml null, n int null, up as upper(name), two int null)
create unique index two on dbo.item (two)
create index plain on dbo.item (n)
create unique index [some] on dbo.item (code) where n > 1
insert dbo.item (id, code, name, two) values (1, 'a', N'apple', 1), (2, 'b', N'pear', 2)
GO
-- Catalogs.
create fulltext index on dbo.item (name) key index pk_item
GO
create fulltext catalog fruit
create fulltext catalog veg with accent_sensitivity = off as default authorization dbo
GO
create fulltext catalog FRUIT
GO
create fulltext catalog other authorization nobody
GO
begin transaction
create fulltext catalog other
GO
rollback
select fulltext_catalog_id, name, is_default, is_accent_sensitivity_on, principal_id from sys.fulltext_catalogs
alter fulltext catalog fruit as default
alter fulltext catalog nothing reorganize
GO
select name, is_default from sys.fulltext_catalogs
GO
-- Keys: unique, of one column, never NULL.
create fulltext index on dbo.item (name) key index nothing
GO
create fulltext index on dbo.item (name) key index two
GO
create fulltext index on dbo.item (name) key index plain
GO
create fulltext index on dbo.item (name) key index [some]
GO
-- Columns and their types.
create fulltext index on dbo.item (n) key index pk_item
GO
create fulltext index on dbo.item (nothing) key index pk_item
GO
create fulltext index on dbo.item (name, name) key index pk_item
GO
create fulltext index on dbo.item (up) key index pk_item
GO
create fulltext index on dbo.item (doc) key index pk_item
GO
create fulltext index on dbo.item (name type column kind) key index pk_item
GO
create fulltext index on dbo.item (doc type column n) key index pk_item
GO
create fulltext index on dbo.item (name language N'Klingon') key index pk_item
GO
create fulltext index on dbo.item (name language 7) key index pk_item
GO
create fulltext index on dbo.item (name statistical_semantics) key index pk_item
GO
create fulltext index on dbo.item (name) key index pk_item with search property list = p
GO
create fulltext index on dbo.item (name) key index pk_item with stoplist = mine
GO
create fulltext index on dbo.item (name) key index pk_item with change_tracking auto, no population
GO
create fulltext index on dbo.nothing (name) key index pk_item
GO
create fulltext index on dbo.item (name) key index pk_item on nothing
GO
create table #t (id int not null constraint pk_t primary key, t varchar(10))
create fulltext index on #t (t) key index pk_t
GO
-- One that may be.
create fulltext index on dbo.item (name language 1031, doc type column kind language 0x409, x) key index uq_code on (fruit, filegroup [primary])
    with (change_tracking = manual, stoplist = system)
GO
create fulltext index on dbo.item (note) key index pk_item
GO
exec sys.sp_keel_fulltext_wait
select object_name(object_id) as t, unique_index_id, fulltext_catalog_id, is_enabled, change_tracking_state_desc, has_crawl_completed, crawl_type_desc, stoplist_id from sys.fulltext_indexes
select object_name(object_id) as t, column_id, type_column_id, language_id from sys.fulltext_index_columns
select objectproperty(object_id('dbo.item'), 'TableHasActiveFulltextIndex') as active, objectproperty(object_id('dbo.item'), 'TableFulltextCatalogId') as catalog_,
    objectproperty(object_id('dbo.item'), 'TableFulltextKeyColumn') as key_, objectproperty(object_id('dbo.item'), 'TableFulltextItemCount') as items,
    objectproperty(object_id('dbo.item'), 'TableFulltextPendingChanges') as pending, objectproperty(object_id('dbo.item'), 'TableFulltextPopulateStatus') as status,
    objectproperty(object_id('dbo.item'), 'TableFulltextBackgroundUpdateIndexOn') as follows, objectproperty(object_id('dbo.item'), 'TableFulltextChangeTrackingOn') as tracks
select columnproperty(object_id('dbo.item'), 'name', 'IsFulltextIndexed') as name, columnproperty(object_id('dbo.item'), 'note', 'IsFulltextIndexed') as note,
    columnproperty(object_id('dbo.item'), 'doc', 'FullTextTypeColumn') as type_, columnproperty(object_id('dbo.item'), 'kind', 'IsTypeForFullTextBlob') as is_type,
    indexproperty(object_id('dbo.item'), 'uq_code', 'IsFulltextKey') as uq, indexproperty(object_id('dbo.item'), 'pk_item', 'IsFulltextKey') as pk
select fulltextcatalogproperty('fruit', 'ItemCount') as items, fulltextcatalogproperty('fruit', 'UniqueKeyCount') as words, fulltextcatalogproperty('fruit', 'PopulateStatus') as status,
    fulltextcatalogproperty('fruit', 'AccentSensitivity') as accents, fulltextcatalogproperty('nothing', 'ItemCount') as nothing, databasepropertyex('shop', 'IsFulltextEnabled') as db
GO
-- Changes wait until they are asked for.
insert dbo.item (id, code, name, two) values (3, 'c', N'plum', 3)
update dbo.item set name = N'quince' where id = 1
update dbo.item set n = 7
delete dbo.item where id = 2
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(name, N'plum or quince or apple')
select objectproperty(object_id('dbo.item'), 'TableFulltextPendingChanges') as pending
alter fulltext index on dbo.item start update population
select population_type_description, status_description from sys.dm_fts_index_population
exec sys.sp_keel_fulltext_wait
select id, name from dbo.item where contains(name, N'plum or quince or apple') order by id
select objectproperty(object_id('dbo.item'), 'TableFulltextPendingChanges') as pending, fulltextcatalogproperty('fruit', 'ItemCount') as items
GO
-- The columns and the key that it uses stay.
alter table dbo.item drop column name
GO
alter table dbo.item alter column kind varchar(20)
GO
alter table dbo.item drop constraint uq_code
GO
create table dbo.item2 (id int not null primary key)
alter table dbo.item switch to dbo.item2
GO
drop fulltext catalog fruit
GO
-- Changes of the index.
alter fulltext index on dbo.item add (note) with no population
GO
alter fulltext index on dbo.item add (note language 0)
alter fulltext index on dbo.item drop (doc, x)
alter fulltext index on dbo.item pause population
alter fulltext index on dbo.item pause population
alter fulltext index on dbo.item start full population
select fulltextcatalogproperty('fruit', 'PopulateStatus') as paused
exec sys.sp_keel_fulltext_wait
select fulltextcatalogproperty('fruit', 'ItemCount') as none
alter fulltext index on dbo.item resume population
alter fulltext index on dbo.item resume population
exec sys.sp_keel_fulltext_wait
select fulltextcatalogproperty('fruit', 'ItemCount') as all_, fulltextcatalogproperty('fruit', 'PopulateStatus') as idle
alter fulltext index on dbo.item start incremental population
alter fulltext index on dbo.item stop population
select fulltextcatalogproperty('fruit', 'PopulateStatus') as stopped, fulltextcatalogproperty('fruit', 'ItemCount') as none
alter fulltext index on dbo.item drop (nothing)
GO
alter fulltext index on dbo.item drop (x)
GO
alter fulltext index on dbo.item2 enable
GO
alter fulltext index on dbo.item disable
select id from dbo.item where contains(name, N'plum')
GO
alter fulltext index on dbo.item start full population
GO
alter fulltext index on dbo.item enable
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(name, N'plum')
alter fulltext index on dbo.item set change_tracking off
alter fulltext index on dbo.item start update population
GO
insert dbo.item (id, code, name, two) values (4, 'd', N'fig', 4)
alter fulltext index on dbo.item set change_tracking = auto
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(name, N'fig')
alter fulltext index on dbo.item stop population
GO
-- Stop lists.
create fulltext stoplist mine
create fulltext stoplist system_ from system stoplist
alter fulltext stoplist mine add N'Fig' language 1031
alter fulltext stoplist mine add N'plum' language N'English'
GO
alter fulltext stoplist mine add N'fig' language 1031
GO
alter fulltext stoplist mine drop N'pear' language 1031
GO
create fulltext stoplist mine
GO
alter fulltext stoplist nothing add 'x' language 0
GO
select stoplist_id, name from sys.fulltext_stoplists
select * from sys.fulltext_stopwords where stoplist_id = 5
select count(*) as same from sys.fulltext_stopwords w join sys.fulltext_system_stopwords s on s.stopword = w.stopword and s.language_id = w.language_id where stoplist_id = 6 and w.language_id = 1033 having count(*) > 150
alter fulltext index on dbo.item set stoplist = mine
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(name, N'fig or quince or plum') order by id
drop fulltext stoplist mine
GO
alter fulltext stoplist mine drop all language 1031
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(name, N'fig or quince or plum') order by id
alter fulltext index on dbo.item set stoplist off
drop fulltext stoplist mine
create fulltext stoplist again from system_
select count(*) as n from sys.fulltext_stoplists
GO
-- What is in an index, and how a condition is read.
exec sys.sp_keel_fulltext_wait
select display_term, column_id, document_count from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item'))
select keyword, display_term, column_id, occurrence_count from sys.dm_fts_index_keywords_by_document(db_id(), object_id('dbo.item')) where display_term = 'fig'
select group_id, occurrence, special_term, display_term, expansion_type, source_term from sys.dm_fts_parser(N'"The running man" and formsof(inflectional, houses)', 1033, 0, 0)
select * from sys.dm_fts_index_keywords(null, null)
GO
select * from sys.dm_fts_index_keywords(db_id(), object_id('dbo.item2'))
GO
select lcid, name from sys.fulltext_languages where lcid in (0, 1031, 1033, 2057)
select document_type from sys.fulltext_document_types where document_type like '.h%'
GO
-- The column of the key is never NULL, and nobody sees another value of it.
create table dbo.keyed (id int not null, k varchar(10) not null, hidden int masked with (function = 'default()') not null, t varchar(20))
create unique index uq_k on dbo.keyed (k)
create unique index uq_hidden on dbo.keyed (hidden)
create fulltext index on dbo.keyed (t) key index uq_hidden
GO
create fulltext index on dbo.keyed (t) key index uq_k
alter table dbo.keyed alter column k varchar(10) null
GO
alter table dbo.keyed alter column k varchar(10)
GO
alter table dbo.keyed alter column k varchar(20) not null
drop table dbo.keyed
GO
-- The table is emptied, the index is dropped.
truncate table dbo.item
select fulltextcatalogproperty('fruit', 'ItemCount') as none
alter fulltext catalog fruit rebuild with accent_sensitivity = on
alter fulltext catalog fruit reorganize
exec sys.sp_keel_fulltext_wait
drop fulltext index on dbo.item
drop fulltext index on dbo.item
GO
alter table dbo.item drop constraint uq_code
drop fulltext catalog fruit
select name from sys.fulltext_catalogs
GO
-- The old procedures.
exec sp_fulltext_database 'enable'
exec sp_fulltext_catalog 'old', 'create'
exec sp_fulltext_table 'dbo.item', 'create', 'old', 'pk_item'
exec sp_fulltext_column 'dbo.item', 'name', 'add', 1033
exec sp_fulltext_table 'dbo.item', 'start_full'
exec sys.sp_keel_fulltext_wait
exec sp_help_fulltext_tables
exec sp_help_fulltext_columns 'dbo.item'
exec sp_help_fulltext_catalogs 'old'
exec sp_fulltext_catalog 'old', 'start_incremental'
exec sp_fulltext_catalog 'old', 'twist'
GO
exec sp_fulltext_table 'dbo.item', 'drop'
exec sp_fulltext_catalog 'old', 'drop'
select name from sys.fulltext_catalogs
GO
use master
drop database shop
