-- ALTER TABLE … SWITCH moves all rows to a table that stores rows alike.
create table a (id int primary key, v varchar(10), index iv (v)); create table b (id int primary key, v varchar(10), index ivb (v))
create table other (id int primary key, v varchar(11), index iv (v)); create table bare (id int primary key, v varchar(10))
insert a values (1, 'one'), (2, 'two')
GO
alter table a switch to b; select count(*) as a from a; select id, v from b with (index = ivb) where v = 'two'
GO
insert a values (3, 'three'); alter table b switch to a
GO
delete a; begin tran; alter table b switch to a; rollback; select count(*) as a from a; select count(*) as b from b
GO
begin tran; insert a values (9, 'nine'); alter table b switch to a; rollback
GO
alter table b switch to other
GO
alter table b switch to bare; select count(*) as entries from b with (index = ivb); select count(*) as n from bare
GO
alter table bare switch to b
GO
insert b select id, v from bare; delete bare
GO
alter table b switch to nowhere
GO
alter table b switch to a; insert a values (2, 'again')
GO
select id, v from a order by id; select count(*) as b from b
GO
