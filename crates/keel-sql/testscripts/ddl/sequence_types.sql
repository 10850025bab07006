-- A sequence counts within its type, and says so when it is made.
create sequence s1 as tinyint start with 250 maxvalue 300
GO
create sequence s2 as tinyint start with 256
GO
create sequence s3 as smallint increment by 40000
GO
create sequence s4 as decimal(5,2)
GO
create sequence s5 as varchar(10)
GO
create sequence s6 as decimal(3,0) start with 998
GO
select next value for s6 as a
select next value for s6 as b
GO
select next value for s6 as c
GO
create sequence s7 as tinyint start with 2 increment by -1
GO
alter sequence s7 restart with 300
GO
alter sequence s7 maxvalue 100 restart with 200
GO
select next value for s7 as a
select next value for s7 as b
select next value for s7 as c
GO
select next value for s7 as d
GO
select name, convert(varchar(30), minimum_value) as minimum, convert(varchar(30), maximum_value) as maximum from sys.sequences order by name
GO
-- What it gives is of its type.
create sequence s8 as int start with 1
create table t8 (id smallint default next value for s8, n int)
GO
select sql_variant_property(next value for s8, 'BaseType') as a, sql_variant_property(next value for s6, 'BaseType') as b
GO
alter sequence s6 restart with 7
GO
select convert(sql_variant, next value for s6) as c, sql_variant_property(next value for s8, 'BaseType') as d
insert t8 (n) values (1), (2)
select * from t8
declare @i int = next value for s8
select @i as i, next value for s8 + 1 as j
GO
