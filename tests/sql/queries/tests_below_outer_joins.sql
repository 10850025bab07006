-- IN and EXISTS about the left side of an outer join are tested below it.
create database tests_below
GO
use tests_below
GO
create table job (id int constraint job_key primary key, state int)
create table state (id int, job int, reason varchar(10), constraint state_key primary key (job, id))
create table wanted (id int)
insert job values (1, 11), (2, 22), (3, null), (4, 44)
insert state values (11, 1, 'one'), (22, 2, 'two'), (44, 3, 'other')
insert wanted values (1), (3), (3), (9)
GO
-- With the hints there is no other way than by the keys.
declare @p int = 3
select j.id, s.reason from job j with (forceseek) left join state s with (forceseek) on s.id = j.state and s.job = j.id
where j.id in (select @p where 1 = 0)
select j.id, s.reason from job j with (forceseek) left join state s with (forceseek) on s.id = j.state and s.job = j.id
where j.id in (select id from wanted) order by j.id
GO
set showplan_text on
GO
select j.id, s.reason from job j with (forceseek) left join state s with (forceseek) on s.id = j.state and s.job = j.id
where j.id in (select id from wanted)
GO
set showplan_text off
GO
-- What asks about the right side stays above.
select j.id, s.reason from job j left join state s on s.id = j.state and s.job = j.id
where exists (select * from wanted w where w.id = j.id and s.reason is null) order by j.id
select j.id, s.reason from job j left join state s on s.id = j.state and s.job = j.id
where not exists (select * from wanted w where w.id = j.id) and j.id not in (select 2) order by j.id
select j.id, s.reason from job j left join state s on s.id = j.state and s.job = j.id left join wanted w on w.id = j.id
where j.state not in (select id from state where id <> 22) and exists (select 1 from state x where x.job = j.id) order by j.id
select j.id, s.id from job j right join state s on s.id = j.state where j.id in (select id from wanted) order by j.id
select j.id, t.n from job j outer apply (select count(*) n from wanted w where w.id = j.id) t where j.id in (select id from wanted) order by j.id
GO
use master
drop database tests_below
