-- Of what is no digit, only blanks may stand around numbers.
select v as [char], try_cast(char(v) + '1' as int) as i, try_cast('1' + char(v) as bigint) as b, try_cast(char(v) + '1.5' as decimal(5, 1)) as d, try_cast('1.5' + char(v) as float) as f,
    try_cast('1' + char(v) as bit) as bt, try_cast(char(v) + '1.5' as money) as m
from (values (9), (10), (13), (32)) as v (v)
select cast('12' + char(13) as int)
GO
-- Names of transactions and savepoints tell upper from lower case.
create table t (a int)
begin tran Outer1
insert t values (1)
save tran Here
insert t values (2)
rollback tran here
rollback tran OUTER1
select @@trancount as open_still, count(*) as n from t
rollback tran Here
select @@trancount as open_still, count(*) as n from t
rollback tran Outer1
select @@trancount as open_still, count(*) as n from t
GO
drop index ix
GO
drop index if exists ix
GO
drop index a, b
GO
drop table t
GO
-- sp_executesql takes Unicode.
exec sp_executesql 'select 1'
GO
declare @s varchar(20) = 'select 1'
exec sp_executesql @s
GO
exec sp_executesql N'select @a as a', '@a int', 1
GO
exec sp_executesql null
GO
exec sp_executesql 1
GO
declare @n nvarchar(20), @c nchar(10) = N'select 1'
exec sp_executesql @n
exec sp_executesql @c
exec sp_executesql N'select 2', null
exec sp_executesql @stmt = N'select @a as a', @params = N'@a int', @a = 3
GO
