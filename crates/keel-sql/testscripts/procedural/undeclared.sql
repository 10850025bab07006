-- A text that names a variable nobody declares does not run at all.
create table t (a int)
GO
insert t values (1);
select @nobody
GO
select count(*) as n from t
GO
if 1 = 0
    print @nobody
GO
insert t values (1)
while @i < 3 print 'x'
GO
select * from t join @nowhere as n on n.a = t.a
GO
begin try
    select 1 as one
    update t set a = @x
end try
begin catch
    print error_message()
end catch
GO
exec ('select @x as outside')
GO
declare @a int = 1, @t table (a int); insert @t values (@a); select a from @t where a = @a; exec sp_executesql N'select @p as p', N'@p int', @p = @a
GO
select count(*) as n from t
GO
