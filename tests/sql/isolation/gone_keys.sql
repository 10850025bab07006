-- Many keys are taken away while others come to refer to them, or no longer do.
create table parent (id int primary key, v int)
create table child (id int primary key, parent int references parent)
insert parent select value, 0 from generate_series(1, 20)
insert child values (1, 20), (2, 19)
GO
-- A child that has come, and is not committed: its parent is locked.
-- session a:
begin tran; insert child values (3, 7)
-- session b waits:
delete parent where id between 1 and 10
-- session a:
commit
-- session b resumes:
-- session a:
select count(*) as n from parent
GO
-- One that comes while the parents go.
-- session a:
begin tran; delete parent where id between 1 and 6
-- session b waits:
insert child values (4, 5)
-- session a:
commit
-- session b resumes:
GO
-- One that is about to go: it may come back.
-- session a:
begin tran; delete child where id = 3
-- session b waits:
delete parent where id between 7 and 12
-- session a:
rollback
-- session b resumes:
-- session a:
begin tran; delete child where id = 3
-- session b waits:
delete parent where id between 7 and 12
-- session a:
commit
-- session b resumes:
-- session b:
select count(*) as n from parent; select id, parent from child order by id
GO
-- One that leaves for another parent.
-- session a:
begin tran; update child set parent = 18 where id = 2
-- session b waits:
delete parent where id in (13, 14, 15, 16, 19)
-- session a:
commit
-- session b resumes:
-- session b:
select id from parent order by id; select id, parent from child order by id
GO
-- Under SNAPSHOT the newest rows count, too.
-- session a:
set transaction isolation level snapshot; begin tran; select count(*) as n from child
-- session b:
insert child values (5, 17)
-- session a:
delete parent where id between 13 and 20
-- session a:
if @@trancount > 0 rollback; set transaction isolation level read committed
GO
drop table child; drop table parent
GO
