-- Views of SQL Server 2000, by the names that old scripts use: locks, counters, plans, and what this server does not have.
create table held (id int primary key, t varchar(10))
insert held values (1, 'one'), (2, 'two')
go
begin transaction
update held set t = 'two' where id = 1
select object_name(rsc_objid) as object, rsc_type, req_mode, req_status, req_refcnt, req_ownertype, rsc_indid, rsc_flag, datalength(rsc_text) as text_bytes,
  datalength(rsc_bin) as bytes, case when rsc_dbid = db_id() then 'here' end as place, case when req_transactionID > 0 then 'known' else 'none' end as owner
from master..syslockinfo where req_spid = @@spid and rsc_type in (2, 5, 7) order by rsc_type
update held set t = 'two' where id = 2
-- Different resources differ in rsc_bin, by which scripts find who waits for whom.
select count(*) as locks, count(distinct rsc_bin) as resources from master..syslockinfo where req_spid = @@spid and rsc_type in (5, 7)
rollback
go
select rtrim(object_name) as object, rtrim(counter_name) as counter, cntr_type from sysperfinfo where counter_name = 'Batch Requests/sec' and cntr_value > 0
select count(*) as others from (select object_name, counter_name, instance_name from master.dbo.sysperfinfo
  except select object_name, counter_name, instance_name from sys.dm_os_performance_counters) as o
go
select 'looked for' as what
go
select cacheobjtype, objtype, uid, sqlbytes, sql, case when usecounts > 0 then 'used' end as uses, lasttime from master.dbo.syscacheobjects where sql like 'select ''looked for''%'
go
select (select count(*) from master..sysdevices) as devices, (select count(*) from sysremotelogins) as logins, (select count(*) from sysoledbusers) as users,
  (select count(*) from sysopentapes) as tapes, (select count(*) from sysfulltextcatalogs) as catalogs, case when exists (select * from syscurconfigs) then 'some' end as settings
go
drop table held
go
