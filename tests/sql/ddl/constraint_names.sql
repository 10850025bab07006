-- Constraints are objects: their names are free or refused like those of others.
create database names
GO
use names
GO
create table parent (id int not null constraint parent_key primary key)
create table child (id int not null, parent int, constraint child_parent foreign key (parent) references parent (id))
GO
alter table child add constraint child_parent foreign key (parent) references parent (id)
GO
alter table child add constraint child_parent check (id > 0)
GO
alter table child add constraint CHILD_PARENT unique (id)
GO
alter table child add constraint child_parent default 1 for parent
GO
alter table child add constraint child_above check (id > 0), constraint child_above check (id > 1)
GO
alter table child add constraint parent check (id > 0)
GO
alter table child add constraint parent_key check (id > 0)
GO
create table pair (id int constraint one check (id > 0), other int constraint one check (other > 0))
GO
create table itself (id int constraint itself primary key)
GO
create table child_parent (id int)
GO
create table other (id int constraint child_parent primary key)
GO
select name, type from sys.objects where is_ms_shipped = 0 order by name
GO
alter table child add constraint child_above check (id > 0), constraint child_below check (id < 1000), size int constraint child_size default 5
exec sp_rename 'child_above', 'child_below'
GO
exec sp_rename 'child_above', 'parent'
GO
exec sp_rename 'child_above', 'Child_Above'
exec sp_rename 'child_size', 'child_length'
select name from sys.objects where parent_object_id = object_id('child') order by name
GO
-- A parameter of type sysname takes 128 characters.
declare @long nvarchar(200) = replicate('n', 200)
exec sp_rename 'parent', @long
select len(name) as characters from sys.tables where name like 'nnn%'
GO
select databasepropertyex('names', 'SqlCharSetName') as characters
GO
use master
drop database names
GO
