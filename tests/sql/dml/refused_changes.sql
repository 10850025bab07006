-- Data changes that cannot be together.
create table t (id int identity primary key, v int)
create table log (id int)
GO
create trigger tr on t after insert as insert log select id from inserted
GO
insert t (v) output inserted.id values (1)
GO
declare @out table (id int)
insert t (v) output inserted.id into @out values (1)
select id from @out
update t set v = 2 output inserted.v;
disable trigger tr on t;
insert t (v) output inserted.id values (3);
enable trigger tr on t
GO
merge t using (values (1)) s (id) on t.id = s.id when not matched then insert (v) values (0) output inserted.id;
GO
create view shown as select id, v from t
GO
create trigger iv on shown instead of update as print 'taken over'
GO
update shown set v = 1 output inserted.v where id = 1
GO
update shown set v = 1 where id = 1
GO
merge t using (values (1)) s (id) on t.id = s.id when not matched then update set v = 1;
GO
merge t using (values (1)) s (id) on t.id = s.id when not matched then delete;
GO
merge t using (values (1)) s (id) on t.id = s.id when matched then insert (v) values (1);
GO
merge t using (values (1)) s (id) on t.id = s.id when not matched by source then insert (v) values (1);
GO
merge t using (values (1)) s (id) on t.id = s.id when matched and t.v = 1 then update set v = 1 when matched then update set v = 2;
GO
merge t using (values (1)) s (id) on t.id = s.id when matched then update set v = 1 when matched and t.v = 1 then delete;
GO
merge t using (values (9)) s (id) on t.id = s.id when not matched then insert (v) values (1) when not matched and s.id = 1 then insert (v) values (2);
GO
merge t using (values (1)) s (id) on t.id = s.id when matched and t.v = 77 then delete when matched then update set v = 5 when not matched by source and t.v > 100 then delete;
GO
insert log output inserted.id exec ('select 5')
GO
select count(*) as n from log where id = 5
GO
