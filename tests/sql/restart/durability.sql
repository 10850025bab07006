-- What was acknowledged is there after a power cut, and nothing else.
create database d
GO
use d
create table t (id int identity primary key, v varchar(20) default 'x')
create index ix on t (v)
insert t (v) values ('one'), ('two')
GO
begin tran
insert t (v) values ('never')
-- restart:
use d
select * from t order by id
insert t default values
select id, v from t where v = 'x'
GO
checkpoint
update t set v = 'changed' where id = 1
delete t where id = 2
-- restart:
use d
select * from t order by id
select v from t with (index (ix)) where v = 'changed'
GO
create procedure p as select count(*) as n from t
GO
alter table t add w int not null default 3
-- restart:
use d
exec p
select top (1) * from t order by id
drop table t
-- restart:
use d
exec p
