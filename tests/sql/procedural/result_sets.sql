-- EXECUTE … WITH RESULT SETS.
create procedure p as
select 1 as a, 'x' as b
select cast('20260305' as datetime) as d
GO
exec p with result sets ((number bigint not null, letter nvarchar(5)), (day date))
exec p with result sets undefined
GO
create table #kinds (name sysname, t sysname)
exec ('select 5 as five') with result sets ((v decimal(5, 2)))
GO
exec p with result sets ((a int, b char(1)))
GO
exec p with result sets ((a int, b char(1)), (d date), (e int))
GO
exec p with result sets ((a int), (d date))
GO
exec p with result sets ((a uniqueidentifier, b char(1)), (d date))
GO
exec p with result sets none
GO
exec ('select 1 as a union all select null') with result sets ((a int not null))
GO
exec ('select ''one'' as a') with result sets ((a int))
GO
begin try
    exec p with result sets none
end try
begin catch
    select error_number() as e
end catch
GO
exec ('print ''only this''') with result sets none
declare @r int
exec @r = p with result sets ((x tinyint, y varchar(1)), (z datetime2(0)))
select @r as r
GO
