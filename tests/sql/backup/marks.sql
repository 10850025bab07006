-- Marked transactions: two databases are brought to the same one, or to just before it.
create database orders
create database stock
GO
create table orders.dbo.t (n int primary key)
create table stock.dbo.t (n int primary key)
backup database orders to disk = 'orders.bak' with init
backup database stock to disk = 'stock.bak' with init
insert orders.dbo.t values (1)
insert stock.dbo.t values (1)
GO
begin tran release with mark 'release 7'
insert orders.dbo.t values (2)
insert stock.dbo.t values (2)
begin tran inner_one with mark 'is not taken'
commit
commit
GO
-- Nothing written, no mark; rolled back, no mark.
begin tran idle with mark
commit
begin tran undone with mark
insert orders.dbo.t values (99)
rollback
declare @name varchar(20) = 'release'
begin tran @name with mark
insert orders.dbo.t values (3)
commit tran @name
insert orders.dbo.t values (4)
insert stock.dbo.t values (4)
backup log orders to disk = 'orders.trn' with init
backup log stock to disk = 'stock.trn' with init
select database_name, mark_name, description, user_name, has_lsn = iif(lsn > 0, 1, 0), recent = iif(datediff(minute, mark_time, getdate()) < 5, 1, 0)
from msdb.dbo.logmarkhistory
GO
begin tran with mark
GO
restore database orders2 from disk = 'orders.bak' with norecovery
restore database stock2 from disk = 'stock.bak' with norecovery
restore log orders2 from disk = 'orders.trn' with stopatmark = 'release', norecovery
restore log stock2 from disk = 'stock.trn' with stopatmark = 'release'
restore database orders2
select n from orders2.dbo.t
select n from stock2.dbo.t
GO
restore database orders2 from disk = 'orders.bak' with norecovery, replace
restore log orders2 from disk = 'orders.trn' with stopbeforemark = 'release'
select n from orders2.dbo.t
GO
-- The second of that name, by its time.
declare @after datetime = (select max(mark_time) from msdb.dbo.logmarkhistory)
restore database orders2 from disk = 'orders.bak' with norecovery, replace
restore log orders2 from disk = 'orders.trn' with stopatmark = 'release' after @after
select n from orders2.dbo.t
GO
-- By the position of its commit, as it stands in the history.
declare @lsn varchar(40) = (select 'lsn:' + cast(min(lsn) as varchar(30)) from msdb.dbo.logmarkhistory where database_name = 'orders')
restore database orders2 from disk = 'orders.bak' with norecovery, replace
restore log orders2 from disk = 'orders.trn' with stopbeforemark = @lsn, standby = 'x.tuf'
select n from orders2.dbo.t
restore log orders2 from disk = 'orders.trn' with stopatmark = @lsn, standby = 'x.tuf'
select n from orders2.dbo.t
restore log orders2 from disk = 'orders.trn' with stopbeforemark = 'release'
GO
restore log orders2 from disk = 'orders.trn' with stopatmark = 'lsn:17'
GO
-- Not in this one: the next may have it.
restore log orders2 from disk = 'orders.trn' with stopatmark = 'later'
select state_desc, is_in_standby from sys.databases where name = 'orders2'
begin tran later with mark N'späte Änderung'
insert orders.dbo.t values (5)
commit
insert orders.dbo.t values (6)
backup log orders to disk = 'orders.trn'
restore log orders2 from disk = 'orders.trn' with file = 2, stopatmark = 'later'
select n from orders2.dbo.t
select restore_type, stop_at_mark_name = iif(stop_at_mark_name like 'lsn:%', 'lsn:…', stop_at_mark_name), stop_before
from msdb.dbo.restorehistory where stop_at_mark_name is not null order by restore_history_id
select description from msdb.dbo.logmarkhistory where mark_name = 'later'
