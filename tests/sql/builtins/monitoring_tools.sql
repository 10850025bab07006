-- What monitoring tools (Telegraf, Datadog, Zabbix, netdata, exporters for Prometheus) read beside the views of other scripts.

-- Counters that they look up by name. Some are of things that cannot happen here: they are there, and 0.
SELECT RTRIM(object_name) AS object, RTRIM(counter_name) AS counter, RTRIM(instance_name) AS instance, cntr_type,
       CASE WHEN cntr_value > 0 THEN 'counted' ELSE '0' END AS value
FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%:SQL Errors%' OR object_name LIKE '%:Latches%' OR object_name LIKE '%:Access Methods%'
   OR counter_name IN ('Lazy writes/sec', 'Free list stalls/sec', 'SQL Re-Compilations/sec', 'Average Wait Time Base',
                       'Average Wait Time (ms)', 'Memory Grants Pending', 'Cache Hit Ratio', 'Cache Hit Ratio Base')
ORDER BY 1, 2, 3;
GO
-- An error, and then there is one more.
DECLARE @before bigint = (SELECT cntr_value FROM sys.dm_os_performance_counters
                          WHERE counter_name = 'Errors/sec' AND instance_name = 'User Errors');
EXEC ('SELECT 1/0');
SELECT cntr_value - @before AS errors FROM sys.dm_os_performance_counters
WHERE counter_name = 'Errors/sec' AND instance_name = 'User Errors';
GO
-- Searches and scans of indexes, those of tables that are no more too.
CREATE TABLE t (a int PRIMARY KEY, b int);
INSERT t VALUES (1, 2), (3, 4);
DECLARE @scans bigint = (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Full Scans/sec');
DECLARE @seeks bigint = (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Index Searches/sec');
SELECT b FROM t WHERE a = 3;
SELECT SUM(b) AS sum_b FROM t;
DROP TABLE t;
SELECT CASE WHEN cntr_value > @scans THEN 'more' END AS scans FROM sys.dm_os_performance_counters WHERE counter_name = 'Full Scans/sec';
SELECT CASE WHEN cntr_value > @seeks THEN 'more' END AS seeks FROM sys.dm_os_performance_counters WHERE counter_name = 'Index Searches/sec';
GO
-- Nothing is divided by zero.
SELECT CASE WHEN 100.0 * r.cntr_value / b.cntr_value BETWEEN 0 AND 100 THEN 'a ratio' END AS hits
FROM sys.dm_os_performance_counters r JOIN sys.dm_os_performance_counters b ON b.object_name = r.object_name
WHERE r.counter_name = 'Buffer cache hit ratio' AND b.counter_name = 'Buffer cache hit ratio base';
GO
SELECT COUNT(DISTINCT scheduler_id) - COUNT(*) AS twice, MIN(preemptive_switches_count) AS preemptive,
       SUM(pending_disk_io_count) AS io, COUNT(yield_count) AS yields
FROM sys.dm_os_schedulers;
SELECT SUM(pending_io_byte_count) AS bytes, AVG(pending_io_byte_average) AS average FROM sys.dm_os_tasks;
SELECT COUNT(*) AS not_known FROM sys.dm_os_ring_buffers WHERE ring_buffer_type <> 'RING_BUFFER_SCHEDULER_MONITOR';
SELECT COUNT(*) AS unlike FROM sys.dm_os_buffer_descriptors WHERE is_modified = 1 OR database_id IS NULL OR page_type IS NULL;
SELECT name, num_databases, num_capture_threads FROM sys.dm_hadr_ag_threads;
GO
SELECT primary_database, last_backup_date FROM msdb.dbo.log_shipping_monitor_primary;
SELECT secondary_database, last_restored_latency FROM msdb.dbo.log_shipping_monitor_secondary;
GO
