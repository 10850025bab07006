-- The rows of a VALUES list take their common type first, as those of UNION ALL do, and the columns' types behind that.
create table t (id int identity, n nvarchar(12) null, d decimal(9, 2) null, v sql_variant null)
insert t (n) values (3.1415), (-32), (null)
insert t (n) values (1), ('2'), (N'3')
select n from t order by id
GO
insert t (n) values (10), (N'ten')
GO
insert t (n, d) values ('a', '1.5'), ('b', 2)
GO
insert t (n, d) values ('a', '15'), ('b', 2.25)
insert t (v) values (1), (2.5)
select n, d, v, sql_variant_property(v, 'BaseType') as base, sql_variant_property(v, 'Scale') as scale from t where id > 6 order by id
GO
-- Dates and numbers have nothing in common.
insert t (n) values (cast('2024-01-02' as date)), (1)
GO
-- NULL and DEFAULT have no type of their own.
create table u (id int not null default 7, name varchar(10) null default 'none')
insert u values (1, null), (default, default), (3, 'three')
insert u (name) values (null), (null)
select * from u order by id, name
GO
