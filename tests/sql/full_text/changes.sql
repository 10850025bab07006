-- Full-text search follows its table: every way in which rows come, change and go.
create database shop
GO
use shop
create table dbo.shelf (s int not null primary key)
create table dbo.item (id varchar(10) not null constraint pk_item primary key, s int null references dbo.shelf on delete cascade, t nvarchar(100) null, n int, v rowversion)
create unique nonclustered index k on dbo.item (id desc)
insert dbo.shelf values (1), (2)
insert dbo.item (id, s, t, n) values ('a', 1, N'first apple', 0), ('b', 2, N'second apple', 0)
create fulltext catalog c as default
create fulltext index on dbo.item (t) key index k
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, N'apple') order by id
GO
-- Nothing is found before it is indexed, and nothing is lost; what is rolled back is not there.
begin transaction
insert dbo.item (id, s, t, n) values ('c', 1, N'third apple', 0)
update dbo.item set t = N'no fruit' where id = 'a'
select id from dbo.item where contains(t, N'apple') order by id
commit
begin transaction
insert dbo.item (id, s, t, n) values ('d', 1, N'fourth apple', 0)
rollback
select objectproperty(object_id('dbo.item'), 'TableFulltextPendingChanges') as pending, fulltextcatalogproperty('c', 'PopulateStatus') as status
select population_type_description as kind from sys.dm_fts_index_population
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, N'apple') order by id
select objectproperty(object_id('dbo.item'), 'TableFulltextPendingChanges') as pending, fulltextcatalogproperty('c', 'PopulateStatus') as status
GO
-- Keys change, rows change places.
update dbo.item set id = case id when 'b' then 'c' when 'c' then 'b' else id end
update dbo.item set id = 'z', t = N'last apple' where id = 'a'
exec sys.sp_keel_fulltext_wait
select id, t from dbo.item where contains(t, N'apple') order by id
select id from dbo.item where contains(t, N'second') order by id
-- What is not searched changes nothing.
update dbo.item set n = n + 1
select objectproperty(object_id('dbo.item'), 'TableFulltextPendingChanges') as pending
GO
-- By MERGE, by cascade, by an INSERT of a query, by SELECT … INTO in another table.
merge dbo.item i using (values ('b', N'merged pear'), ('m', N'new pear')) s(id, t) on s.id = i.id
    when matched then update set t = s.t when not matched then insert (id, s, t) values (s.id, 1, s.t);
insert dbo.item (id, s, t) select 'q' + id, s, N'copied ' + t from dbo.item where contains(t, N'apple')
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, N'pear') order by id
select id from dbo.item where contains(t, N'"copied*"') order by id
delete dbo.shelf where s = 1
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, N'pear or apple') order by id
select fulltextcatalogproperty('c', 'ItemCount') as items, (select count(*) from dbo.item) as rows_
GO
-- Incremental: without tracking, by the table's rowversion.
alter fulltext index on dbo.item set change_tracking off
insert dbo.item (id, t) values ('n1', N'untracked plum'), ('n2', N'other plum')
exec sys.sp_keel_fulltext_wait
select count(*) as none from containstable(dbo.item, t, N'plum')
alter fulltext index on dbo.item start incremental population
select population_type_description as kind from sys.dm_fts_index_population
exec sys.sp_keel_fulltext_wait
select id from dbo.item where contains(t, N'plum') order by id
delete dbo.item where id = 'n1'
-- The index has it still; the join with the table does not.
select count(*) as stale from containstable(dbo.item, t, N'plum')
select id from dbo.item where contains(t, N'plum') order by id
alter fulltext index on dbo.item start incremental population
exec sys.sp_keel_fulltext_wait
select count(*) as n from containstable(dbo.item, t, N'plum')
select crawl_type_desc, has_crawl_completed from sys.fulltext_indexes
GO
-- What nobody tracks is not read anew when the index is enabled again.
alter fulltext index on dbo.item disable
alter fulltext index on dbo.item enable
select is_enabled, (select count(*) from containstable(dbo.item, t, N'plum')) as n, fulltextcatalogproperty('c', 'PopulateStatus') as status from sys.fulltext_indexes
GO
-- Many rows: several transactions, the words of all.
create table dbo.many (id int not null constraint pk_many primary key, t varchar(100))
insert dbo.many select value, 'row ' + convert(varchar(10), value) + ' common ' + case when value % 1000 = 0 then 'rare' else '' end from generate_series(1, 9000)
create fulltext index on dbo.many (t) key index pk_many
exec sys.sp_keel_fulltext_wait
select count(*) as n from dbo.many where contains(t, N'common')
select id from dbo.many where contains(t, N'rare and not ("1*" or "2*")') order by id
update dbo.many set t = t + ' tail' where id > 8990
delete dbo.many where id % 2 = 0
exec sys.sp_keel_fulltext_wait
alter fulltext catalog c reorganize
select fulltextcatalogproperty('c', 'MergeStatus') as merging
exec sys.sp_keel_fulltext_wait
select fulltextcatalogproperty('c', 'MergeStatus') as merging, objectproperty(object_id('dbo.many'), 'TableFulltextItemCount') as items
select count(*) as n from dbo.many where contains(t, N'common')
select id from dbo.many where contains(t, N'tail and not 8993') order by id
select display_term, document_count from sys.dm_fts_index_keywords(db_id(), object_id('dbo.many')) where display_term in ('common', 'rare', 'tail', 'row')
dbcc checkdb with no_infomsgs
GO
-- Rows that go by partitions; rows that change places in the middle of a population.
create partition function halves (int) as range right for values (100)
create partition scheme halves as partition halves all to ([primary])
create table dbo.part (id int not null, t varchar(30), constraint pk_part primary key (id) on halves (id)) on halves (id)
insert dbo.part values (1, 'low word'), (200, 'high word')
create fulltext index on dbo.part (t) key index pk_part
exec sys.sp_keel_fulltext_wait
truncate table dbo.part with (partitions (1))
exec sys.sp_keel_fulltext_wait
select [key] from containstable(dbo.part, t, 'word')
create table dbo.heap (id int not null constraint pk_heap primary key nonclustered, t varchar(30))
insert dbo.heap select value, 'word ' + convert(varchar(10), 10000 - value) from generate_series(1, 6000)
create fulltext index on dbo.heap (t) key index pk_heap
alter fulltext index on dbo.heap pause population
create clustered index t on dbo.heap (t)
alter fulltext index on dbo.heap resume population
exec sys.sp_keel_fulltext_wait
select count(*) as n from dbo.heap where contains(t, 'word')
select id from dbo.heap where contains(t, '9999')
alter index pk_heap on dbo.heap rebuild
select id from dbo.heap where contains(t, '9999')
create unique index pk_heap on dbo.heap (id) with (drop_existing = on)
GO
-- Columns that were added since the rows were stored.
alter table dbo.part add u varchar(30) not null default 'filled in'
alter fulltext index on dbo.part add (u)
exec sys.sp_keel_fulltext_wait
select id from dbo.part where contains(u, 'filled')
GO
-- An indexed view follows its tables, and its index follows the view.
create table dbo.note (id int not null primary key, item int not null, t varchar(50))
insert dbo.note values (1, 1, 'red apple'), (2, 2, 'green pear')
GO
create view dbo.colours with schemabinding as select n.id, n.t + ' of part ' + p.t as t from dbo.note n join dbo.part p on p.id = n.item + 198
GO
create unique clustered index pk_colours on dbo.colours (id)
create fulltext index on dbo.colours (t) key index pk_colours
exec sys.sp_keel_fulltext_wait
select id from dbo.colours where contains(t, 'pear') order by id
update dbo.note set t = 'blue pear' where id = 2
insert dbo.note values (3, 2, 'black pear')
update dbo.part set t = 'tall' where id = 200
exec sys.sp_keel_fulltext_wait
select id from dbo.colours where contains(t, 'pear and tall and not green') order by id
select [key] from containstable(dbo.colours, t, 'black or blue') order by 1
delete dbo.note where id = 3
exec sys.sp_keel_fulltext_wait
select [key] from containstable(dbo.colours, *, 'black or blue') order by 1
select objectproperty(object_id('dbo.colours'), 'TableFulltextItemCount') as items
drop index pk_colours on dbo.colours
select object_name(object_id) as t from sys.fulltext_indexes order by 1
GO
use master
drop database shop
