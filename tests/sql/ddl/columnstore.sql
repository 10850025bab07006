-- columnstore indexes are kept in the catalog and hold no rows
create table facts (day int not null, shop int not null, amount money not null)
insert facts values (1, 1, 10), (1, 2, 20), (2, 1, 30)
create clustered columnstore index cci on facts with (maxdop = 1)
GO
select name, index_id, type, type_desc, is_unique from sys.indexes where object_id = object_id('facts') order by index_id
select col_name(object_id, column_id) as name, index_column_id, key_ordinal, is_included_column from sys.index_columns where object_id = object_id('facts') and index_id = 1 order by 2
GO
select shop, sum(amount) as amount from facts group by shop order by shop
alter index cci on facts rebuild
alter index all on facts reorganize
GO
create nonclustered columnstore index ncci on facts (day)
GO
drop index cci on facts
create nonclustered columnstore index ncci on facts (day, amount) where shop = 1
create index by_shop on facts (shop)
select name, index_id, type_desc, has_filter, filter_definition from sys.indexes where object_id = object_id('facts') order by index_id
GO
create nonclustered columnstore index by_shop on facts (day)
GO
alter table facts drop column amount
GO
create clustered index ci on facts (day)
create table keyed (a int constraint pk_keyed primary key, b int, index ncc nonclustered columnstore (b))
select name, index_id, type_desc from sys.indexes where object_id = object_id('keyed') order by index_id
GO
create clustered columnstore index cci on keyed
GO
drop index if exists ncc on keyed
drop index if exists ncc on keyed
select count(*) from sys.indexes where object_id = object_id('keyed')
GO
-- a nonclustered one keeps the order of its columns
create table reversed (a int, b int, c int)
create nonclustered columnstore index reversed_cs on reversed (c, a)
select ic.index_column_id, col_name(ic.object_id, ic.column_id) as name, ic.is_included_column from sys.index_columns ic where object_id = object_id('reversed')
drop table reversed
GO
