-- The report of a deadlock, in the session of events that every instance has.
create table dbo.first (id int primary key, v int); create table dbo.second (id int, v int, constraint pk_second primary key (id))
insert dbo.first values (1, 0); insert dbo.second values (1, 0)
GO
create procedure dbo.touches_first as
begin
    update dbo.first set v = 2 where id = 1;
end
GO
-- session a:
begin tran moves; update dbo.first set v = 1 where id = 1
-- session b:
set deadlock_priority low; set transaction isolation level repeatable read; begin tran; update dbo.second set v = 1 where id = 1
-- session a waits:
update dbo.second set v = 2 where id = 1
-- session b:
exec dbo.touches_first
-- session a resumes:
-- session a:
rollback
GO
declare @r xml = (select top 1 cast(event_data as xml).query('/event/data[@name="xml_report"]/value/deadlock')
    from sys.fn_xe_file_target_read_file('system_health*.xel', null, null, null) where object_name = 'xml_deadlock_report' order by timestamp_utc desc, file_offset desc);
select p.value('@isolationlevel', 'varchar(30)') as isolation, p.value('@lockMode', 'varchar(5)') as mode, p.value('@currentdbname', 'varchar(20)') as db,
    p.value('@priority', 'int') as priority, p.value('(executionStack/frame/@procname)[1]', 'varchar(40)') as procedure_, p.value('(executionStack/frame/@line)[1]', 'int') as line,
    p.value('(executionStack/frame)[1]', 'varchar(60)') as statement, p.value('(inputbuf)[1]', 'varchar(60)') as input,
    case when @r.exist('/deadlock/victim-list/victimProcess[@id=sql:column("n.id")]') = 1 then 'victim' else '' end as victim
from @r.nodes('/deadlock/process-list/process') t(p) cross apply (select p.value('@id', 'varchar(30)') as id) n order by victim
select r.value('local-name(.)', 'varchar(20)') as lock, r.value('@objectname', 'varchar(60)') as object, r.value('@indexname', 'varchar(40)') as idx, r.value('@mode', 'varchar(5)') as mode,
    r.value('count(owner-list/owner)', 'int') as owners, r.value('(waiter-list/waiter/@mode)[1]', 'varchar(5)') as wanted from @r.nodes('/deadlock/resource-list/*') t(r) order by object
GO
select count(*) as in_ring from sys.dm_xe_session_targets t join sys.dm_xe_sessions s on s.address = t.event_session_address
cross apply (select cast(t.target_data as xml) as x) d where s.name = 'system_health' and t.target_name = 'ring_buffer' and d.x.exist('//event[@name="xml_deadlock_report"]') = 1
GO
drop procedure dbo.touches_first; drop table dbo.first, dbo.second
