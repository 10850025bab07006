-- What a procedure answers when its body has failed; local cursors end with their batch; TOP … PERCENT of a change.
create procedure fails as select 1/0
GO
create procedure fails_and_says as begin select 1/0 return 5 end
GO
create procedure raises as raiserror('no', 11, 1)
GO
create procedure breaks_off as begin select 1/0 return end
GO
declare @r int
exec @r = fails select @r as r
exec @r = fails_and_says select @r as r
exec @r = raises select @r as r
exec @r = breaks_off select @r as r
GO
declare c cursor local for select 1 as a
open c
fetch c
GO
declare c cursor local for select 2 as a
open c
fetch c
declare c cursor global for select 3 as a
open global c
fetch c
fetch global c
GO
fetch c
close c
deallocate c
GO
create table t (a int)
insert t values (1), (2), (3)
delete top (50) percent from t
select count(*) as n from t
insert t values (4), (5), (6)
update top (50) percent t set a = a + 10
select count(*) as n from t where a > 10
GO
-- Trailing blanks count where one side is national.
select case when N'x  ' like N'x' then 1 else 0 end as nn, case when 'x  ' like N'x' then 1 else 0 end as vn, case when N'x  ' like 'x' then 1 else 0 end as nv, case when 'x  ' like 'x' then 1 else 0 end as vv, case when N'x  ' like N'x%' then 1 else 0 end as p
create table n (v nchar(5), w char(5))
insert n values (N'x', 'x')
select count(*) as n from n where v like N'x'
select count(*) as n from n where w like 'x'
GO
select value from string_split('aXbxcX', 'x')
select value from string_split('aXbxcX' collate Latin1_General_BIN2, 'x')
exec sp_executesql @sql = N'select @i as i', @p = N'@i int', @i = 7
GO
declare @r int
exec @r = sp_releaseapplock 'not held', 'Session'
select @r as r, @@error as e
exec @r = sp_getapplock 'x', 'Sideways', 'Session'
select @r as r
begin try
    exec @r = sp_releaseapplock 'not held', 'Session'
end try
begin catch
    select error_number() as e
end catch
exec @r = sp_getapplock 'x', 'Exclusive', 'Session'
select @r as r
exec @r = sp_releaseapplock 'x', 'Session'
select @r as r
GO
