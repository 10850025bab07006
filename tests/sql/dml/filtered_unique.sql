-- A unique index of some rows: those outside have no entry, and take none of the others'.
create table t (id int primary key, a int, del bit not null)
create unique index u on t (a) where del = 0
insert t values (1, 1, 1), (2, 1, 0), (3, 1, 1)
GO
update t set del = 0 where id = 1
GO
select id, del from t order by id
delete t where id = 3
insert t values (4, 1, 0)
GO
select id from t with (index (u)) where a = 1 and del = 0
-- One leaves and another enters, whatever the order.
update t set del = case id when 1 then 0 else 1 end
select id from t with (index (u)) where a = 1 and del = 0
update t set del = 1 - del, a = a + id
select id, a, del from t order by id
select id, a from t with (index (u)) where del = 0
merge t using (values (1), (2)) s (id) on t.id = s.id when matched then update set a = 9, del = t.id - 1;
select id, a from t with (index (u)) where del = 0
dbcc checkdb with no_infomsgs
GO
-- Conditions may name their table.
create table message (id int not null, token uniqueidentifier null, n int null)
create unique index tokens on message (n) where message.token is not null
create unique index others on message (id) where [dbo].[message].[n] > 5
GO
create index wrong on message (id) where elsewhere.n is not null
GO
insert message values (1, null, 1), (2, null, 1), (3, newid(), 1)
GO
insert message values (4, newid(), 1)
GO
insert message values (1, null, 6), (3, null, 6)
GO
insert message values (3, null, 7)
