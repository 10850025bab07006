-- sp_MSdropconstraints: all constraints of a table, and the foreign keys of others that refer to it.
create table p (id int not null primary key, u int unique, n int check (n > 0), d int default 7)
create table c (id int primary key, p int references p (id))
GO
exec sp_MSdropconstraints 'c'
select object_name(parent_object_id) as t, type from sys.objects where parent_object_id in (object_id('p'), object_id('c')) order by 1, 2
GO
alter table c add foreign key (p) references p (u)
exec sp_MSdropconstraints 'p', 'dbo'
select object_name(parent_object_id) as t, type from sys.objects where parent_object_id in (object_id('p'), object_id('c')) order by 1, 2
exec sp_MSdropconstraints 'p'
GO
exec sp_MSdropconstraints 'nothing'
GO
drop table p, c
GO
