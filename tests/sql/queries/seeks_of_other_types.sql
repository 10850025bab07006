-- FORCESEEK with IN over values of another type: they are converted to the column's type and each is looked for once.
create table item (id bigint primary key, code varchar(20) not null, n int)
create index by_code on item (code)
insert item select value, concat('c', value), value % 7 from generate_series(1, 2000)
update statistics item
create table wanted (w nvarchar(20), i int)
insert wanted values (N'7', 7), (N'007', 7), (N' 12 ', 12), (NULL, NULL), (N'99999', 99999), (N'7', 7)
GO
select id, n from item with (forceseek) where id in (select w from wanted)
select id, n from item with (forceseek) where exists (select * from wanted where w = id and i > 8)
declare @w nvarchar(20) = N'15'
select id, n from item with (forceseek) where id in (select @w)
select id, n from item with (forceseek) where id in (select value from string_split(N'3,4,03', N','))
GO
-- A value that is no number.
insert wanted values (N'x', 1)
select id from item with (forceseek) where id in (select w from wanted)
GO
-- The column would be converted, and no index serves it.
select id from item with (forceseek) where code in (select i from wanted)
GO
drop table item, wanted
