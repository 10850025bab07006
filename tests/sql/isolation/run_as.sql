-- A module whose user was dropped before the drop could see it must not run, least of all as dbo.
create user boss without login
create user next_one without login
create user clerk without login
create table secret (a int)
insert secret values (1)
GO
-- session a:
begin transaction
GO
create procedure reads with execute as 'boss' as select user_name() as who, a from secret
GO
-- session b:
drop user boss
GO
-- session a:
commit
grant execute on reads to clerk
GO
-- session b:
execute as user = 'clerk'
exec reads
select user_name() as who, @@trancount as n
revert
GO
exec reads
GO
begin try
    exec reads
end try
begin catch
    select error_number() as number, error_procedure() as [procedure]
end catch
GO
create or alter procedure reads with execute as owner as select user_name() as who, a from secret
GO
execute as user = 'clerk'
exec reads
revert
GO
