-- Filtered indexes are read where the statement asks for no other rows.
create database filtered
GO
use filtered
GO
create table job (id int not null constraint job_key primary key, state varchar(10) not null, priority smallint not null, done date null, amount decimal(9, 2) null, hidden bit not null default 0)
insert job (id, state, priority, done, amount) select value, case when value % 100 = 0 then 'open' else 'closed' end, value % 50,
    case when value % 40 = 0 then null else dateadd(day, value % 365, '20250101') end, case when value % 20 = 0 then value * 1.5 end from generate_series(1, 5000)
create index job_open on job (id) include (priority) where state = 'open'
create index job_urgent on job (priority) where priority >= 45 and priority <> 47
create index job_unfinished on job (state) where done is null
create index job_paid on job (amount) where amount is not null
create index job_late on job (done) where done > '20251201'
create index job_two on job (state, priority) where priority in (1, 2)
create unique index job_one on job (priority) where id in (7, 8)
GO
set showplan_text on
GO
select id, priority from job where state = 'open'
select id, priority from job where state = N'open'
select id, priority from job where state = 'closed' and id < 3
declare @state varchar(10) = 'open'
select id, priority from job where state = @state
select count(*) from job where priority = 46
select count(*) from job where priority > 47
select count(*) from job where priority >= 45
select count(*) from job where priority in (45, 46, 49)
select count(*) from job where priority in (45, 47)
select count(*) from job where done is null and state = 'closed'
select count(*) from job where amount > 7000
select count(*) from job where amount < 10 or amount > 7000
select count(*) from job where amount is not null
select count(*) from job where done > '20251201'
select count(*) from job where done > '20251202'
select count(*) from job where priority = 2 and state = 'open'
select count(*) from job where priority = 3 and state = 'open'
-- A look-up by another table's column lets through no NULL.
select count(*) from job a join job b on b.amount = a.id where a.id < 4
update job set priority = 0 where state = 'open' and id < 500
delete job where priority = 46 and hidden = 1
GO
set showplan_text off
GO
-- The same rows with the index and without it.
select (select count(*) from job where state = 'open'), (select count(*) from job with (index (0)) where state = 'open')
select (select count(*) from job where priority > 47), (select count(*) from job with (index (0)) where priority > 47)
select (select sum(amount) from job where amount > 7000), (select sum(amount) from job with (index (0)) where amount > 7000)
select (select count(*) from job where done is null and state = 'closed'), (select count(*) from job with (index (0)) where done is null and state = 'closed')
update job set state = 'closed' where state = 'open' and id <= 2500
select (select count(*) from job where state = 'open'), (select count(*) from job with (index (0)) where state = 'open')
update job set priority = 46 where id between 10 and 20
select (select count(*) from job where priority = 46), (select count(*) from job with (index (0)) where priority = 46)
delete job where done is null and state = 'closed' and id < 1000
select (select count(*) from job where done is null and state = 'closed'), (select count(*) from job with (index (0)) where done is null and state = 'closed')
GO
-- An index that has not all of the rows cannot be asked for.
select count(*) from job with (index (job_open)) where state = 'closed'
select count(*) from job with (index (job_open)) where state = 'open'
select count(*) from job with (forceseek) where hidden = 0
select count(*) from job with (forceseek (job_two (state))) where state = 'open' and priority = 1
select count(*) from job with (forceseek (job_two (state, priority))) where state = 'open' and priority in (1, 2)
select count(*) from job with (forceseek (job_two (state, priority))) where state = 'open' and priority + 0 = 1 and priority in (1, 2)
GO
select count(*) from job with (forceseek (job_two (priority))) where state = 'open' and priority = 1
GO
select count(*) from job with (forceseek (job_urgent (priority, id))) where priority = 46
GO
use master
drop database filtered
GO
