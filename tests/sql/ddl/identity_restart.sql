-- An identity column begins at its seed when its table is truncated, and when it is a new one; if that is rolled back, it goes on where it was.
create table t (id int identity primary key, a int)
insert t (a) values (1), (2), (3)
go
begin transaction
truncate table t
insert t (a) values (10)
select id, a from t
rollback
insert t (a) values (4)
select id, a from t
go
begin transaction
insert t (a) values (5)
save transaction before
truncate table t
insert t (a) values (10)
rollback transaction before
insert t (a) values (6)
commit
select id, a from t
go
truncate table t
insert t (a) values (20)
select id, a from t
go
-- Rows are numbered anew.
create table n (id int identity, a int)
insert n (a) values (1), (2), (3)
delete n where a = 1
alter table n drop column id
alter table n add id int identity(10, 5)
insert n (a) values (4)
select a, id from n order by a
go
-- In a table without rows the first one has the seed that it is given.
delete n
alter table n drop column id
alter table n add id bigint identity
dbcc checkident ('n', reseed, 9223372036854775805)
insert n (a) values (1)
select id from n
go
begin transaction
alter table n drop column id
alter table n add id int identity
rollback
insert n (a) values (2)
select a, id from n order by a
go
drop table t
drop table n
go
