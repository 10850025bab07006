-- 5,000 people of 20 towns with a postal code each; 25,000 visits, on each day 500 of them and 20 of each kind
create table people (code int not null, id int not null, town int not null, constraint pk_people primary key (code, id))
create table visits (id int not null constraint pk_visits primary key, person int not null, day int not null, kind int not null)
create unique index people_id on people (id)
create index visits_day on visits (day)
create index visits_person on visits (person)
insert people select value / 2 % 50 % 20, value, value / 2 % 50 % 20 from generate_series(0, 4999)
insert visits select value, value * 7 % 5000, value % 50, value / 50 % 25 from generate_series(0, 24999)
GO
-- each column lets a twentieth through; taken as independent, both let a four-hundredth through: people come first
update statistics people
update statistics visits
GO
set showplan_text on
GO
declare @code int = 7, @town int = 7, @day int = 3, @kind int = 4
select count(*) from people p join visits v on v.person = p.id where p.code = @code and p.town = @town and v.day = @day and v.kind = @kind
GO
set showplan_text off
GO
-- that a code has one town: visits come first
create statistics code_town on people (code, town)
GO
set showplan_text on
GO
declare @code int = 7, @town int = 7, @day int = 3, @kind int = 4
select count(*) from people p join visits v on v.person = p.id where p.code = @code and p.town = @town and v.day = @day and v.kind = @kind
GO
set showplan_text off
GO
dbcc show_statistics ('people', 'code_town') with density_vector
GO
-- keys are known together too
dbcc show_statistics ('people', 'pk_people') with density_vector, no_infomsgs
GO
select name, stats_id, auto_created, user_created, no_recompute, has_filter from sys.stats where object_id = object_id('people') order by stats_id
select s.name, c.stats_column_id, col_name(c.object_id, c.column_id) from sys.stats_columns c
join sys.stats s on s.object_id = c.object_id and s.stats_id = c.stats_id where c.object_id = object_id('people') order by s.stats_id, 2
GO
update statistics people with fullscan
select p.stats_id, p.rows, p.rows_sampled, p.steps, p.modification_counter
from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.object_id = object_id('people') order by 1
GO
insert people select 20, value, 20 from generate_series(5000, 5099)
select p.rows, p.modification_counter from sys.dm_db_stats_properties(object_id('people'), 1) p
GO
update statistics people code_town with sample 100 percent
select p.rows, p.rows_sampled, p.modification_counter from sys.dm_db_stats_properties(object_id('people'), 1) p
update statistics people (code_town, town) with sample 3000 rows
GO
-- a table nobody has asked about yet
create table unknown_yet (a int constraint pk_unknown_yet primary key)
select last_updated, rows, steps from sys.dm_db_stats_properties(object_id('unknown_yet'), 1)
GO
exec sp_autostats 'people', 'off'
select name, no_recompute from sys.stats where object_id = object_id('people') order by stats_id
exec sp_autostats 'people', 'on'
exec sp_autostats 'people', 'perhaps'
GO
exec sp_autostats 'nowhere'
GO
exec sp_helpstats 'people'
exec sp_helpstats 'people', 'ALL'
exec sp_helpstats 'visits'
GO
-- refusals
create statistics code_town on people (town)
GO
create statistics more on people (town, town)
GO
create statistics more on people (nothing)
GO
create statistics more on nowhere (a)
GO
update statistics people nothing
GO
drop statistics people.nothing
GO
drop statistics people.pk_people
GO
create index code_town on people (town)
GO
-- a column that statistics are of
alter table people drop column town
GO
drop statistics dbo.people.code_town
alter table people drop column town
select count(*) from sys.stats where object_id = object_id('people')
GO
-- transactional, like all definitions
begin transaction
create statistics later on people (id, code)
rollback
select count(*) from sys.stats where name = 'later'
GO
