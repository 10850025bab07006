-- The text of a module is that of a CREATE, however it came about.
create procedure p as select 1 as a
GO
-- changed
alter procedure p as select 2 as a
GO
select definition from sys.sql_modules where object_id = object_id('p')
exec p
GO
create or alter view v as select 3 as b
GO
select object_definition(object_id('v')) as text
select b from v
GO
CREATE OR ALTER PROCEDURE p AS /* alter */ select 4 as a
GO
exec sp_helptext 'p'
GO
create table t (id int identity, v int default 7)
create table plain (id int)
GO
create trigger tr on t instead of insert as select id, v from inserted
GO
insert t default values
insert t (v) values (1)
set identity_insert plain on
set identity_insert t on
GO
-- Computed columns of what an INSTEAD OF trigger is given.
create table comp (id int primary key, v int default 99, c as v * 2, p as id + v persisted)
GO
create trigger ti on comp instead of insert as begin select id, v, c, p from inserted insert comp (id, v) select id, v from inserted end
GO
create trigger tu on comp instead of update as select i.id, d.v as old_v, d.c as old_c, i.v, i.c, i.p from inserted i join deleted d on d.id = i.id
GO
insert comp (id) values (1)
insert comp (id, v) values (2, 5), (3, null)
update comp set v = 10 where id < 3
GO
