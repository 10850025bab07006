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
