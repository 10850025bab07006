-- Full-text search: after a power cut the index is what was committed, and a population goes on where it was.
create database shop
GO
use shop
create table dbo.item (id int not null constraint pk_item primary key, t varchar(100))
insert dbo.item select value, 'row ' + convert(varchar(10), value) from generate_series(1, 5000)
create fulltext catalog c as default
create fulltext index on dbo.item (t) key index pk_item
exec sys.sp_keel_fulltext_wait
insert dbo.item values (6000, 'waiting row')
GO
begin transaction
insert dbo.item values (7000, 'lost row')
GO
-- restart:
use shop
select objectproperty(object_id('dbo.item'), 'TableFulltextItemCount') as items, objectproperty(object_id('dbo.item'), 'TableFulltextPendingChanges') as pending
select id from dbo.item where contains(t, 'row and ("49*" or 4)') and id < 100 order by id
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, 'waiting or lost')
alter fulltext index on dbo.item start full population
select population_type_description as kind from sys.dm_fts_index_population
GO
-- restart:
use shop
select population_type_description as kind from sys.dm_fts_index_population
exec sys.sp_keel_fulltext_wait
select count(*) as n from dbo.item where contains(t, 'row')
checkpoint
insert dbo.item values (8000, 'new row')
exec sys.sp_keel_fulltext_wait
GO
-- restart:
use shop
select count(*) as n from dbo.item where contains(t, 'row')
select name, is_default from sys.fulltext_catalogs
GO
