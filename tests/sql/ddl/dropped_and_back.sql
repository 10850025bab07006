-- A heap that was dropped and came back goes on with its numbers.
create table #h (a int)
begin transaction
insert #h values (1), (2)
save transaction before_drop
drop table #h
rollback transaction before_drop
insert #h values (3)
commit
insert #h values (4)
select a from #h order by a
drop table #h
GO
create table h (a int)
begin transaction
insert h values (1), (2)
save transaction before_drop
drop table h
rollback transaction before_drop
insert h values (3)
commit
begin transaction
truncate table h
rollback
insert h values (4)
select a from h order by a
drop table h
