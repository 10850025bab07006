-- optimize for ad hoc workloads: of a text that has come once nothing is kept but that.
create table item (id int not null primary key, grp int not null index by_grp)
insert item select value, value % 10 from generate_series(1, 100)
go
create view kept as
  select t.text, p.cacheobjtype, p.objtype, p.usecounts, iif(p.size_in_bytes < 1000, 'small', 'large') as size
    from sys.dm_exec_cached_plans p cross apply sys.dm_exec_sql_text(p.plan_handle) t where t.text like '%from item%' and t.text not like '%kept%' and t.dbid = db_id()
go
exec sp_configure 'show advanced options', 1
reconfigure
exec sp_configure 'optimize for ad hoc workloads', 1
reconfigure
go
select count(*) as n from item where grp in (1, 2)
go
select * from kept
go
select count(*) as n from item where grp in (1, 2)
go
select * from kept
go
select count(*) as n from item where grp in (1, 2)
go
-- Not of what has parameters, its own or those that its literals have become.
select grp from item where id = 5
go
exec sp_executesql N'select count(*) as n from item where grp in (@a, 4)', N'@a int', 3
exec ('select count(*) as n from item where grp in (5, 6)')
go
select * from kept order by text
go
exec sp_configure 'optimize for ad hoc workloads', 0
reconfigure
go
select count(*) as n from item where grp in (7, 8)
go
select * from kept where text like '%(7%'
go
-- The same of one database.
create database rare
go
use rare
alter database scoped configuration set optimize_for_ad_hoc_workloads = on
create table item (id int not null primary key, grp int not null index by_grp)
go
select count(*) as n from item where grp in (9, 10)
go
select t.text, p.cacheobjtype from sys.dm_exec_cached_plans p cross apply sys.dm_exec_sql_text(p.plan_handle) t where t.text like '%(9,%' and t.text not like '%cacheobjtype%'
go
use master
drop database rare
go
