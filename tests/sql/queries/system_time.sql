-- FOR SYSTEM_TIME: which versions of rows each form lets through.
create table city (id int not null primary key, name varchar(20) not null, people int, f datetime2(0) not null, t datetime2(0) not null)
create table city_history (id int not null, name varchar(20) not null, people int, f datetime2(0) not null, t datetime2(0) not null)
insert city values (1, 'Aberg', 30, '2021-01-01', '9999-12-31 23:59:59'), (2, 'Bedorf', 20, '2020-01-01', '9999-12-31 23:59:59')
insert city_history values (1, 'Aberg', 10, '2019-01-01', '2020-01-01'), (1, 'Aberg', 20, '2020-01-01', '2021-01-01'),
    (1, 'Aberg', 25, '2021-01-01', '2021-01-01'), (3, 'Cetal', 5, '2019-06-01', '2020-06-01')
alter table city add period for system_time (f, t)
alter table city set (system_versioning = on (history_table = dbo.city_history))
GO
select id, people from city order by id
select id, people from city for system_time as of '2019-07-01' order by id
select id, people from city for system_time as of '2020-01-01' order by id
select id, people from city for system_time as of '2018-01-01' order by id
GO
select id, people, f, t from city for system_time from '2020-01-01' to '2021-01-01' order by id, f
select id, people, f, t from city for system_time between '2020-01-01' and '2021-01-01' order by id, f
select id, people, f, t from city for system_time contained in ('2019-01-01', '2020-12-31') order by id, f
select id, people, f, t from city for system_time all order by id, f
GO
-- With variables, aliases, joins, conditions, groups, and more than once in a statement.
declare @at datetime2 = '2020-03-01', @date date = '2019-07-01'
select c.id, c.name from city for system_time as of @at as c where c.people > 10 order by c.id
select a.id, a.people as before, b.people as after
from city for system_time as of @date a full join city for system_time as of @at b on b.id = a.id order by coalesce(a.id, b.id)
select id, count(*) as versions, max(people) as most from city for system_time all group by id order by id
select c.id, (select max(x.people) from city for system_time all x where x.id = c.id) as most from city c order by c.id
select id from city where id not in (select id from city for system_time as of @date) order by id
GO
with past as (select * from city for system_time as of '2020-03-01') select count(*) as n, sum(people) as people from past
select * from (select id, people from city for system_time all where id = 1) x order by people
GO
-- Over a view it holds for every system-versioned table in it.
create table country (id int not null primary key, capital int not null)
insert country values (1, 1), (2, 3)
GO
create view capitals as select country.id as country, c.name, c.people from country join city c on c.id = country.capital
GO
select * from capitals order by country
select * from capitals for system_time as of '2020-03-01' order by country
select v.name, count(*) as n from capitals for system_time all as v group by v.name order by v.name
GO
create view fixed as select id, people from city for system_time as of '2020-03-01'
GO
select * from fixed order by id
select * from fixed for system_time as of '2019-07-01'
GO
-- Hidden columns are left out of * and can be named.
alter table city alter column f add hidden
alter table city alter column t add hidden
select * from city order by id
select * from city for system_time as of '2020-03-01' order by id
select c.*, c.f from city for system_time as of '2020-03-01' c order by id
select * from (select id, f from city) x order by id
select * into copied from city
select name from sys.columns where object_id = object_id('copied') order by column_id
GO
-- What is not system-versioned has no versions.
select * from country for system_time as of '2020-01-01'
GO
select * from city_history for system_time all
GO
select * from nowhere for system_time all
GO
with x as (select 1 as a) select * from x for system_time all
GO
-- A procedure keeps its plan; the moment is a parameter.
create procedure city_at @at datetime2 as select id, people from city for system_time as of @at order by id
GO
exec city_at '2019-07-01'
exec city_at '2021-07-01'
GO
-- The moment decides what is read of the history: it is clustered by when rows ended.
create table thing (id int constraint pk_thing primary key, f datetime2 generated always as row start, t datetime2 generated always as row end, period for system_time (f, t))
    with (system_versioning = on (history_table = dbo.thing_history))
GO
set showplan_text on
GO
select id from thing for system_time as of '2020-01-01' where id = 5
GO
set showplan_text off
GO
