-- SET options that change what a statement does.
set nocount on
select 1 as a
declare @t table (a int) insert @t values (1)
set nocount off
insert @t values (2)
GO
set rowcount 2
select n from (values (1), (2), (3)) t (n) order by n
set rowcount 0
GO
set ansi_nulls on
select case when null = null then 1 else 0 end as eq
GO
set datefirst 1
select @@datefirst as df, datepart(weekday, '2024-02-26') as monday
set datefirst 7
GO
set dateformat dmy
select cast('31/01/2024' as datetime) as d
set dateformat mdy
GO
select cast('31/01/2024' as datetime)
GO
set quoted_identifier off
GO
select "text" as t
GO
set quoted_identifier on
GO
select 1 as "named"
GO
select sum(n) as s from (values (1), (null)) t (n)
GO
set implicit_transactions on
create table #i (a int)
select @@trancount as n
rollback
set implicit_transactions off
GO
set noexec on
select 1 as never
GO
set noexec off
GO
set parseonly on
GO
select 1 as never
GO
set parseonly off
GO
select @@options & 512 as nocount, sessionproperty('ANSI_NULLS') as an
