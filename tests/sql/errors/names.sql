-- What does not exist, and where the error points.
select * from nope
GO
select 1

select nope from sys.objects
GO
select a
from (select 1 as b) t
GO
exec nope.dbo.p
GO
select dbo.nope(1)
GO
select nope(1)
GO
insert nope values (1)
GO
drop procedure nope
GO
select * from nodb.dbo.t
GO
use nodb
GO
select * from t1, t1
GO
select a.x from (select 1 as x) a, (select 2 as x) a
GO
select x from (select 1 as x) a, (select 2 as x) b
GO
select count(*) from (select 1 as a, 2 as a) t
GO
select * from (select 1) t
GO
select 1 as a order by b
GO
select substring('a')
GO
select getdate(1)
GO
-- Deferred name resolution: the procedure is made, the call fails.
create procedure late as select * from not_yet
GO
exec late
GO
create table not_yet (a int)
insert not_yet values (1)
exec late
drop table not_yet
drop procedure late
-- What has no history has none to ask for.
create table plain (a int)
GO
select * from plain for system_time as of '2020-01-01'
GO
select * from nothing for system_time all
GO
create index ix on missing (a)
GO
drop table plain
exec sp_helprole 'db_owner'
exec sp_helprolemember 'db_owner'
GO
