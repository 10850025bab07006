-- What shows others' texts shows no passwords: the Query Store, event sessions, and views of what runs and has run.
create database shop
GO
use shop
GO
alter database shop set query_store = on (query_capture_mode = all)
create table item (id int primary key, name nvarchar(40), secret_ varbinary(400))
GO
create event session texts on server
    add event sqlserver.sql_batch_completed (action (sqlserver.sql_text)),
    add event sqlserver.sql_statement_completed
    add target package0.ring_buffer
alter event session texts on server state = start
GO
insert item select count(*), N'a', encryptbypassphrase('Hush-hush-1', 'text') from item
GO
insert item select count(*), N'a', encryptbypassphrase('Hush-hush-2', 'text') from item
GO
create login keeper with password = 'Hush-hush-3'
GO
create symmetric key k with algorithm = aes_256, key_source = 'Hush-hush-4' encryption by password = 'Hush-hush-5'
GO
-- session b:
exec ('alter login keeper with password = ''Hush-hush-6''')
GO
-- session main:
declare @x nvarchar(max) = (select cast(target_data as nvarchar(max)) from sys.dm_xe_session_targets t
    join sys.dm_xe_sessions s on s.address = t.event_session_address where s.name = 'texts')
select case when @x like N'%Hus' + N'h%' then 'with' else 'without' end as passwords, (len(@x) - len(replace(@x, '******', ''))) / 6 as hidden
alter event session texts on server state = stop
GO
-- Two texts that differ in their passwords only are one.
select t.query_sql_text, t.has_restricted_text, sum(s.count_executions) as executions,
    sum(case when p.query_plan like '%Hush-hush%' then 1 else 0 end) as plans_with_a_password
from sys.query_store_query_text t join sys.query_store_query q on q.query_text_id = t.query_text_id
    join sys.query_store_plan p on p.query_id = q.query_id join sys.query_store_runtime_stats s on s.plan_id = p.plan_id
where t.query_sql_text like 'insert item%' group by t.query_sql_text, t.has_restricted_text
select has_restricted_text, count(*) as texts from sys.query_store_query_text group by has_restricted_text order by 1
GO
select case when max(event_info) like '%******%' and max(event_info) not like '%Hush%' then 'without' end as input_buffer
from sys.dm_exec_sessions s cross apply sys.dm_exec_input_buffer(s.session_id, null) where event_info like '%keeper%' and s.session_id <> @@spid
select t.text from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.text like 'insert item%' order by t.text
select case when cast(query_plan as nvarchar(max)) like '%Hush%' then 'with' else 'without' end as plan_
from sys.dm_exec_query_stats s cross apply sys.dm_exec_sql_text(s.sql_handle) t cross apply sys.dm_exec_query_plan(s.plan_handle) p where t.text like 'insert item%'
GO
