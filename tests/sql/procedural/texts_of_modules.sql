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
