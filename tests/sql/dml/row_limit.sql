-- Rows of VALUES that read the table they go into; SET ROWCOUNT limits changes, not only results.
create table t(id int, v int) insert t values(1,0),(2,3) insert t values(60,1),(61,(select max(v) from t))
insert t select * from (values(70,1),(71,(select max(v) from t))) x(a,b)
select * from t
GO
create table big (id int); insert big select value from generate_series(1, 20);
set rowcount 3
delete big
update big set id = id + 100
insert big select id from big
select count(*) as n from (select id from big) x
select id into copied from big
merge big using (select 1 as one) s on 1 = 1 when matched then update set id = id + 1000;
set rowcount 0
select count(*) as n, sum(case when id > 100 then 1 else 0 end) as updated, sum(case when id > 1000 then 1 else 0 end) as merged from big
select count(*) as copied from copied
GO
