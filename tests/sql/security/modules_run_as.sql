-- Whoever a module runs as stays while it does.
create table secret (a int)
insert secret values (1)
create user boss without login
create user clerk without login
GO
create procedure reads with execute as 'clerk' as select user_name() as who
GO
create procedure grows with execute as 'boss' as
begin
    print user_name()
    select a from secret
end
GO
grant execute on reads to clerk
grant execute on grows to clerk
GO
drop user boss
GO
select name from sys.database_principals where name = 'boss'
GO
execute as user = 'clerk'
exec grows
revert
GO
create or alter procedure grows with execute as caller as select user_name() as who
GO
drop user boss
GO
execute as user = 'clerk'
exec grows
revert
GO
drop user clerk
GO
drop procedure reads
drop user clerk
GO
create login low with password = 'Low-Keel-1234'
GO
create trigger made_by_low on all server with execute as 'low' for CREATE_LOGIN as print suser_sname()
GO
drop login low
GO
create login another with password = 'Another-Keel-1'
GO
drop trigger made_by_low on all server
drop login low
drop login another
GO
select count(*) as n from sys.server_principals where name in ('low', 'another')
GO
