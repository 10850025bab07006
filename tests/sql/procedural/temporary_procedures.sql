-- A procedure whose name begins with # belongs to the session that made it.
create table t (a int); insert t values (1), (2)
GO
create procedure #p @n int, @twice int output as select a from t where a > @n; set @twice = @n * 2; return 7
GO
declare @r int, @x int; exec @r = #p 1, @x output; select @r as r, @x as x
exec('create procedure #q as exec #p 0, 0')
exec #q
GO
create procedure #p as select 1
GO
alter procedure #p as select 'altered' as what
GO
#p
select count(*) as kept from sys.objects where name like '#%'
GO
begin transaction
GO
create procedure #gone as select 1
GO
rollback
exec #gone
GO
-- session other:
exec #p
GO
create procedure #p as select 'of another' as what
GO
exec #p
GO
-- session main:
exec #p
GO
-- One that is made in a procedure stays.
create procedure outer_one as exec('create procedure #inner as select 1 as inside'); exec #inner
GO
exec outer_one
exec #inner
GO
create user someone without login; grant execute on outer_one to someone
GO
execute as user = 'someone'
exec #p
revert
GO
select 'there' where object_id('tempdb..#p') is not null and object_id('tempdb..#p', 'P') is not null and object_id('tempdb..#p', 'U') is null
drop procedure #p
drop procedure if exists #p, #q
GO
drop procedure #p
GO
exec #p
