-- DBCC commands answer from what the instance knows: the planner's sample, the log's files, the caches.
CREATE TABLE orders (id int NOT NULL CONSTRAINT pk_orders PRIMARY KEY, state varchar(10) NULL, amount int NOT NULL);
CREATE INDEX by_state ON orders (state);
INSERT orders SELECT value, CASE WHEN value % 4 = 0 THEN 'open' ELSE 'closed' END, value % 10 FROM GENERATE_SERIES(1, 100);
GO
-- Three parts: what was sampled, how selective each prefix is, and the histogram.
DBCC SHOW_STATISTICS ('orders', by_state) WITH DENSITY_VECTOR;
DBCC SHOW_STATISTICS ('dbo.orders', 'by_state') WITH HISTOGRAM, NO_INFOMSGS;
DBCC SHOW_STATISTICS (orders, amount) WITH HISTOGRAM, NO_INFOMSGS;
DBCC SHOW_STATISTICS (orders, pk_orders) WITH DENSITY_VECTOR, NO_INFOMSGS;
GO
DBCC SHOW_STATISTICS (orders, nothing);
GO
DBCC SHOW_STATISTICS (nothing, by_state);
GO
-- Every row of the histogram of a key stands for the rows up to it.
CREATE TABLE #steps (high sql_variant, range_rows real, equal_rows real, distinct_rows bigint, average real);
INSERT #steps EXEC ('DBCC SHOW_STATISTICS (orders, pk_orders) WITH HISTOGRAM, NO_INFOMSGS');
SELECT COUNT(*) AS steps, SUM(range_rows + equal_rows) AS rows, MIN(CAST(high AS int)) AS low, MAX(CAST(high AS int)) AS high FROM #steps;
CREATE TABLE #header (name sysname, updated nvarchar(20), rows bigint, sampled bigint, steps smallint, density real, length real, string_index char(3), filter nvarchar(max), unfiltered bigint, persisted float);
INSERT #header EXEC ('DBCC SHOW_STATISTICS (orders, by_state) WITH STAT_HEADER, NO_INFOMSGS');
SELECT name, rows, sampled, steps, string_index, filter, unfiltered FROM #header;
GO
-- The log's files: one at least is in use, and the view says the same.
CREATE TABLE #vlf (unit int, file_id int, size bigint, start bigint, seq int, status int, parity tinyint, lsn numeric(25, 0));
INSERT #vlf EXEC ('DBCC LOGINFO');
SELECT CASE WHEN COUNT(*) > 0 AND SUM(CASE status WHEN 2 THEN 1 ELSE 0 END) > 0 THEN 'in use' END AS log FROM #vlf;
SELECT COUNT(*) - (SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID())) AS difference FROM #vlf;
SELECT total_vlf_count - (SELECT COUNT(*) FROM #vlf) AS difference FROM sys.dm_db_log_stats(DB_ID());
GO
DBCC LOGINFO ('nowhere');
GO
CREATE TABLE #plans (buffers int, used int, active int, size int, size_used int, size_active int);
INSERT #plans EXEC ('DBCC PROCCACHE');
SELECT CASE WHEN buffers > 0 AND used <= buffers AND size >= size_used THEN 'plans' END AS cache FROM #plans;
GO
DBCC SHOWCONTIG (orders);
DBCC SHOWCONTIG (orders) WITH TABLERESULTS, ALL_INDEXES, NO_INFOMSGS;
GO
CREATE TABLE #info (parent nvarchar(256), object nvarchar(256), field nvarchar(256), value nvarchar(256));
INSERT #info EXEC ('DBCC DBINFO WITH TABLERESULTS, NO_INFOMSGS');
SELECT field, value FROM #info WHERE field IN ('dbi_dbname', 'dbi_cmptlevel', 'dbi_collation');
GO
DBCC HELP ('checkdb');
DBCC HELP ('nothing');
GO
DBCC STACKDUMP;
GO
-- A database can be given to another login.
CREATE LOGIN owner_to_be WITH PASSWORD = 'Longer-than-8';
EXEC sp_changedbowner 'owner_to_be';
SELECT SUSER_SNAME(owner_sid) AS owner FROM sys.databases WHERE database_id = DB_ID();
EXEC sp_changedbowner 'nobody';
GO
CREATE LOGIN another WITH PASSWORD = 'Longer-than-8';
ALTER AUTHORIZATION ON DATABASE::master TO another;
SELECT SUSER_SNAME(owner_sid) AS owner FROM sys.databases WHERE database_id = DB_ID();
CREATE LOGIN guest_to_be WITH PASSWORD = 'Longer-than-8';
CREATE USER guest_to_be;
EXEC sp_changedbowner 'guest_to_be';
GO
SELECT COUNT(*) AS counters FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Shrinks';
GO
-- What the log would replay, and what was backed up of it: nothing.
SELECT log_backup_time, log_backup_lsn, CASE WHEN log_since_last_log_backup_mb = active_log_size_mb THEN 'all' END AS since_backup,
  CASE WHEN log_since_last_checkpoint_mb >= 0 AND log_recovery_size_mb >= log_since_last_checkpoint_mb THEN 'yes' END AS ordered,
  CASE WHEN recovery_vlf_count BETWEEN 1 AND active_vlf_count THEN 'yes' END AS within
FROM sys.dm_db_log_stats(DB_ID());
GO
SELECT CASE WHEN modified_extent_page_count = allocated_extent_page_count THEN 'all' END AS never_backed_up FROM sys.dm_db_file_space_usage;
GO
