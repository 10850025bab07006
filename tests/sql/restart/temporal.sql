-- History rows are ordinary rows: what was acknowledged is there after a power cut.
create database d
GO
use d
create table t (id int primary key, a int, f datetime2 generated always as row start hidden, e datetime2 generated always as row end hidden, period for system_time (f, e))
    with (system_versioning = on (history_table = dbo.h))
insert t (id, a) values (1, 1), (2, 2)
update t set a = a + 10
delete t where id = 2
GO
begin tran
update t set a = 0
-- restart:
use d
select * from t
select id, a from h order by id, a
select id, a from t for system_time all order by id, a
GO
checkpoint
update t set a = 12
-- restart:
use d
update t set a = 13
select id, a from t for system_time all order by id, a
select name, temporal_type_desc from sys.tables order by name
GO
drop table t
GO
