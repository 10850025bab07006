-- Temporary tables and table variables under transactions.
create procedure uses_temp @n int as
begin
    create table #w (a int primary key, b int)
    insert #w select a, a * 2 from (values (1), (2), (3)) as v(a) where a <= @n
    declare @v table (x int)
    insert @v select b from #w
    select sum(x) as s from @v
end
GO
begin tran
exec uses_temp 2
exec uses_temp 3
commit
exec uses_temp 1
GO
begin tran
exec uses_temp 3
rollback
exec uses_temp 3
GO
create table #outer (a int)
insert #outer values (1)
begin tran
insert #outer values (2)
drop table #outer
rollback
select * from #outer
GO
begin tran
create table #inner (a int)
insert #inner values (5)
rollback
select * from #inner
GO
create procedure sees_outer as begin insert #outer values (9); create table #outer (z varchar(5)); insert #outer values ('in'); select * from #outer end
GO
exec sees_outer
select * from #outer
GO
create function doubled(@n int) returns int as
begin
    declare @t table (x int)
    insert @t values (@n), (@n)
    return (select sum(x) from @t)
end
GO
select a, dbo.doubled(a) as d from #outer
begin tran
select dbo.doubled(21) as d
commit
GO
declare @t table (x int primary key)
insert @t values (1)
insert @t values (2), (1)
select * from @t
GO
create table ##g (a int)
insert ##g values (1)
GO
-- session other:
select * from ##g
drop table ##g
GO
