-- EXECUTE AS WITH COOKIE: going back takes what only the one who went knows.
create user ann without login
create user bob without login
grant impersonate on user::bob to ann
GO
declare @cookie varbinary(100)
execute as user = 'ann' with cookie into @cookie
select user_name() as who, iif(datalength(@cookie) > 0, 'a cookie', 'none') as has
revert
select user_name() as who
revert with cookie = 0x00
select user_name() as who
-- One more level, which has none.
execute as user = 'bob'
revert with cookie = @cookie
select user_name() as who
revert
select user_name() as who
revert with cookie = @cookie
select user_name() as who
-- Where there is nothing to go back from.
revert
revert with cookie = @cookie
GO
create procedure dbo.becomes as
declare @cookie varbinary(100)
execute as user = 'ann' with cookie into @cookie
GO
exec dbo.becomes
GO
declare @short varbinary(4)
exec sp_executesql N'execute as user = ''ann'' with cookie into @c; select user_name() as who; revert with cookie = @c; select user_name() as who', N'@c varbinary(100)', null
execute as user = 'ann' with cookie into @nothing
GO
