-- IDENTITY_INSERT ends with the dynamic text or procedure that set it, as other SET options do.
create table a (id int identity, x int); create table b (id int identity, x int)
go
exec ('set identity_insert a on; insert a (id, x) values (10, 1)')
insert a (id, x) values (11, 1)
go
set identity_insert a on
exec sp_executesql N'set identity_insert a off; set identity_insert b on; insert b (id, x) values (20, 2)'
insert a (id, x) values (12, 2)
insert b (id, x) values (21, 2)
go
select id from a; select id from b
go
set identity_insert a off
go
create procedure fill as set identity_insert a on; insert a (id, x) values (30, 3)
go
exec fill
insert a (x) values (4)
select id from a where x >= 3
go
-- A function or trigger is a scope of its own: nothing has been inserted in it.
create function seen() returns int as begin return scope_identity() end
go
create table c (id int identity(100, 1), v int)
go
create trigger tc on c after insert as begin select scope_identity() as in_trigger; insert a (x) values (9); select scope_identity() as then_in_trigger end
go
insert c (v) values (1); select dbo.seen() as in_function, scope_identity() as here
