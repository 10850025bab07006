create table t (a int primary key, b int default 5)
GO
create view v as select a, b * 10 as tens from t
GO
create trigger v_ins on v instead of insert, update, delete as
begin
    set nocount on
    if not exists (select * from deleted) insert t select a, tens / 10 from inserted
    else if not exists (select * from inserted) delete t where a in (select a from deleted)
    else update t set b = i.tens / 10 from t join inserted i on i.a = t.a
end
GO
insert v (a, tens) values (1, 100), (2, 200)
insert v select 3, 300
update v set tens = tens + 10 where a < 3
delete from v where a = 3
select * from t order by a
GO
create trigger t_ins on t instead of insert as insert t (a, b) select a + 100, b from inserted
GO
insert t (a) values (7)
select * from t order by a
GO
-- USE inside a batch
create database other
GO
use other create table only_here (x int) insert only_here values (1) select x from only_here use master
select x from only_here
GO
use other
drop table only_here
use master
drop database other
