-- Versions and changes are there after a power cut, those of transactions that did not commit are not.
create database ct
GO
alter database ct set change_tracking = on
GO
use ct
create table t (id int primary key, a int)
alter table t enable change_tracking with (track_columns_updated = on)
insert t values (1, 1), (2, 2)
update t set a = 3 where id = 1
GO
begin tran
update t set a = 4 where id = 2
-- restart:
use ct
select change_tracking_current_version() as v, change_tracking_min_valid_version(object_id('t')) as least
select id, sys_change_version, sys_change_operation from changetable(changes t, 1) as c
update t set a = 5 where id = 2
select id, sys_change_version, sys_change_operation from changetable(changes t, 2) as c
GO
checkpoint
truncate table t
insert t values (7, 7)
-- restart:
use ct
select change_tracking_current_version() as v, change_tracking_min_valid_version(object_id('t')) as least
select id, sys_change_version, sys_change_operation from changetable(changes t, 0) as c
insert t values (8, 8)
select change_tracking_current_version() as v
select is_track_columns_updated_on, min_valid_version, begin_version from sys.change_tracking_tables
GO
