-- Availability group over three instances, from nothing to a validated state.
--
-- SQLCMD mode. Variables:
--   Server1 Server2 Server3      host,port of each instance as clients reach it
--   Name1 Name2 Name3            @@SERVERNAME of each
--   Url1 Url2 Url3               TCP://host:port of each endpoint
--   Port1 Port2 Port3            endpoint ports
--   Route1 Route2 Route3         TCP://host:port for read-only routing
--   Password                     password of sa on all three
--   CertDir                      a directory that all three reach
--   Group, Database              names
-- Every part may run again: it looks before it makes.
:ON ERROR EXIT

-------------------------------------------------------------------------------
-- 1. Every instance: feature on, master key, certificate, certificate in a file
-------------------------------------------------------------------------------
:CONNECT $(Server1) -U sa -P $(Password)
IF CAST(SERVERPROPERTY('IsHadrEnabled') AS int) <> 1
    RAISERROR(N'Always On is not enabled on %s.', 16, 1, @@SERVERNAME);
GO
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.databases WHERE name = N'$(Database)')
    CREATE DATABASE [$(Database)];
GO
-- CREATE MASTER KEY has no IF NOT EXISTS: an instance that has a certificate has a key.
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_1')
BEGIN
    CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Master-Key-1!';
    CREATE CERTIFICATE ag_certificate_1 WITH SUBJECT = N'endpoint of $(Name1)', EXPIRY_DATE = '20350101';
    BACKUP CERTIFICATE ag_certificate_1 TO FILE = N'$(CertDir)/ag_1.cer';
END
GO
:CONNECT $(Server2) -U sa -P $(Password)
IF CAST(SERVERPROPERTY('IsHadrEnabled') AS int) <> 1
    RAISERROR(N'Always On is not enabled on %s.', 16, 1, @@SERVERNAME);
GO
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_2')
BEGIN
    CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Master-Key-2!';
    CREATE CERTIFICATE ag_certificate_2 WITH SUBJECT = N'endpoint of $(Name2)', EXPIRY_DATE = '20350101';
    BACKUP CERTIFICATE ag_certificate_2 TO FILE = N'$(CertDir)/ag_2.cer';
END
GO
:CONNECT $(Server3) -U sa -P $(Password)
IF CAST(SERVERPROPERTY('IsHadrEnabled') AS int) <> 1
    RAISERROR(N'Always On is not enabled on %s.', 16, 1, @@SERVERNAME);
GO
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_3')
BEGIN
    CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Master-Key-3!';
    CREATE CERTIFICATE ag_certificate_3 WITH SUBJECT = N'endpoint of $(Name3)', EXPIRY_DATE = '20350101';
    BACKUP CERTIFICATE ag_certificate_3 TO FILE = N'$(CertDir)/ag_3.cer';
END
GO

-------------------------------------------------------------------------------
-- 2. Every instance: login for its peers, their certificates, endpoint, grant
-------------------------------------------------------------------------------
:CONNECT $(Server1) -U sa -P $(Password)
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.server_principals WHERE name = N'ag_endpoint')
    CREATE LOGIN ag_endpoint WITH PASSWORD = N'Endpoint-Login-1!';
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_2')
    CREATE CERTIFICATE ag_certificate_2 FROM FILE = N'$(CertDir)/ag_2.cer';
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_3')
    CREATE CERTIFICATE ag_certificate_3 FROM FILE = N'$(CertDir)/ag_3.cer';
GO
IF NOT EXISTS (SELECT 1 FROM sys.database_mirroring_endpoints WHERE name = N'Hadr_endpoint')
    CREATE ENDPOINT Hadr_endpoint
        STATE = STARTED
        AS TCP (LISTENER_PORT = $(Port1), LISTENER_IP = ALL)
        FOR DATABASE_MIRRORING (
            AUTHENTICATION = CERTIFICATE ag_certificate_1,
            ENCRYPTION = REQUIRED ALGORITHM AES,
            ROLE = ALL);
GO
IF (SELECT state FROM sys.endpoints WHERE name = N'Hadr_endpoint') <> 0
    ALTER ENDPOINT Hadr_endpoint STATE = STARTED;
GO
GRANT CONNECT ON ENDPOINT::Hadr_endpoint TO ag_endpoint;
GO
:CONNECT $(Server2) -U sa -P $(Password)
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.server_principals WHERE name = N'ag_endpoint')
    CREATE LOGIN ag_endpoint WITH PASSWORD = N'Endpoint-Login-2!';
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_1')
    CREATE CERTIFICATE ag_certificate_1 FROM FILE = N'$(CertDir)/ag_1.cer';
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_3')
    CREATE CERTIFICATE ag_certificate_3 FROM FILE = N'$(CertDir)/ag_3.cer';
GO
IF NOT EXISTS (SELECT 1 FROM sys.database_mirroring_endpoints WHERE name = N'Hadr_endpoint')
    CREATE ENDPOINT Hadr_endpoint
        STATE = STARTED
        AS TCP (LISTENER_PORT = $(Port2), LISTENER_IP = ALL)
        FOR DATABASE_MIRRORING (
            AUTHENTICATION = CERTIFICATE ag_certificate_2,
            ENCRYPTION = REQUIRED ALGORITHM AES,
            ROLE = ALL);
GO
IF (SELECT state FROM sys.endpoints WHERE name = N'Hadr_endpoint') <> 0
    ALTER ENDPOINT Hadr_endpoint STATE = STARTED;
GO
GRANT CONNECT ON ENDPOINT::Hadr_endpoint TO ag_endpoint;
GO
:CONNECT $(Server3) -U sa -P $(Password)
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.server_principals WHERE name = N'ag_endpoint')
    CREATE LOGIN ag_endpoint WITH PASSWORD = N'Endpoint-Login-3!';
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_1')
    CREATE CERTIFICATE ag_certificate_1 FROM FILE = N'$(CertDir)/ag_1.cer';
GO
IF NOT EXISTS (SELECT 1 FROM sys.certificates WHERE name = N'ag_certificate_2')
    CREATE CERTIFICATE ag_certificate_2 FROM FILE = N'$(CertDir)/ag_2.cer';
GO
IF NOT EXISTS (SELECT 1 FROM sys.database_mirroring_endpoints WHERE name = N'Hadr_endpoint')
    CREATE ENDPOINT Hadr_endpoint
        STATE = STARTED
        AS TCP (LISTENER_PORT = $(Port3), LISTENER_IP = ALL)
        FOR DATABASE_MIRRORING (
            AUTHENTICATION = CERTIFICATE ag_certificate_3,
            ENCRYPTION = REQUIRED ALGORITHM AES,
            ROLE = ALL);
GO
IF (SELECT state FROM sys.endpoints WHERE name = N'Hadr_endpoint') <> 0
    ALTER ENDPOINT Hadr_endpoint STATE = STARTED;
GO
GRANT CONNECT ON ENDPOINT::Hadr_endpoint TO ag_endpoint;
GO

-------------------------------------------------------------------------------
-- 3. The primary: tables with something in them, then the group
-------------------------------------------------------------------------------
:CONNECT $(Server1) -U sa -P $(Password)
USE [$(Database)];
GO
IF OBJECT_ID(N'dbo.orders', N'U') IS NULL
BEGIN
    CREATE TABLE dbo.orders (
        id int IDENTITY(1, 1) NOT NULL CONSTRAINT pk_orders PRIMARY KEY,
        customer nvarchar(100) NOT NULL,
        amount decimal(12, 2) NOT NULL,
        placed datetime2(3) NOT NULL CONSTRAINT df_orders_placed DEFAULT SYSUTCDATETIME());
    CREATE INDEX ix_orders_customer ON dbo.orders (customer) INCLUDE (amount);
END
GO
SET NOCOUNT ON;
DECLARE @i int = 0;
WHILE @i < 200
BEGIN
    INSERT INTO dbo.orders (customer, amount) VALUES (CONCAT(N'customer ', @i % 10), @i * 1.25);
    SET @i += 1;
END
GO
USE master;
GO
IF EXISTS (SELECT 1 FROM sys.databases WHERE name = N'$(Database)' AND recovery_model_desc <> N'FULL')
    ALTER DATABASE [$(Database)] SET RECOVERY FULL;
GO
IF NOT EXISTS (SELECT 1 FROM sys.availability_groups WHERE name = N'$(Group)')
    CREATE AVAILABILITY GROUP [$(Group)]
    WITH (
        AUTOMATED_BACKUP_PREFERENCE = SECONDARY,
        FAILURE_CONDITION_LEVEL = 3,
        HEALTH_CHECK_TIMEOUT = 30000,
        DB_FAILOVER = ON,
        DTC_SUPPORT = NONE,
        REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 0)
    FOR
    REPLICA ON
        N'$(Name1)' WITH (
            ENDPOINT_URL = N'$(Url1)',
            AVAILABILITY_MODE = SYNCHRONOUS_COMMIT,
            FAILOVER_MODE = MANUAL,
            SEEDING_MODE = AUTOMATIC,
            BACKUP_PRIORITY = 30,
            SESSION_TIMEOUT = 10,
            SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY, READ_ONLY_ROUTING_URL = N'$(Route1)'),
            PRIMARY_ROLE (ALLOW_CONNECTIONS = ALL)),
        N'$(Name2)' WITH (
            ENDPOINT_URL = N'$(Url2)',
            AVAILABILITY_MODE = SYNCHRONOUS_COMMIT,
            FAILOVER_MODE = MANUAL,
            SEEDING_MODE = AUTOMATIC,
            BACKUP_PRIORITY = 50,
            SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL, READ_ONLY_ROUTING_URL = N'$(Route2)'));
GO
-- The third replica later, as an administrator would.
IF NOT EXISTS (
    SELECT 1
    FROM sys.availability_replicas AS ar
    JOIN sys.availability_groups AS ag ON ag.group_id = ar.group_id
    WHERE ag.name = N'$(Group)' AND ar.replica_server_name = N'$(Name3)')
    ALTER AVAILABILITY GROUP [$(Group)]
    ADD REPLICA ON N'$(Name3)' WITH (
        ENDPOINT_URL = N'$(Url3)',
        AVAILABILITY_MODE = SYNCHRONOUS_COMMIT,
        FAILOVER_MODE = MANUAL,
        SEEDING_MODE = AUTOMATIC,
        BACKUP_PRIORITY = 50,
        SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY, READ_ONLY_ROUTING_URL = N'$(Route3)'));
GO
ALTER AVAILABILITY GROUP [$(Group)]
MODIFY REPLICA ON N'$(Name1)' WITH (PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = ((N'$(Name2)', N'$(Name3)'), N'$(Name1)')));
GO
ALTER AVAILABILITY GROUP [$(Group)]
MODIFY REPLICA ON N'$(Name2)' WITH (PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = ((N'$(Name1)', N'$(Name3)'), N'$(Name2)')));
GO

-------------------------------------------------------------------------------
-- 4. The secondaries join, and may create what is seeded
-------------------------------------------------------------------------------
:CONNECT $(Server2) -U sa -P $(Password)
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.availability_groups WHERE name = N'$(Group)')
    ALTER AVAILABILITY GROUP [$(Group)] JOIN;
GO
ALTER AVAILABILITY GROUP [$(Group)] GRANT CREATE ANY DATABASE;
GO
:CONNECT $(Server3) -U sa -P $(Password)
USE master;
GO
IF NOT EXISTS (SELECT 1 FROM sys.availability_groups WHERE name = N'$(Group)')
    ALTER AVAILABILITY GROUP [$(Group)] JOIN;
GO
ALTER AVAILABILITY GROUP [$(Group)] GRANT CREATE ANY DATABASE;
GO

-------------------------------------------------------------------------------
-- 5. The database enters the group; wait until every copy is synchronized
-------------------------------------------------------------------------------
:CONNECT $(Server1) -U sa -P $(Password)
USE master;
GO
IF NOT EXISTS (
    SELECT 1
    FROM sys.availability_databases_cluster AS adc
    JOIN sys.availability_groups AS ag ON ag.group_id = adc.group_id
    WHERE ag.name = N'$(Group)' AND adc.database_name = N'$(Database)')
    ALTER AVAILABILITY GROUP [$(Group)] ADD DATABASE [$(Database)];
GO
DECLARE @waited int = 0;
WHILE @waited < 600 AND (
    SELECT COUNT(*)
    FROM sys.dm_hadr_database_replica_states AS drs
    JOIN sys.availability_groups AS ag ON ag.group_id = drs.group_id
    WHERE ag.name = N'$(Group)' AND drs.synchronization_state_desc = N'SYNCHRONIZED') < 3
BEGIN
    WAITFOR DELAY '00:00:00.100';
    SET @waited += 1;
END
IF @waited = 600
    RAISERROR(N'The replicas did not become synchronized within a minute.', 16, 1);
GO

-------------------------------------------------------------------------------
-- 6. Validation: catalog views and states agree
-------------------------------------------------------------------------------
SELECT
    ag.name AS [group],
    ar.replica_server_name AS replica,
    ar.availability_mode_desc AS mode,
    ar.failover_mode_desc AS failover,
    ars.role_desc AS role,
    ars.connected_state_desc AS connected,
    ars.synchronization_health_desc AS health,
    arcs.join_state_desc AS joined
FROM sys.availability_groups AS ag
JOIN sys.availability_replicas AS ar ON ar.group_id = ag.group_id
JOIN sys.dm_hadr_availability_replica_states AS ars ON ars.replica_id = ar.replica_id
JOIN sys.dm_hadr_availability_replica_cluster_states AS arcs ON arcs.replica_id = ar.replica_id
WHERE ag.name = N'$(Group)'
ORDER BY ar.replica_server_name;
GO
SELECT
    adc.database_name AS [database],
    ar.replica_server_name AS replica,
    drs.synchronization_state_desc AS state,
    drs.synchronization_health_desc AS health,
    drs.is_commit_participant AS waited_for,
    drcs.is_failover_ready AS ready,
    drs.is_suspended AS suspended
FROM sys.dm_hadr_database_replica_states AS drs
JOIN sys.availability_databases_cluster AS adc ON adc.group_database_id = drs.group_database_id
JOIN sys.availability_replicas AS ar ON ar.replica_id = drs.replica_id
JOIN sys.dm_hadr_database_replica_cluster_states AS drcs
    ON drcs.replica_id = drs.replica_id AND drcs.group_database_id = drs.group_database_id
ORDER BY adc.database_name, ar.replica_server_name;
GO
IF EXISTS (SELECT 1 FROM sys.dm_hadr_availability_group_states WHERE synchronization_health_desc <> N'HEALTHY')
    RAISERROR(N'The group is not healthy.', 16, 1);
IF (SELECT primary_replica FROM sys.dm_hadr_availability_group_states) <> N'$(Name1)'
    RAISERROR(N'The primary is not where it was made.', 16, 1);
IF sys.fn_hadr_is_primary_replica(N'$(Database)') <> 1
    RAISERROR(N'fn_hadr_is_primary_replica does not say 1 on the primary.', 16, 1);
IF CAST(DATABASEPROPERTYEX(N'$(Database)', N'Updateability') AS nvarchar(20)) <> N'READ_WRITE'
    RAISERROR(N'The primary copy is not writable.', 16, 1);
GO
SELECT
    ar.replica_server_name AS [list of],
    rl.routing_priority AS priority,
    target.replica_server_name AS target,
    target.read_only_routing_url AS url
FROM sys.availability_read_only_routing_lists AS rl
JOIN sys.availability_replicas AS ar ON ar.replica_id = rl.replica_id
JOIN sys.availability_replicas AS target ON target.replica_id = rl.read_only_replica_id
ORDER BY ar.replica_server_name, rl.routing_priority, target.replica_server_name;
GO
SELECT te.name, te.port, dme.role_desc, dme.connection_auth_desc, dme.encryption_algorithm_desc
FROM sys.tcp_endpoints AS te
JOIN sys.database_mirroring_endpoints AS dme ON dme.endpoint_id = te.endpoint_id;
GO
-- Who is waited for, in the view that says so.
SELECT database_name, replica_server_name, is_waited_for, commits_are_blocked
FROM sys.dm_keel_commit_participants
ORDER BY replica_server_name;
GO

-------------------------------------------------------------------------------
-- 7. What the primary commits, the secondaries read
-------------------------------------------------------------------------------
USE [$(Database)];
GO
INSERT INTO dbo.orders (customer, amount) VALUES (N'last customer', 99.99);
GO
USE master;
GO
:CONNECT $(Server2) -U sa -P $(Password)
DECLARE @waited int = 0;
WHILE @waited < 300 AND NOT EXISTS (SELECT 1 FROM [$(Database)].dbo.orders WHERE customer = N'last customer')
BEGIN
    WAITFOR DELAY '00:00:00.100';
    SET @waited += 1;
END
SELECT COUNT(*) AS orders, SUM(amount) AS total FROM [$(Database)].dbo.orders;
IF sys.fn_hadr_is_primary_replica(N'$(Database)') <> 0
    RAISERROR(N'fn_hadr_is_primary_replica does not say 0 on a secondary.', 16, 1);
IF CAST(DATABASEPROPERTYEX(N'$(Database)', N'Updateability') AS nvarchar(20)) <> N'READ_ONLY'
    RAISERROR(N'A secondary copy says it is writable.', 16, 1);
GO
-- Temporary tables work there; writes to the copy do not.
SELECT customer, SUM(amount) AS total INTO #totals FROM [$(Database)].dbo.orders GROUP BY customer;
SELECT COUNT(*) AS customers FROM #totals;
GO
BEGIN TRY
    DELETE FROM [$(Database)].dbo.orders;
    RAISERROR(N'A secondary took a write.', 16, 1);
END TRY
BEGIN CATCH
    IF ERROR_NUMBER() <> 3906 THROW;
    PRINT N'Writes on the secondary are refused with 3906.';
END CATCH
GO
:CONNECT $(Server1) -U sa -P $(Password)
PRINT N'The availability group is ready.';
GO
