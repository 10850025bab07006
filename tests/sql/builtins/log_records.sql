-- The active part of the log, as scripts read it.
create database shop
GO
use shop
create table t (id int primary key, a int)
create index by_a on t (a)
checkpoint
GO
insert t values (1, 10), (2, 20)
update t set a = 11 where id = 1
delete t where id = 2
begin tran named with mark 'why'
insert t values (3, 30)
commit
begin tran
insert t values (4, 40)
rollback
select Operation, Context, AllocUnitName, count(*) as n from sys.fn_dblog(null, null) where AllocUnitName like 'dbo.%' group by Operation, Context, AllocUnitName
  order by 3, 1
select sum(case Operation when 'LOP_BEGIN_XACT' then 1 else 0 end) - sum(case Operation when 'LOP_COMMIT_XACT' then 1 else 0 end) as open_ones
from fn_dblog(null, null)
select count(*) as marked from fn_dblog(null, null) where [Transaction Name] = 'named'
select case when min(len([Current LSN])) = 22 and max(len([Current LSN])) = 22 then 'as they are' end as lsns,
  case when count(*) = count(distinct [Current LSN]) then 'each its own' end as positions,
  case when min([Log Record Length]) > 0 then 'some bytes' end as lengths from fn_dblog(null, null)
select count(*) as timed from fn_dblog(null, null) where Operation = 'LOP_COMMIT_XACT' and isdate(left([End Time], 10)) = 0
select case when count(*) > 0 then 'contents' end as c from fn_dblog(null, null) where Operation = 'LOP_INSERT_ROWS' and AllocUnitName = 'dbo.t' + (select '.' + name from sys.indexes where object_id = object_id('t') and index_id = 1)
  and [RowLog Contents 0] is not null and [RowLog Contents 1] is not null
GO
drop table t
select count(*) as dropped from fn_dblog(null, null) where [Transaction Name] = 'DROPOBJ'
declare @from nvarchar(46) = (select max([Current LSN]) from fn_dblog(null, null))
select count(*) as last_one from fn_dblog(@from, null)
select count(*) as none_after from fn_dblog(@from, '00000000:00000000:0000')
select count(*) as of_tempdb from tempdb.sys.fn_dblog(null, null)
GO
create user reader without login
execute as user = 'reader'
GO
select count(*) as n from fn_dblog(null, null)
GO
revert
GO
