-- CURSOR_STATUS of a variable: -2 without a cursor, -1 closed, 1 open, 0 open and empty, -3 of a variable that is not there.
declare @c cursor, @d cursor
select cursor_status('variable', '@c') c, cursor_status('variable', '@nosuch') n
set @c = cursor static for select 1 a
select cursor_status('variable', '@c') c
open @c
select cursor_status('variable', '@c') c, cursor_status('variable', '@C') upper_c
set @d = @c
close @c
select cursor_status('variable', '@c') c, cursor_status('variable', '@d') d
deallocate @c
select cursor_status('variable', '@c') c, cursor_status('variable', '@d') d
set @c = cursor static for select 1 a where 1 = 0
open @c
select cursor_status('variable', '@c') c
GO
-- The last hold on a cursor ends it.
declare @c cursor, @d cursor
declare named cursor local for select 2 a
set @c = cursor for select 1 a
set @d = @c
open @d
deallocate @c
fetch next from @d
deallocate @d
set @c = named
deallocate @c
open named
fetch next from named
fetch next from @d
GO
create procedure gives @out cursor varying output as
begin
  set @out = cursor static for select 1 a
  open @out
  select cursor_status('variable', '@out') inside
end
GO
create procedure has_none as select cursor_status('variable', '@c') nothing
GO
declare @c cursor
exec gives @c output
fetch next from @c
select cursor_status('variable', '@c') c
exec has_none
exec ('select cursor_status(''variable'', ''@c'') nothing')
GO
drop procedure gives, has_none
GO
