create table t (id int primary key, v int)
insert into t values (1, 10), (2, 20), (3, 30)
GO
-- positioned update and delete
declare @id int, @v int
declare c cursor for select v from t order by id for update
open c
fetch next from c into @v
while @@fetch_status = 0
begin
    if @v = 20 delete from t where current of c
    else update t set v = @v + 1 where current of c
    fetch next from c into @v
end
close c
deallocate c
select * from t
GO
-- cursor variables
declare @c cursor, @x int
set @c = cursor for select id from t
open @c
fetch @c into @x
select @x as x, cursor_status('variable', '@c') as s
close @c
deallocate @c
GO
fetch next from nosuch
GO
declare r cursor local fast_forward for select id from t
open r
fetch prior from r
close r
open r
open r
deallocate r
