-- What a request has used is seen while it runs.
create table numbers (id int primary key, v varchar(200))
insert numbers select value, replicate('x', 200) from generate_series(1, 20000)
GO
-- session a:
begin tran; delete numbers where id = 20000
-- session b waits:
select sum(len(reverse(replace(v, 'x', 'yz')))) as n from numbers with (repeatableread)
GO
-- session a:
select iif(logical_reads > 100, 'yes', 'no') as has_read, iif(cpu_time > 0, 'yes', 'no') as has_worked from sys.dm_exec_sessions where session_id in (select request_session_id from sys.dm_tran_locks where request_status = 'WAIT')
-- session a:
commit
-- session b resumes:
GO
drop table numbers
GO
