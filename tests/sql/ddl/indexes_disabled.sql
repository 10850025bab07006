-- The index that rows are kept in is the one that says CLUSTERED, wherever it stands; else that of the primary key.
create table later (a int not null primary key, b int not null unique clustered)
create table at_the_end (a int not null, b int not null, primary key (a), unique clustered (b))
create table beside (a int not null primary key, b int not null, index by_b clustered (b))
select object_name(object_id) as [table], index_id, type_desc, is_primary_key from sys.indexes
where object_id in (object_id('later'), object_id('at_the_end'), object_id('beside')) order by object_id, index_id
GO
create table two (a int not null primary key clustered, b int not null unique clustered)
GO
create table two (a int not null primary key clustered, b int not null, index by_b clustered (b))
GO
drop table later, at_the_end, beside
GO
-- A foreign key rests on a whole unique index, not on a filtered one that is older.
create table parent (id int not null constraint pk_parent primary key, code int not null, label varchar(10))
create unique index some_codes on parent (code) where label = 'x'
alter table parent add constraint uq_code unique (code)
create index by_label on parent (label)
create table child (id int not null primary key, parent int constraint fk_parent references parent (id), code int constraint fk_code references parent (code))
insert parent values (1, 10, 'a'), (2, 20, 'x')
insert child values (1, 1, 10), (2, 2, 20)
GO
update parent set code = 11 where id = 1
GO
-- What goes out of use with an index.
alter index by_label on parent disable
select label from parent with (index (by_label))
GO
insert parent values (3, 30, 'c')
select id from parent where label = 'c'
alter index uq_code on parent disable
GO
select name, is_disabled from sys.foreign_keys where parent_object_id = object_id('child') order by name
insert child values (3, 3, 99)
GO
alter index uq_code on parent rebuild
GO
alter table child with check check constraint fk_code
GO
delete child where id = 3
alter table child with check check constraint fk_code
alter index by_label on parent rebuild
GO
alter index pk_parent on parent disable
GO
select name, is_disabled from sys.indexes where object_id = object_id('parent') order by index_id
select name, is_disabled from sys.foreign_keys where parent_object_id = object_id('child') order by name
GO
select count(*) from parent
GO
insert parent values (4, 40, 'd')
GO
delete parent
GO
alter index all on parent rebuild
GO
select name, is_disabled from sys.indexes where object_id = object_id('parent') order by index_id
select * from parent order by id
GO
alter table child with check check constraint all
GO
insert child values (4, 4, 10)
GO
-- A heap has no index that could be disabled.
create table heap (a int, b int)
create index by_b on heap (b)
insert heap values (1, 2)
alter index all on heap disable
select a, b from heap
select index_id, is_disabled from sys.indexes where object_id = object_id('heap') order by index_id
GO
-- Duplicates are ignored from now on.
create table keys (k int not null)
create unique index by_k on keys (k)
insert keys values (1)
GO
alter index by_k on keys set (ignore_dup_key = on)
insert keys values (1), (2)
select k from keys
alter index by_k on keys set (ignore_dup_key = off)
insert keys values (1)
GO
alter index uq_code on parent set (ignore_dup_key = on)
GO
