-- Security policies on every kind of table: partitioned, heaps, columnstore; under MERGE, triggers, cursors and isolation levels.
create database shop
GO
use shop
GO
create table dbo.t (id int primary key, tenant int not null, v int)
insert dbo.t values (1,1,1),(2,2,2),(3,1,3)
create table dbo.audit (id int, tenant int)
create partition function pf (int) as range left for values (10, 20)
create partition scheme ps as partition pf all to ([primary])
create table dbo.pt (id int not null, tenant int not null, constraint pk primary key (id)) on ps (id)
insert dbo.pt values (1,1),(11,2),(21,1)
create table dbo.heap (id int, tenant int)
insert dbo.heap values (1,1),(2,2)
create table dbo.cs (id int, tenant int, index cci clustered columnstore)
insert dbo.cs values (1,1),(2,2)
GO
create function dbo.ten(@t int) returns table with schemabinding as return select 1 as ok where @t = cast(session_context(N't') as int)
GO
create security policy dbo.p add filter predicate dbo.ten(tenant) on dbo.t, add filter predicate dbo.ten(tenant) on dbo.pt, add filter predicate dbo.ten(tenant) on dbo.heap, add filter predicate dbo.ten(tenant) on dbo.cs,
 add block predicate dbo.ten(tenant) on dbo.t before update, add block predicate dbo.ten(tenant) on dbo.t after update, add block predicate dbo.ten(tenant) on dbo.t before delete, add block predicate dbo.ten(tenant) on dbo.t after insert
GO
exec sp_set_session_context N't', 1
select * from dbo.pt where $partition.pf(id) = 2
select * from dbo.pt
select * from dbo.heap
select * from dbo.cs
delete dbo.heap
update dbo.pt set tenant = 2 where id = 1
select * from dbo.pt
exec sp_set_session_context N't', 2
select * from dbo.pt
select * from dbo.heap
GO
exec sp_set_session_context N't', 1
GO
create trigger dbo.io on dbo.t instead of delete as insert dbo.audit select id, tenant from deleted
GO
delete dbo.t
select * from dbo.audit
GO
drop trigger dbo.io
GO
merge dbo.t t using (values (1, 1, 10), (2, 1, 20), (4, 1, 40), (5, 2, 50)) s (id, tenant, v) on t.id = s.id when matched then update set v = s.v when not matched then insert values (s.id, s.tenant, s.v);
GO
merge dbo.t t using (values (1, 1, 10), (4, 1, 40), (5, 2, 50)) s (id, tenant, v) on t.id = s.id when matched then update set v = s.v when not matched then insert values (s.id, s.tenant, s.v);
GO
merge dbo.t t using (values (1, 1, 10), (4, 1, 40)) s (id, tenant, v) on t.id = s.id when matched then update set v = s.v when not matched then insert values (s.id, s.tenant, s.v) output $action, inserted.*;
update dbo.t set tenant = 2 where id = 4
GO
update dbo.t set tenant = tenant, v += 1
select * from dbo.t
GO
begin try update dbo.t set tenant = 2 end try begin catch print error_number() print xact_state() end catch
begin tran
begin try insert dbo.t values (7, 2, 1) end try begin catch print error_number() print xact_state() print @@trancount end catch
commit
exec sp_set_session_context N't', 2
select * from dbo.t
delete dbo.t where id < 5
insert dbo.t select id + 100, tenant, id from dbo.t
insert dbo.t values (50, 2, 1), (51, 1, 1)
declare c cursor for select id from dbo.t for update
insert dbo.t values (60, 2, 1)
open c
fetch next from c
update dbo.t set v = 1 where current of c
delete dbo.t where current of c
close c
deallocate c
set transaction isolation level serializable
select * from dbo.t
set transaction isolation level read uncommitted
select * from dbo.t
alter security policy dbo.p with (state = off)
select * from dbo.t
GO
