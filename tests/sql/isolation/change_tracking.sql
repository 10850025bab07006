-- Versions are in the order of commits: who has seen a version has seen all changes up to it.
create database ct
GO
alter database ct set change_tracking = on
alter database ct set allow_snapshot_isolation on
GO
use ct
create table t (id int primary key, a int)
alter table t enable change_tracking
insert t values (1, 0), (2, 0), (3, 0)
GO
-- session a:
use ct
begin transaction
update t set a = 1 where id = 1
GO
-- session b:
use ct
update t set a = 1 where id = 2
select change_tracking_current_version() as seen
select id, sys_change_version from changetable(changes t, 1) as c
GO
-- session a:
commit
GO
-- session b:
select id, sys_change_version from changetable(changes t, 2) as c
GO
-- What is asked for in a snapshot is of that snapshot, the current version too.
-- session b:
set transaction isolation level snapshot
begin transaction
select change_tracking_current_version() as v, change_tracking_min_valid_version(object_id('t')) as least
GO
-- session a:
update t set a = 2 where id = 3
select change_tracking_current_version() as v
GO
-- session b:
select change_tracking_current_version() as v
select id, sys_change_version from changetable(changes t, 2) as c
select sys_change_version from changetable(version t, (id), (3)) as c
commit
select change_tracking_current_version() as v
select id, sys_change_version from changetable(changes t, 3) as c
GO
-- Under locks too nobody waits for changes that are not committed.
-- session a:
begin transaction
update t set a = 3 where id = 1
GO
-- session b:
set transaction isolation level serializable
begin transaction
select id, sys_change_version from changetable(changes t, 3) as c
select change_tracking_current_version() as v
GO
-- session a:
commit
GO
-- session b:
insert t values (9, 9)
commit
select id, sys_change_version from changetable(changes t, 4) as c
GO
-- Tracking begins when those who change the table have ended.
-- session a:
create table u (id int primary key)
begin transaction
insert u values (1)
-- session b waits:
alter table u enable change_tracking
-- session a:
commit
-- session b resumes:
-- session a:
insert u values (2)
select id from changetable(changes u, 0) as c
GO
-- session b:
use master
GO
-- session a:
use master
drop database ct
GO
