-- What a session runs now: the module's text and the statement's place in it, as activity monitors look them up.
CREATE PROCEDURE dbo.looks AS
BEGIN
    DECLARE @n int = 0;
    IF @n = 0
        SELECT OBJECT_NAME(t.objectid) AS module, SUBSTRING(t.text, r.statement_start_offset / 2 + 1, 21) AS statement
        FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t WHERE r.session_id = @@SPID;
    SELECT N'→' AS [before], SUBSTRING(t.text, r.statement_start_offset / 2 + 1,
        CASE r.statement_end_offset WHEN -1 THEN 10000 ELSE (r.statement_end_offset - r.statement_start_offset) / 2 END) AS statement
        FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t WHERE r.session_id = @@SPID; RETURN 0
END
GO
EXEC dbo.looks;
GO
-- After the call the batch is what runs.
DECLARE @status int; EXEC @status = dbo.looks; SELECT LEFT(t.text, 44) AS text, r.statement_end_offset
FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t WHERE r.session_id = @@SPID;
GO
EXEC sp_executesql N'DECLARE @x int; SELECT SUBSTRING(t.text, r.statement_start_offset / 2 + 1, 16) AS statement, IIF(p.query_plan IS NULL, 0, 1) AS has_plan
FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t CROSS APPLY sys.dm_exec_query_plan(r.plan_handle) p WHERE r.session_id = @@SPID';
GO
SELECT SUBSTRING(t.text, p.stmt_start / 2 + 1, 22) AS statement FROM sys.sysprocesses p CROSS APPLY sys.dm_exec_sql_text(p.sql_handle) t WHERE p.spid = @@SPID;
