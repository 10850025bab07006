-- a SELECT that reads nothing begins no transaction
set implicit_transactions on
create table #t (a int)
commit
GO
select 1 as one
select getdate() where 1 = 0
declare @i int
select @i = 2
exec sp_executesql N'select 1 as one'
select 1 as a union all select 2
select @@trancount as none
GO
select (select count(*) from #t) as n
select @@trancount as one
commit
GO
select 1 as a where exists (select * from #t)
select @@trancount as one
commit
GO
select * from #t
select @@trancount as one
commit
set implicit_transactions off
GO
