-- Cursors: scrolling, static against dynamic, WHERE CURRENT OF, variables.
create table t (id int primary key, v int)
insert t values (1, 10), (2, 20), (3, 30)
GO
declare c cursor local for select id, v from t order by id
declare @id int, @v int, @sum int = 0
open c
fetch next from c into @id, @v
while @@fetch_status = 0
begin
  set @sum += @v
  fetch next from c into @id, @v
end
close c
deallocate c
select @sum as s, @@fetch_status as fs
GO
declare s scroll cursor for select id from t order by id
open s
fetch last from s
fetch first from s
fetch absolute 2 from s
fetch relative 1 from s
fetch prior from s
fetch absolute -1 from s
fetch next from s
select @@fetch_status as fs, @@cursor_rows as rows, cursor_status('global', 's') as st
close s
deallocate s
GO
declare u cursor for select id, v from t for update of v
open u
fetch next from u
update t set v = v + 1 where current of u
fetch next from u
delete t where current of u
close u
deallocate u
select * from t order by id
GO
declare @c cursor
set @c = cursor static for select id from t
open @c
fetch next from @c
deallocate @c
GO
fetch next from nope
GO
declare d cursor for select 1
fetch next from d
deallocate d
GO
drop table t
