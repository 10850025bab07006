-- Foreign keys over rows that are there: each is looked up in the key that it refers to.
create table parent (a int not null, b varchar(10) not null, c int not null, constraint p unique (b desc, a));
insert parent values (1, 'x', 10), (2, 'Y', 20), (3, 'z', 30);
create table child (id int not null primary key, pa int null, pb varchar(10) null);
insert child values (1, 1, 'X'), (2, 2, 'y'), (3, null, 'nowhere'), (4, 7, null);
go
alter table child add constraint f foreign key (pa, pb) references parent (a, b);
go
alter table child drop constraint f;
insert child values (5, 3, 'x');
go
alter table child with check add constraint f foreign key (pa, pb) references parent (a, b);
go
select name from sys.foreign_keys;
go
alter table child with nocheck add constraint f foreign key (pa, pb) references parent (a, b);
go
alter table child with check check constraint f;
go
update child set pb = 'Z' where id = 5;
alter table child with check check constraint f;
select name, is_not_trusted from sys.foreign_keys;
go
-- To itself.
create table staff (id int not null primary key, boss int null);
insert staff values (1, null), (2, 1), (3, 2);
alter table staff add constraint boss foreign key (boss) references staff (id);
alter table staff drop constraint boss;
insert staff values (4, 5);
go
alter table staff add constraint boss foreign key (boss) references staff (id);
go
-- A unique index with a condition is none to refer to; one over rows with equal keys is not made.
alter table parent drop constraint p;
go
create unique index u on parent (c);
insert parent values (4, 'w', 40);
go
create unique index w on parent (b) where c > 20;
insert parent values (5, 'W', 15), (6, 'y', 12);
go
create unique index v on parent (b);
go
drop table child, parent, staff;
go
