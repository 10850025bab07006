-- What was compiled for a temporary table before it was truncated, indexed or altered is compiled again.
create table #p (d int)
GO
insert #p values (1)
GO
truncate table #p
GO
insert #p values (1)
GO
select count(*) as n from #p
GO
create table #r (a int); declare @i int = 0
while @i < 4 begin insert #r values (@i); if @i = 1 truncate table #r; set @i += 1 end
select a from #r
GO
create table ##g (a int)
GO
insert ##g values (1)
GO
truncate table ##g
GO
insert ##g values (1)
GO
select a from ##g
drop table ##g
GO
create table #w (a int)
GO
insert #w values (1)
GO
create clustered index cx on #w (a)
GO
insert #w values (1)
GO
create index ix on #w (a)
alter table #w add b int
GO
insert #w (a) values (1)
GO
alter table #w alter column a bigint
GO
insert #w (a) values (1)
GO
select count(*) as n from #w with (index (ix))
GO
begin tran
truncate table #w
GO
select count(*) as n from #w with (index (ix))
insert #w (a) values (1)
GO
insert #w (a) values (1)
GO
select count(*) as n from #w with (index (ix))
rollback
GO
select count(*) as n from #w with (index (ix))
GO
insert #w (a) values (1)
GO
select count(*) as n from #w with (index (ix))
GO
create procedure fill as
create table #own (a int)
declare @i int = 0
while @i < 3
begin
    truncate table #own
    insert #own values (@i)
    select a from #own
    set @i += 1
end
GO
exec fill
exec fill
GO
