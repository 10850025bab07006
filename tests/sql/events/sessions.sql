-- Sessions of extended events: made, changed, started, stopped, and what is wrong with them.
SELECT name, startup_state, max_memory, event_retention_mode_desc FROM sys.server_event_sessions ORDER BY event_session_id;
SELECT name FROM sys.dm_xe_sessions;
GO
CREATE EVENT SESSION [slow ones] ON SERVER
ADD EVENT sqlserver.rpc_completed(SET collect_statement=(1)
    ACTION(sqlserver.sql_text, package0.event_sequence)
    WHERE ([sqlserver].[database_id]=(5) AND ([duration]>(1000000) OR NOT (object_name LIKE N'x%')))),
ADD EVENT sqlserver.sql_batch_completed(
    WHERE [package0].[greater_than_uint64]([duration],(5)) AND sqlserver.session_id <> 51 AND package0.counter <= 10)
ADD TARGET package0.event_counter,
ADD TARGET package0.ring_buffer(SET max_events_limit=(10))
WITH (MAX_MEMORY=8 MB, EVENT_RETENTION_MODE=ALLOW_MULTIPLE_EVENT_LOSS, MAX_DISPATCH_LATENCY=5 SECONDS,
    MEMORY_PARTITION_MODE=PER_CPU, TRACK_CAUSALITY=ON, STARTUP_STATE=ON);
GO
SELECT event_retention_mode, max_dispatch_latency, max_memory, max_event_size, memory_partition_mode_desc, track_causality, startup_state
FROM sys.server_event_sessions WHERE name = N'SLOW ones';
SELECT e.event_id, e.package, e.name, e.predicate FROM sys.server_event_session_events e
JOIN sys.server_event_sessions s ON s.event_session_id = e.event_session_id WHERE s.name = N'slow ones' ORDER BY event_id;
SELECT a.event_id, a.package, a.name FROM sys.server_event_session_actions a
JOIN sys.server_event_sessions s ON s.event_session_id = a.event_session_id WHERE s.name = N'slow ones';
SELECT t.target_id, t.package, t.name FROM sys.server_event_session_targets t
JOIN sys.server_event_sessions s ON s.event_session_id = t.event_session_id WHERE s.name = N'slow ones';
-- As Management Objects finds targets, whose data it then reads.
SELECT t.package + '.' + t.name AS name FROM sys.server_event_sessions s, sys.server_event_session_targets t
JOIN sys.dm_xe_objects o ON t.name = o.name AND o.object_type = 'target'
JOIN sys.dm_xe_packages p ON t.module = p.module_guid AND t.package = p.name AND p.guid = o.package_guid
WHERE s.event_session_id = t.event_session_id AND s.name = N'slow ones';
SELECT f.object_id, f.name, f.value FROM sys.server_event_session_fields f
JOIN sys.server_event_sessions s ON s.event_session_id = f.event_session_id WHERE s.name = N'slow ones';
SELECT CAST(predicate_xml AS xml).value('count(//leaf)', 'int') AS leaves FROM sys.server_event_session_events
WHERE predicate_xml IS NOT NULL AND name = 'sql_batch_completed';
GO
SELECT COUNT(*) AS running FROM sys.dm_xe_sessions WHERE name = N'slow ones';
ALTER EVENT SESSION [slow ones] ON SERVER STATE = STOP;
GO
ALTER EVENT SESSION [slow ones] ON SERVER STATE = START;
SELECT COUNT(*) AS running FROM sys.dm_xe_sessions WHERE name = N'slow ones';
GO
ALTER EVENT SESSION [slow ones] ON SERVER STATE = START;
GO
ALTER EVENT SESSION [slow ones] ON SERVER WITH (MAX_MEMORY = 1 MB);
GO
ALTER EVENT SESSION [slow ones] ON SERVER ADD EVENT sqlserver.error_reported, DROP EVENT sqlserver.rpc_completed, DROP TARGET package0.event_counter
    WITH (STARTUP_STATE = OFF);
SELECT e.event_name, a.action_name FROM sys.dm_xe_session_events e LEFT JOIN sys.dm_xe_session_event_actions a
    ON a.event_session_address = e.event_session_address AND a.event_name = e.event_name
    JOIN sys.dm_xe_sessions s ON s.address = e.event_session_address WHERE s.name = N'slow ones';
SELECT target_name FROM sys.dm_xe_session_targets t JOIN sys.dm_xe_sessions s ON s.address = t.event_session_address WHERE s.name = N'slow ones';
SELECT column_name, column_value FROM sys.dm_xe_session_object_columns c JOIN sys.dm_xe_sessions s ON s.address = c.event_session_address WHERE s.name = N'slow ones';
GO
ALTER EVENT SESSION [slow ones] ON SERVER ADD EVENT sqlserver.error_reported;
GO
ALTER EVENT SESSION [slow ones] ON SERVER DROP EVENT sqlserver.rpc_completed;
GO
ALTER EVENT SESSION [slow ones] ON SERVER DROP TARGET package0.histogram;
GO
ALTER EVENT SESSION [slow ones] ON SERVER STATE = STOP;
ALTER EVENT SESSION [slow ones] ON SERVER WITH (MAX_MEMORY = 1 MB, MAX_DISPATCH_LATENCY = INFINITE, EVENT_RETENTION_MODE = NO_EVENT_LOSS);
SELECT max_memory, max_dispatch_latency, event_retention_mode FROM sys.server_event_sessions WHERE name = N'slow ones';
GO
CREATE EVENT SESSION [slow ones] ON SERVER ADD EVENT sqlserver.login;
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.no_such_event;
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT nowhere.login;
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login, ADD EVENT sqlserver.login;
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(ACTION(sqlserver.no_such_action));
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(SET no_such_setting = 1);
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(WHERE no_such_column = 1);
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(WHERE sqlserver.no_such_source = 1);
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(WHERE package0.no_such_comparator(packet_size, 1));
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(WHERE packet_size = 'x');
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(WHERE packet_size LIKE 'x');
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login(WHERE database_name = 5);
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.no_such_target;
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.event_file;
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.ring_buffer(SET max_memory = 'much');
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.ring_buffer(SET max_memory = 1, max_memory = 2);
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login WITH (MAX_MEMORY = 1 GB);
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login WITH (STARTUP_STATE = ON, STARTUP_STATE = OFF);
GO
CREATE EVENT SESSION a ON DATABASE ADD EVENT sqlserver.login;
GO
DROP EVENT SESSION no_such_session ON SERVER;
GO
ALTER EVENT SESSION no_such_session ON SERVER STATE = START;
GO
DROP EVENT SESSION [slow ones] ON SERVER;
SELECT COUNT(*) AS left_of_it FROM sys.server_event_sessions WHERE name = N'slow ones';
GO
-- As monitoring tools write them.
CREATE EVENT SESSION tool ON SERVER ADD EVENT sqlserver.sql_batch_completed(ACTION(sqlserver.request_id) WHERE (sql_text <> '' AND duration > 1000000)),
ADD EVENT sqlserver.module_end(SET collect_statement=(1)), ADD EVENT sqlserver.existing_connection(ACTION(sqlserver.session_id, sqlserver.session_resource_group_id) WHERE ([sqlserver.database_name]=N'master'))
ADD TARGET package0.ring_buffer(SET MAX_MEMORY = 10240);
ALTER EVENT SESSION tool ON SERVER STATE = START;
SELECT name, predicate FROM sys.server_event_session_events WHERE predicate IS NOT NULL AND event_session_id = (SELECT event_session_id FROM sys.server_event_sessions WHERE name = 'tool');
EXEC sp_executesql N'CREATE PROCEDURE #p AS RETURN 0';
GO
CREATE PROCEDURE dbo.inner_one AS RETURN 0;
GO
CREATE PROCEDURE dbo.outer_one AS EXEC dbo.inner_one;
GO
EXEC dbo.outer_one;
GO
SELECT e.value('@name', 'varchar(30)') AS event, e.value('(data[@name="object_name"]/value)[1]', 'varchar(30)') AS object, e.value('(data[@name="statement"]/value)[1]', 'varchar(60)') AS statement,
    IIF(e.value('(action[@name="session_id"]/value)[1]', 'int') = @@SPID, 'me', NULL) AS who
FROM sys.dm_xe_session_targets t JOIN sys.dm_xe_sessions s ON s.address = t.event_session_address CROSS APPLY (SELECT CAST(target_data AS xml) AS x) d CROSS APPLY d.x.nodes('//event') n(e)
WHERE s.name = 'tool';
DROP EVENT SESSION tool ON SERVER; DROP PROCEDURE dbo.outer_one, dbo.inner_one;
GO
-- Who may.
CREATE LOGIN watcher WITH PASSWORD = 'Abc12345!';
EXECUTE AS LOGIN = 'watcher';
GO
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login;
GO
SELECT COUNT(*) AS seen FROM sys.server_event_sessions;
GO
DROP EVENT SESSION system_health ON SERVER;
GO
REVERT;
GRANT ALTER ANY EVENT SESSION TO watcher;
EXECUTE AS LOGIN = 'watcher';
CREATE EVENT SESSION a ON SERVER ADD EVENT sqlserver.login;
DROP EVENT SESSION a ON SERVER;
REVERT;
DROP LOGIN watcher;
GO
-- What there is.
SELECT object_type, COUNT(*) AS n FROM sys.dm_xe_objects WHERE object_type IN ('target', 'map') GROUP BY object_type;
SELECT p.name AS package, o.name, o.description FROM sys.dm_xe_objects o JOIN sys.dm_xe_packages p ON p.guid = o.package_guid WHERE o.name = 'sql_statement_completed';
SELECT name, type_name, column_type FROM sys.dm_xe_object_columns WHERE object_name = 'error_reported' ORDER BY column_id;
SELECT map_key, map_value FROM sys.dm_xe_map_values WHERE name = 'sql_transaction_state';
