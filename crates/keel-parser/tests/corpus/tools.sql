-- What drivers and tools send on connecting and for metadata, in our words.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED SET IMPLICIT_TRANSACTIONS OFF SET TEXTSIZE 2147483647 SET ROWCOUNT 0
GO
select @@MAX_PRECISION, @@version, @@SPID; select SERVERPROPERTY('ProductVersion'), DATABASEPROPERTYEX(DB_NAME(), 'Collation') as c, IS_SRVROLEMEMBER(N'sysadmin')
GO
SET FMTONLY ON select * from [dbo].[t] where 1=0 SET FMTONLY OFF
GO
exec sp_tables @table_name = N'%', @table_owner = NULL, @table_type = N'''TABLE'',''VIEW'''
GO
exec [shop]..sp_columns_100 N't', N'dbo', N'shop', NULL, @ODBCVer = 3, @fUsePattern = 1
GO
exec [sys].sp_describe_first_result_set N'select 1', NULL, 1
GO
exec sp_executesql N'SELECT * FROM t WHERE a = @P0', N'@P0 nvarchar(4000)', N'x'
GO
declare @p1 int set @p1=NULL exec sp_prepexec @p1 output,N'@P1 int',N'select @P1',1 select @p1
GO
IF @@TRANCOUNT > 0 COMMIT TRAN
GO
SELECT SCHEMA_NAME(tbl.schema_id) AS [Schema], tbl.name AS [Name], CAST(CASE WHEN tbl.is_ms_shipped = 1 THEN 1 WHEN (SELECT major_id FROM sys.extended_properties WHERE major_id = tbl.object_id AND minor_id = 0 AND class = 1 AND name = N'microsoft_database_tools_support') IS NOT NULL THEN 1 ELSE 0 END AS bit) AS [IsSystemObject],
'Server[@Name=' + quotename(CAST(serverproperty(N'Servername') AS sysname), '''') + ']' + '/Database[@Name=' + quotename(db_name(), '''') + ']' AS [Urn]
FROM sys.tables AS tbl LEFT OUTER JOIN sys.indexes AS idx ON idx.object_id = tbl.object_id and (idx.index_id < @_msparam_0 or (tbl.is_memory_optimized = 1 and idx.index_id = 2)) WHERE (CAST(0 AS bit) = @_msparam_1) ORDER BY [Schema] ASC, [Name] ASC
GO
create table #tmp_e (n int) insert into #tmp_e exec master.dbo.xp_msver drop table #tmp_e
GO
SELECT dtb.name, ISNULL(suser_sname(dtb.owner_sid), '') AS [Owner], (case when dtb.collation_name is null then 0x200 else 0 end) | (case when 1 = dtb.is_in_standby then 0x40 else 0 end) | (case dtb.state when 1 then 0x2 else 1 end) AS [Status], dtb.compatibility_level FROM master.sys.databases AS dtb WHERE (dtb.name = N'shop') ORDER BY [name] ASC
GO
declare @HkeyLocal nvarchar(18); select @HkeyLocal = N'HKEY_LOCAL_MACHINE'; exec master.dbo.xp_instance_regread @HkeyLocal, N'x', N'y', @z OUTPUT, N'no_output'
GO
SELECT r.session_id, r.status, t.text, SUBSTRING(t.text, (r.statement_start_offset / 2) + 1, ((CASE r.statement_end_offset WHEN -1 THEN DATALENGTH(t.text) ELSE r.statement_end_offset END - r.statement_start_offset) / 2) + 1) AS stmt FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) AS t OUTER APPLY sys.dm_exec_query_plan(r.plan_handle) p WHERE r.session_id <> @@SPID
GO
IF OBJECT_ID(N'dbo.t', N'U') IS NOT NULL DROP TABLE dbo.t; IF EXISTS (SELECT 1 FROM sys.objects WHERE object_id = OBJECT_ID(N'[dbo].[p]') AND type IN (N'P', N'PC')) DROP PROCEDURE [dbo].[p]
GO
SELECT c.TABLE_SCHEMA, c.COLUMN_NAME, COLUMNPROPERTY(OBJECT_ID(c.TABLE_SCHEMA + '.' + c.TABLE_NAME), c.COLUMN_NAME, 'IsIdentity') is_identity FROM INFORMATION_SCHEMA.COLUMNS c WHERE c.TABLE_NAME = 't' ORDER BY c.ORDINAL_POSITION
GO
insert bulk [#bulk]([a] int, [b] nvarchar(max) collate Latin1_General_CI_AS, [c] datetime2(7)) with (CHECK_CONSTRAINTS, FIRE_TRIGGERS)
GO
WITH [p] AS (SELECT [x].[Id], ROW_NUMBER() OVER(ORDER BY [x].[Id]) AS [row] FROM [dbo].[Blogs] AS [x]) SELECT TOP(1) [p].[Id] FROM [p] WHERE [p].[row] > @__skip_0 AND ((@f = N'' ) OR (LEFT([p].[n], LEN(@f)) = @f))
GO
SET NOCOUNT ON; INSERT INTO [Blogs] ([Name]) OUTPUT INSERTED.[Id] VALUES (@p0), (@p1); SELECT [Id] FROM [Blogs] WHERE @@ROWCOUNT = 1 AND [Id] = scope_identity();
GO
MERGE [Blogs] USING (VALUES (@p0, 0), (@p1, 1)) AS i ([Name], _Position) ON 1=0 WHEN NOT MATCHED THEN INSERT ([Name]) VALUES (i.[Name]) OUTPUT INSERTED.[Id], i._Position;
GO
SELECT name, replica_id, role_desc FROM sys.availability_groups ag JOIN sys.dm_hadr_availability_replica_states rs ON rs.group_id = ag.group_id WHERE rs.is_local = 1
GO
WAITFOR DELAY '00:00:05'; IF (SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state_desc <> 'SYNCHRONIZED') > 0 RAISERROR (N'not yet', 16, 1) WITH NOWAIT
GO
begin tran; save tran s1; select 1 as [a]; rollback tran s1; commit
GO
SELECT CAST(1 AS bit) AS [A], N'x' COLLATE DATABASE_DEFAULT, $PARTITION.pf(1), ERROR_LINE() FROM t
