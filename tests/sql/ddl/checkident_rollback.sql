-- What DBCC CHECKIDENT says of an identity column goes with the transaction that it was said in.
create table t (id int identity primary key, a int)
insert t (a) values (1), (2)
begin tran
dbcc checkident ('t', reseed, 100)
insert t (a) values (3)
select id, a from t order by id
rollback
insert t (a) values (4)
select id, a from t order by id
begin tran
dbcc checkident ('t', reseed, 100)
commit
insert t (a) values (5)
select id, a from t order by id
begin tran
save tran here
dbcc checkident ('t', reseed, 200)
rollback tran here
insert t (a) values (6)
commit
select id, a from t order by id
GO
