CREATE EVENT SESSION e ON SERVER ADD EVENT sqlserver.x
GO
CREATE EVENT SESSION [slow ones] ON SERVER
ADD EVENT sqlserver.rpc_completed(SET collect_statement=(1)
    ACTION(sqlserver.sql_text, package0.event_sequence)
    WHERE ([sqlserver].[database_id]=(5) AND ([duration]>(1000000) OR NOT (object_name LIKE N'x%')))),
ADD EVENT sqlserver.sql_batch_completed(
    WHERE [package0].[greater_than_uint64]([duration],(5)) AND sqlserver.session_id <> 51)
ADD TARGET package0.event_file(SET filename=N'slow.xel',max_file_size=(5)),
ADD TARGET package0.ring_buffer
WITH (MAX_MEMORY=4096 KB,EVENT_RETENTION_MODE=ALLOW_SINGLE_EVENT_LOSS,MAX_DISPATCH_LATENCY=30 SECONDS,
    MEMORY_PARTITION_MODE=NONE,TRACK_CAUSALITY=OFF,STARTUP_STATE=ON)
GO
ALTER EVENT SESSION e ON SERVER STATE = START
GO
ALTER EVENT SESSION e ON SERVER ADD EVENT sqlserver.y, DROP EVENT sqlserver.x, DROP TARGET package0.ring_buffer WITH (STARTUP_STATE = OFF)
GO
ALTER EVENT SESSION e ON SERVER STATE = STOP DROP EVENT SESSION e ON SERVER
GO
DROP EVENT SESSION e ON DATABASE
