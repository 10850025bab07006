create table t (id int primary key, v int)
create table log (what varchar(10), id int, old int, new int)
GO
create trigger t_all on t after insert, update, delete as
begin
    set nocount on
    insert log select 'ins', i.id, null, i.v from inserted i where not exists (select * from deleted d where d.id = i.id)
    insert log select 'upd', i.id, d.v, i.v from inserted i join deleted d on d.id = i.id
    insert log select 'del', d.id, d.v, null from deleted d where not exists (select * from inserted i where i.id = d.id)
end
GO
insert t values (1, 10), (2, 20)
update t set v = v + 1 where id = 1
delete t where id = 2
select * from log
GO
create trigger t_check on t for update as
if update(v) and exists (select * from inserted where v < 0)
begin
    raiserror('negative', 16, 1)
    rollback transaction
end
GO
begin tran
update t set v = -1
print 'not reached'
GO
select @@trancount as n, v from t
GO
begin try
    update t set v = -1
end try
begin catch
    select error_number() as n, error_message() as m
end catch
if @@trancount > 0 rollback
GO
disable trigger t_check on t
update t set v = -5
select v from t;
enable trigger t_check on t
GO
create trigger t_shows on t after delete as select 'deleted' as what, id from deleted
GO
delete t
GO
drop trigger t_shows
select name, is_disabled from sys.triggers order by name
GO
-- multi-statement and inline functions
create function evens(@n int) returns @r table (x int primary key) as
begin
    declare @i int = 0
    while @i <= @n
    begin
        if @i % 2 = 0 insert @r values (@i)
        set @i += 1
    end
    return
end
GO
create function above(@n int) returns table as return select x from dbo.evens(10) where x > @n
GO
select * from dbo.evens(6)
select * from dbo.above(4) order by x desc
GO
create sequence seq as int start with 5 increment by 2
select next value for seq as a
select next value for dbo.seq as b
alter sequence seq restart with 100
select next value for seq as c
GO
sp_helptext 'above'
