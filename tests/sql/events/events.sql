-- What events say, and what targets keep of them.
CREATE EVENT SESSION s ON SERVER
ADD EVENT sqlserver.sql_statement_completed(ACTION(sqlserver.database_name, sqlserver.username)),
ADD EVENT sqlserver.sp_statement_completed,
ADD EVENT sqlserver.sql_batch_completed,
ADD EVENT sqlserver.module_end,
ADD EVENT sqlserver.error_reported(WHERE severity > 10),
ADD EVENT sqlserver.sql_transaction,
ADD EVENT sqlserver.user_event(WHERE event_id = 83)
ADD TARGET package0.ring_buffer,
ADD TARGET package0.event_counter,
ADD TARGET package0.histogram(SET filtering_event_name = N'sqlserver.error_reported', source = N'error_number', source_type = 0);
GO
CREATE PROCEDURE dbo.adds @a int AS BEGIN DECLARE @b int = @a + 1; IF @b > 2 SELECT @b AS b; END
GO
CREATE TABLE dbo.t (a int NOT NULL PRIMARY KEY);
GO
ALTER EVENT SESSION s ON SERVER STATE = START;
GO
INSERT dbo.t VALUES (1), (2), (3); EXEC dbo.adds 5;
GO
INSERT dbo.t VALUES (3);
GO
BEGIN TRY INSERT dbo.t VALUES (1); END TRY BEGIN CATCH END CATCH;
RAISERROR(N'wrong <%s>', 16, 1, N'here');
GO
EXEC sp_trace_generateevent 82, N'not wanted'; EXEC sp_trace_generateevent @eventid = 83, @userinfo = N'mine', @userdata = 0xCAFE;
DECLARE @rc int; EXEC @rc = sp_trace_generateevent 12, N'no such'; SELECT @rc AS rc;
GO
BEGIN TRAN work; INSERT dbo.t VALUES (9); SAVE TRAN here; ROLLBACK;
GO
ALTER EVENT SESSION s ON SERVER DROP EVENT sqlserver.sql_statement_completed, DROP EVENT sqlserver.sql_batch_completed, DROP EVENT sqlserver.error_reported;
GO
DECLARE @x xml = (SELECT CAST(target_data AS xml) FROM sys.dm_xe_session_targets t JOIN sys.dm_xe_sessions s ON s.address = t.event_session_address
    WHERE s.name = 's' AND t.target_name = 'ring_buffer');
SELECT e.value('@name', 'varchar(40)') AS event, e.value('(data[@name="row_count"]/value)[1]', 'int') AS rows,
    e.value('(data[@name="object_name"]/value)[1]', 'varchar(20)') AS object,
    COALESCE(e.value('(data[@name="statement"]/value)[1]', 'nvarchar(60)'), e.value('(data[@name="batch_text"]/value)[1]', 'nvarchar(60)'),
        e.value('(data[@name="message"]/value)[1]', 'nvarchar(60)'), e.value('(data[@name="user_info"]/value)[1]', 'nvarchar(60)')) AS text,
    COALESCE(e.value('(data[@name="result"]/text)[1]', 'varchar(10)'), e.value('(data[@name="transaction_state"]/text)[1]', 'varchar(10)'),
        e.value('(data[@name="is_intercepted"]/value)[1]', 'varchar(10)'), e.value('(data[@name="user_data"]/value)[1]', 'varchar(10)')) AS how,
    e.value('(action[@name="username"]/value)[1]', 'varchar(10)') AS who
FROM @x.nodes('/RingBufferTarget/event') n(e);
SELECT @x.value('(/RingBufferTarget/@eventCount)[1]', 'int') - @x.value('count(/RingBufferTarget/event)', 'int') AS missing,
    MIN(DATEDIFF(day, e.value('@timestamp', 'datetime2'), SYSUTCDATETIME())) AS days FROM @x.nodes('/RingBufferTarget/event') n(e);
GO
SELECT t.target_name, CAST(target_data AS xml) AS data FROM sys.dm_xe_session_targets t JOIN sys.dm_xe_sessions s ON s.address = t.event_session_address
    WHERE s.name = 's' AND t.target_name <> 'ring_buffer';
GO
DROP EVENT SESSION s ON SERVER;
GO
-- A file, and reading it on from a place in it.
CREATE EVENT SESSION f ON SERVER ADD EVENT sqlserver.error_reported(ACTION(sqlserver.sql_text) WHERE error_number >= 50000)
ADD TARGET package0.event_file(SET filename = N'mine.xel', max_file_size = 1, max_rollover_files = 2);
ALTER EVENT SESSION f ON SERVER STATE = START;
GO
RAISERROR(N'first
of two', 16, 1);
GO
RAISERROR(N'second & last', 16, 1);
GO
SELECT object_name, CAST(event_data AS xml).value('(/event/data[@name="message"]/value)[1]', 'nvarchar(40)') AS message,
    CAST(event_data AS xml).value('(/event/action[@name="sql_text"]/value)[1]', 'nvarchar(40)') AS sql_text, DATEDIFF(day, timestamp_utc, SYSUTCDATETIME()) AS days
FROM sys.fn_xe_file_target_read_file(N'mine*.xel', NULL, NULL, NULL);
DECLARE @file nvarchar(260), @offset bigint;
SELECT TOP 1 @file = file_name, @offset = file_offset FROM sys.fn_xe_file_target_read_file(N'mine*.xel', NULL, NULL, NULL) ORDER BY file_offset;
SELECT CAST(event_data AS xml).value('(/event/data[@name="message"]/value)[1]', 'nvarchar(40)') AS message FROM sys.fn_xe_file_target_read_file(N'mine*.xel', NULL, @file, @offset);
GO
SELECT * FROM sys.fn_xe_file_target_read_file(N'none*.xel', NULL, NULL, NULL);
GO
SELECT * FROM sys.fn_xe_file_target_read_file(N'mine*.xel', NULL, N'x', NULL);
GO
DROP EVENT SESSION f ON SERVER;
