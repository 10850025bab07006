// .NET: System.Data.SqlClient, and SQL Server Management Objects on top of it, the library under Management Studio.
using System;
using System.Collections.Generic;
using System.Data;
using System.Data.SqlClient;
using System.Data.SqlTypes;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.SqlServer.Dac;
using Microsoft.SqlServer.Management.Common;
using Microsoft.SqlServer.Management.Smo;

static class Checks
{
    static readonly string Database = Env("KEEL_DATABASE");

    static string Env(string name) => Environment.GetEnvironmentVariable(name);

    static string ConnectionString(string more = "") =>
        $"Server={Env("KEEL_HOST")},{Env("KEEL_PORT")};User Id=sa;Password={Env("KEEL_PASSWORD")};Database={Database};" +
        $"Encrypt=true;TrustServerCertificate=true;Connect Timeout=60;{more}";

    static SqlConnection Open(string more = "")
    {
        var connection = new SqlConnection(ConnectionString(more));
        connection.Open();
        return connection;
    }

    static SqlCommand Command(SqlConnection c, string sql, params (string Name, object Value)[] parameters)
    {
        var command = new SqlCommand(sql, c) { CommandTimeout = 300 };
        foreach (var (name, value) in parameters) command.Parameters.AddWithValue(name, value);
        return command;
    }

    static object Scalar(SqlConnection c, string sql, params (string, object)[] parameters)
    {
        using var command = Command(c, sql, parameters);
        return command.ExecuteScalar();
    }

    static int Run(SqlConnection c, string sql, params (string, object)[] parameters)
    {
        using var command = Command(c, sql, parameters);
        return command.ExecuteNonQuery();
    }

    static void Equal<T>(T got, T expected)
    {
        var same = got is byte[] a && expected is byte[] b ? a.SequenceEqual(b) : Equals(got, expected);
        if (!same) throw new Exception($"got {got}, expected {expected}");
    }

    static SqlException Fails(Action action, int number)
    {
        try { action(); }
        catch (SqlException e)
        {
            Equal(e.Number, number);
            return e;
        }
        throw new Exception($"no error {number}");
    }

    /// A session whose connection is lost between two commands is made again, as it was, unless something would be missing.
    static void LostConnectionsAreRecovered()
    {
        using var other = Open();
        Run(other, "IF DB_ID('recovered_dotnet') IS NULL CREATE DATABASE recovered_dotnet");
        void Lose(SqlConnection c)
        {
            var spid = Scalar(c, "SELECT @@SPID");
            Run(other, $"KILL {spid}");
            while ((int)Scalar(other, $"SELECT COUNT(*) FROM sys.dm_exec_connections WHERE session_id = {spid}") > 0) { }
            // The driver looks only at connections that have been idle for some milliseconds.
            Run(other, "WAITFOR DELAY '00:00:00.100'");
        }
        using (var c = Open("Pooling=false"))
        {
            Run(c, "USE recovered_dotnet; SET LOCK_TIMEOUT 1234; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET CONTEXT_INFO 0x616263; SET DATEFORMAT ymd");
            Lose(c);
            Equal(Scalar(c, "SELECT CONCAT(DB_NAME(), ' ', @@LOCK_TIMEOUT, ' ', (SELECT transaction_isolation_level FROM sys.dm_exec_sessions " +
                "WHERE session_id = @@SPID), ' ', CONVERT(varchar(3), CONTEXT_INFO()), ' ', (SELECT date_format FROM sys.dm_exec_sessions WHERE session_id = @@SPID))"),
                "recovered_dotnet 1234 4 abc ymd");
            // Once more, with what has changed on the second connection.
            Run(c, "SET LOCK_TIMEOUT 4321");
            Lose(c);
            Equal(Scalar(c, "SELECT CONCAT(DB_NAME(), ' ', @@LOCK_TIMEOUT)"), "recovered_dotnet 4321");
        }
        foreach (var sql in new[] { "CREATE TABLE #t (a int)", "BEGIN TRANSACTION", "DECLARE c CURSOR GLOBAL FOR SELECT 1",
            "EXEC sp_set_session_context 'k', 1", "EXEC sp_getapplock 'dotnet', 'Exclusive', 'Session'" })
        {
            using var c = Open("Pooling=false");
            Run(c, sql);
            Lose(c);
            try
            {
                Scalar(c, "SELECT 1");
                throw new Exception($"recovered in spite of {sql}");
            }
            catch (SqlException) { }
        }
        using (var c = Open("Pooling=false"))
        {
            // What it had is gone again.
            Run(c, "CREATE TABLE #t (a int); BEGIN TRANSACTION");
            Run(c, "COMMIT; DROP TABLE #t; SET LOCK_TIMEOUT 99");
            Lose(c);
            Equal(Scalar(c, "SELECT @@LOCK_TIMEOUT"), 99);
        }
        Run(other, "DROP DATABASE recovered_dotnet");
    }

    static void LoginAndFirstQuestions()
    {
        using var c = Open();
        Equal(c.Database, Database);
        Equal(c.ServerVersion.Split('.')[0], "16");
        Equal(Scalar(c, "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID"), "TRUE");
        Equal(c.GetSchema("Databases").Rows.Count > 0, true);
        Equal(c.GetSchema("DataTypes").Rows.Count > 20, true);
    }

    static void WrongPassword() =>
        Fails(() => new SqlConnection(ConnectionString("Pooling=false").Replace("Password=", "Password=x")).Open(), 18456);

    static void EveryType()
    {
        using var c = Open();
        var values = new (string Type, SqlDbType Db, object Value)[]
        {
            ("bit", SqlDbType.Bit, true), ("tinyint", SqlDbType.TinyInt, (byte)255), ("smallint", SqlDbType.SmallInt, short.MinValue),
            ("int", SqlDbType.Int, int.MaxValue), ("bigint", SqlDbType.BigInt, long.MinValue),
            ("decimal(28,4)", SqlDbType.Decimal, -123456789012345678901234.5678m), ("money", SqlDbType.Money, 922337203685477.5807m),
            ("smallmoney", SqlDbType.SmallMoney, -214748.3648m), ("float", SqlDbType.Float, 1.7976931348623157e308),
            ("real", SqlDbType.Real, 0.5f), ("date", SqlDbType.Date, new DateTime(9999, 12, 31)),
            ("time(7)", SqlDbType.Time, new TimeSpan(863999999999)), ("datetime", SqlDbType.DateTime, new DateTime(1753, 1, 1, 0, 0, 0, 3)),
            ("smalldatetime", SqlDbType.SmallDateTime, new DateTime(2079, 6, 6, 23, 59, 0)),
            ("datetime2(7)", SqlDbType.DateTime2, new DateTime(1, 1, 1).AddTicks(1)),
            ("datetimeoffset(7)", SqlDbType.DateTimeOffset, new DateTimeOffset(2026, 11, 22, 1, 2, 3, TimeSpan.FromMinutes(-330)).AddTicks(7)),
            ("char(5)", SqlDbType.Char, "abc  "), ("varchar(50)", SqlDbType.VarChar, "café €"), ("nvarchar(50)", SqlDbType.NVarChar, "漢字 😀 ü"),
            ("varchar(max)", SqlDbType.VarChar, new string('x', 20000)), ("nvarchar(max)", SqlDbType.NVarChar, new string('漢', 20000)),
            ("binary(4)", SqlDbType.Binary, new byte[] { 1, 2, 3, 4 }), ("varbinary(max)", SqlDbType.VarBinary, new byte[25600]),
            ("uniqueidentifier", SqlDbType.UniqueIdentifier, new Guid("01234567-89ab-cdef-0123-456789abcdef")),
            ("sql_variant", SqlDbType.Variant, 12.5m), ("xml", SqlDbType.Xml, "<a b=\"1\">ü</a>"),
        };
        foreach (var (type, db, value) in values)
        {
            Run(c, $"CREATE TABLE #t (v {type} NULL)");
            using (var insert = new SqlCommand("INSERT #t VALUES (@v); INSERT #t VALUES (NULL)", c))
            {
                insert.Parameters.Add("@v", db).Value = value;
                insert.ExecuteNonQuery();
            }
            using (var reader = Command(c, "SELECT v FROM #t ORDER BY CASE WHEN v IS NULL THEN 1 ELSE 0 END").ExecuteReader())
            {
                reader.Read();
                Equal(reader.GetValue(0), value);
                reader.Read();
                Equal(reader.IsDBNull(0), true);
            }
            Run(c, "DROP TABLE #t");
        }
        Equal(((SqlDecimal)new SqlCommand("SELECT CAST('-1234567890123456789012345678901234.5678' AS decimal(38,4))", c)
            .ExecuteReader(CommandBehavior.CloseConnection).Use(r => { r.Read(); return r.GetSqlDecimal(0); })).ToString(),
            "-1234567890123456789012345678901234.5678");
    }

    /// What is shorter than a type of fixed length is filled up.
    static void FixedLengths()
    {
        using var c = Open();
        using var command = new SqlCommand("SELECT CONCAT(DATALENGTH(@a), '|', @a, '|', DATALENGTH(@n), '|', DATALENGTH(@b), '|', DATALENGTH(@v))", c);
        command.Parameters.Add("@a", SqlDbType.Char, 10).Value = "abcde";
        command.Parameters.Add("@n", SqlDbType.NChar, 10).Value = "abcde";
        command.Parameters.Add("@b", SqlDbType.Binary, 10).Value = new byte[] { 1, 2 };
        command.Parameters.Add("@v", SqlDbType.VarChar, 10).Value = "abcde";
        Equal(command.ExecuteScalar(), "10|abcde     |20|10|5");
    }

    static T Use<T>(this SqlDataReader reader, Func<SqlDataReader, T> f)
    {
        using (reader) return f(reader);
    }

    static void ProceduresAndPrepared()
    {
        using var c = Open();
        Run(c, "CREATE OR ALTER PROCEDURE dbo.add_one @a int, @b int OUTPUT AS SET @b = @a + 1; SELECT @a AS a; RETURN 7");
        using (var call = new SqlCommand("dbo.add_one", c) { CommandType = CommandType.StoredProcedure })
        {
            SqlCommandBuilder.DeriveParameters(call);
            Equal(call.Parameters.Count, 3);
            (call.Parameters["@a"].Value, call.Parameters["@b"].Value) = (41, DBNull.Value);
            Equal(call.ExecuteScalar(), 41);
            Equal(call.Parameters["@b"].Value, 42);
            Equal(call.Parameters["@RETURN_VALUE"].Value, 7);
        }
        using var prepared = new SqlCommand("SELECT @x * 2", c);
        prepared.Parameters.Add("@x", SqlDbType.Int);
        prepared.Prepare();
        for (var i = 0; i < 3; i++)
        {
            prepared.Parameters["@x"].Value = i;
            Equal(prepared.ExecuteScalar(), i * 2);
        }
    }

    static void TableValuedParameter()
    {
        using var c = Open();
        Run(c, "DROP TYPE IF EXISTS dbo.pairs; CREATE TYPE dbo.pairs AS TABLE (a int, b nvarchar(20))");
        var rows = new DataTable();
        rows.Columns.Add("a", typeof(int));
        rows.Columns.Add("b", typeof(string));
        for (var i = 0; i < 1000; i++) rows.Rows.Add(i, "n" + i);
        using var command = new SqlCommand("SELECT SUM(a) FROM @rows WHERE b LIKE 'n%'", c);
        var parameter = command.Parameters.Add("@rows", SqlDbType.Structured);
        (parameter.TypeName, parameter.Value) = ("dbo.pairs", rows);
        Equal(command.ExecuteScalar(), 499500);
        // A procedure knows the type itself.
        Run(c, "CREATE OR ALTER PROCEDURE dbo.add_pairs @from int, @rows dbo.pairs READONLY AS SELECT SUM(a) FROM @rows WHERE a >= @from");
        using var call = new SqlCommand("dbo.add_pairs", c) { CommandType = CommandType.StoredProcedure };
        call.Parameters.Add("@rows", SqlDbType.Structured).Value = rows;
        call.Parameters.Add("@from", SqlDbType.Int).Value = 990;
        Equal(call.ExecuteScalar(), 9945);
    }

    static void Transactions()
    {
        using var c = Open();
        Run(c, "DROP TABLE IF EXISTS dbo.tx; CREATE TABLE dbo.tx (a int)");
        foreach (var commit in new[] { false, true })
        {
            using var t = c.BeginTransaction(IsolationLevel.Serializable);
            new SqlCommand("INSERT dbo.tx VALUES (1)", c, t).ExecuteNonQuery();
            t.Save("here");
            new SqlCommand("INSERT dbo.tx VALUES (2)", c, t).ExecuteNonQuery();
            t.Rollback("here");
            if (commit) t.Commit(); else t.Rollback();
            Equal(Scalar(c, "SELECT COUNT(*) FROM dbo.tx"), commit ? 1 : 0);
        }
    }

    static void Errors()
    {
        using var c = Open();
        var e = Fails(() => Run(c, "SELECT 1\nSELECT 1/0"), 8134);
        Equal(((int)e.Class, e.LineNumber), (16, 2));
        Fails(() => Run(c, "SELECT * FROM nowhere"), 208);
        var said = new List<string>();
        c.InfoMessage += (_, m) => said.AddRange(m.Errors.Cast<SqlError>().Select(e => e.Message));
        Run(c, "PRINT 'hello'; RAISERROR('low', 5, 1)");
        Equal(string.Join("|", said), "hello|low");
    }

    // (Cancel of a synchronous call waits for its answer in this version on Linux, whatever the server does.)
    static void Cancel()
    {
        using var c = Open();
        using (var soon = new CancellationTokenSource(300))
        {
            using var slow = new SqlCommand("WAITFOR DELAY '00:01:00'", c) { CommandTimeout = 50 };
            Fails(() => slow.ExecuteNonQueryAsync(soon.Token).GetAwaiter().GetResult(), 0);
        }
        Equal(Scalar(c, "SELECT 5"), 5);
        Fails(() => new SqlCommand("WAITFOR DELAY '00:01:00'", c) { CommandTimeout = 1 }.ExecuteNonQuery(), -2);
        Equal(Scalar(c, "SELECT 6"), 6);
    }

    static void PoolResets()
    {
        int spid;
        using (var c = Open("Max Pool Size=1"))
        {
            spid = (short)Scalar(c, "SELECT @@SPID");
            Run(c, "CREATE TABLE #left (a int); SET LOCK_TIMEOUT 5; USE master; BEGIN TRANSACTION");
        }
        using var again = Open("Max Pool Size=1");
        Equal((short)Scalar(again, "SELECT @@SPID"), (short)spid);
        Equal(Scalar(again, "SELECT CONCAT(@@LOCK_TIMEOUT, ' ', DB_NAME(), ' ', @@TRANCOUNT, ' ', OBJECT_ID('tempdb..#left'))"), $"-1 {Database} 0 ");
    }

    static void BulkCopy()
    {
        foreach (var more in new[] { "", "MultipleActiveResultSets=true" })
        {
            using var c = Open(more);
            Run(c, "DROP TABLE IF EXISTS dbo.bulk_net; CREATE TABLE dbo.bulk_net (a int NOT NULL, b nvarchar(30), c decimal(12,2))");
            var rows = new DataTable();
            rows.Columns.Add("a", typeof(int));
            rows.Columns.Add("b", typeof(string));
            rows.Columns.Add("c", typeof(decimal));
            for (var i = 0; i < 100000; i++) rows.Rows.Add(i, i % 7 == 0 ? null : "row " + i, i / 100m);
            using var bulk = new SqlBulkCopy(c) { DestinationTableName = "dbo.bulk_net", BatchSize = 30000, BulkCopyTimeout = 300 };
            bulk.WriteToServer(rows);
            Equal(Scalar(c, "SELECT CONCAT(COUNT(*), ' ', COUNT(b), ' ', SUM(c)) FROM dbo.bulk_net"), "100000 85714 49999500.00");
        }
        foreach (var (options, expected) in new[] { (SqlBulkCopyOptions.KeepIdentity, "7 x, 9 y, 10 z"), (SqlBulkCopyOptions.Default, "1 x, 2 y, 3 z"),
            (SqlBulkCopyOptions.FireTriggers, "1 x, 2 y, 3 z"), (SqlBulkCopyOptions.FireTriggers | SqlBulkCopyOptions.KeepIdentity, "7 x, 9 y, 10 z") })
        {
            using var c = Open();
            Run(c, "DROP TABLE IF EXISTS dbo.bulk_net; CREATE TABLE dbo.bulk_net (id int IDENTITY PRIMARY KEY, a nvarchar(10))");
            Run(c, "CREATE TRIGGER dbo.bulk_net_seen ON dbo.bulk_net AFTER INSERT AS SET NOCOUNT ON");
            var rows = new DataTable();
            rows.Columns.Add("id", typeof(int));
            rows.Columns.Add("a", typeof(string));
            rows.Rows.Add(7, "x");
            rows.Rows.Add(9, "y");
            using var bulk = new SqlBulkCopy(c, options, null) { DestinationTableName = "dbo.bulk_net" };
            bulk.WriteToServer(rows);
            Run(c, "INSERT dbo.bulk_net (a) VALUES ('z')");
            Equal(Scalar(c, "SELECT STRING_AGG(CONCAT(id, ' ', a), ', ') WITHIN GROUP (ORDER BY id) FROM dbo.bulk_net"), expected);
        }
    }

    // Several result sets open on one connection, changes and a transaction among them.
    static void MultipleActiveResultSets()
    {
        using var c = Open("MultipleActiveResultSets=true");
        Run(c, "DROP TABLE IF EXISTS dbo.parent, dbo.child; CREATE TABLE dbo.parent (id int PRIMARY KEY, filler char(200)); " +
            "CREATE TABLE dbo.child (parent int, n int)");
        Run(c, "INSERT dbo.parent SELECT value, 'x' FROM GENERATE_SERIES(1, 20000)");
        using (var parents = Command(c, "SELECT id, filler FROM dbo.parent ORDER BY id").ExecuteReader())
        {
            var read = 0;
            while (parents.Read())
            {
                read++;
                if (read % 100 != 0) continue;
                Run(c, "INSERT dbo.child VALUES (@p, 1)", ("@p", parents.GetInt32(0)));
                using var children = Command(c, "SELECT COUNT(*) FROM dbo.child WHERE parent <= @p", ("@p", parents.GetInt32(0))).ExecuteReader();
                children.Read();
                Equal(children.GetInt32(0), read / 100);
            }
            Equal(read, 20000);
        }
        using (var t = c.BeginTransaction())
        {
            using var outer = new SqlCommand("SELECT n FROM dbo.child", c, t).ExecuteReader();
            outer.Read();
            new SqlCommand("DELETE dbo.child", c, t).ExecuteNonQuery();
            outer.Close();
            t.Rollback();
        }
        Equal(Scalar(c, "SELECT COUNT(*) FROM dbo.child"), 200);
        // One that is left in the middle, and one that is cancelled, leave the others alone.
        using var kept = Command(c, "SELECT id FROM dbo.parent ORDER BY id").ExecuteReader();
        kept.Read();
        using (var left = Command(c, "SELECT a.filler, b.filler FROM dbo.parent a CROSS JOIN (SELECT TOP 20 * FROM dbo.parent) b").ExecuteReader()) left.Read();
        Fails(() => new SqlCommand("WAITFOR DELAY '00:01:00'", c) { CommandTimeout = 1 }.ExecuteNonQuery(), -2);
        var rest = 1;
        while (kept.Read()) rest++;
        Equal(rest, 20000);
        // A request of many packets.
        Equal(Scalar(c, "SELECT LEN(@long)", ("@long", new string('y', 3000000))), 3000000L);
    }

    static async Task Asynchronous()
    {
        var work = Enumerable.Range(0, 20).Select(async i =>
        {
            using var c = new SqlConnection(ConnectionString());
            await c.OpenAsync();
            using var command = Command(c, "SELECT @i + value FROM GENERATE_SERIES(1, 100)", ("@i", i));
            using var reader = await command.ExecuteReaderAsync();
            var sum = 0;
            while (await reader.ReadAsync()) sum += reader.GetInt32(0);
            Equal(sum, 100 * i + 5050);
        });
        await Task.WhenAll(work);
    }

    // What Management Studio does to script a database: everything in it, and the script makes it again.
    static void ManagementObjects()
    {
        Trace.Listeners.Clear(); // The library asserts that it knows no server after 2019.
        using var c = Open();
        foreach (var sql in new[]
        {
            "CREATE SCHEMA smo", "CREATE TABLE smo.customer (id int IDENTITY CONSTRAINT pk_smo PRIMARY KEY, name nvarchar(100) NOT NULL, " +
            "email varchar(200), at datetime2(3) NOT NULL CONSTRAINT df_at DEFAULT SYSUTCDATETIME(), CONSTRAINT ck_name CHECK (LEN(name) > 0))",
            "CREATE UNIQUE INDEX ux_email ON smo.customer (email) INCLUDE (name) WHERE email IS NOT NULL",
            "CREATE TABLE smo.orders (id bigint, customer int CONSTRAINT fk_customer REFERENCES smo.customer ON DELETE CASCADE, twice AS id * 2 PERSISTED)",
            "CREATE VIEW smo.v AS SELECT c.name, o.id FROM smo.customer c JOIN smo.orders o ON o.customer = c.id",
            "CREATE PROCEDURE smo.p @a int, @b int = 3 OUTPUT AS SET @b = @a", "CREATE FUNCTION smo.f(@a int) RETURNS int AS BEGIN RETURN @a + 1 END",
            "CREATE TRIGGER smo.t ON smo.customer AFTER INSERT AS SET NOCOUNT ON", "CREATE TYPE smo.ids AS TABLE (id int NOT NULL PRIMARY KEY)",
            "CREATE SEQUENCE smo.s AS int START WITH 5", "CREATE SYNONYM smo.y FOR smo.customer", "CREATE STATISTICS st ON smo.customer (name)",
            "EXEC sp_addextendedproperty 'MS_Description', 'Who buys', 'schema', 'smo', 'table', 'customer'",
        }) Run(c, sql);
        var server = new Server(new ServerConnection(c));
        Equal(server.Information.Edition, "Developer Edition (64-bit)");
        Equal(server.ReadErrorLog().Rows.Count > 0, true);
        Equal(server.JobServer.Jobs.Count, 0);
        var database = server.Databases[Database];
        Equal(database.Status, DatabaseStatus.Normal);
        Equal(database.Size > 0, true);
        var options = new ScriptingOptions
        {
            TargetServerVersion = SqlServerVersion.Version150, DriAll = true, Indexes = true, Triggers = true,
            ExtendedProperties = true, Permissions = true,
        };
        var script = new List<string>();
        void Take(ScriptSchemaObjectBase o) { if (o.Schema == "smo") script.AddRange(((IScriptable)o).Script(options).Cast<string>()); }
        foreach (UserDefinedTableType o in database.UserDefinedTableTypes) Take(o);
        foreach (Sequence o in database.Sequences) Take(o);
        foreach (string name in new[] { "customer", "orders" }) Take(database.Tables[name, "smo"]);
        Take(database.Views["v", "smo"]);
        Take(database.StoredProcedures["p", "smo"]);
        Take(database.UserDefinedFunctions["f", "smo"]);
        foreach (Synonym o in database.Synonyms) Take(o);
        Run(c, "DROP SYNONYM smo.y; DROP VIEW smo.v; DROP PROCEDURE smo.p; DROP FUNCTION smo.f; DROP TABLE smo.orders; " +
            "DROP TABLE smo.customer; DROP TYPE smo.ids; DROP SEQUENCE smo.s");
        foreach (var batch in script) Run(c, batch);
        Equal(Scalar(c, "SELECT STRING_AGG(CAST(CONCAT(RTRIM(type), ':', name) AS nvarchar(max)), ' ') WITHIN GROUP (ORDER BY name) FROM sys.objects " +
            "WHERE schema_id = SCHEMA_ID('smo')"), "C:ck_name U:customer D:df_at FN:f F:fk_customer U:orders P:p PK:pk_smo SO:s TR:t V:v SN:y");
        Equal(Scalar(c, "SELECT CAST(value AS nvarchar(50)) FROM sys.extended_properties WHERE name = 'MS_Description'"), "Who buys");
    }

    // Management Studio's dialogs: properties of an empty database, a backup, what a restore wants from a file and from msdb, the restore.
    static void ManagementObjectsRestore()
    {
        using var c = Open("Pooling=false");
        Run(c, "DROP DATABASE IF EXISTS smo_source; DROP DATABASE IF EXISTS smo_restored; CREATE DATABASE smo_source");
        var server = new Server(new ServerConnection(c));
        Equal(server.Databases["smo_source"].SpaceAvailable >= 0, true);
        Run(c, "CREATE TABLE smo_source.dbo.t (a int); INSERT smo_source.dbo.t VALUES (1)");
        var file = System.IO.Path.Combine(server.BackupDirectory, $"{Guid.NewGuid()}.bak");
        foreach (var action in new[] { BackupActionType.Database, BackupActionType.Log })
        {
            var backup = new Backup { Action = action, Database = "smo_source", BackupSetName = "of smo" };
            backup.Devices.AddDevice(file, DeviceType.File);
            backup.SqlBackup(server);
            Run(c, "INSERT smo_source.dbo.t VALUES (2)");
        }
        foreach (var fromFile in new[] { true, false })
        {
            var planner = new DatabaseRestorePlanner(server, "smo_source") { ReadHeaderFromMedia = fromFile };
            if (fromFile) planner.BackupMediaList.Add(new BackupDeviceItem(file, DeviceType.File));
            var plan = planner.CreateRestorePlan(new RestoreOptions { ReplaceDatabase = true });
            plan.SetRestoreOptions(new RestoreOptions { ReplaceDatabase = true });
            Equal(plan.RestoreOperations.Count, 2);
            Equal(plan.RestoreOperations[1].Action, RestoreActionType.Log);
            foreach (var restore in plan.RestoreOperations) restore.Database = "smo_restored";
            plan.Execute();
            Equal(Scalar(c, "SELECT COUNT(*) FROM smo_restored.dbo.t"), 2);
        }
        Run(c, "DROP DATABASE smo_source; DROP DATABASE smo_restored");
        System.IO.File.Delete(file);
    }

    /// A database as .bacpac and .dacpac: out, in again, onto another one, and then nothing is different.
    static void DataTierApplications()
    {
        using (var c = Open())
        {
            foreach (var sql in new[]
            {
                "DROP DATABASE IF EXISTS dac_source; DROP DATABASE IF EXISTS dac_imported; DROP DATABASE IF EXISTS dac_deployed",
                "CREATE DATABASE dac_source", "USE dac_source",
                "CREATE TYPE dbo.code FROM varchar(20) NOT NULL", "CREATE SEQUENCE dbo.numbers AS int START WITH 5", "CREATE ROLE clerks",
                "CREATE TABLE dbo.customer (id int IDENTITY(1, 1) CONSTRAINT pk_customer PRIMARY KEY, name nvarchar(100) NOT NULL, code dbo.code, " +
                "at datetime2(3) NOT NULL CONSTRAINT df_at DEFAULT SYSUTCDATETIME(), doc xml, CONSTRAINT ck_name CHECK (LEN(name) > 0))",
                "CREATE TABLE dbo.orders (id bigint NOT NULL PRIMARY KEY, customer int NOT NULL CONSTRAINT fk_customer REFERENCES dbo.customer, " +
                "amount decimal(10, 2) SPARSE NULL, twice AS id * 2 PERSISTED, place geography, what sql_variant)",
                "CREATE INDEX ix_customer ON dbo.orders (customer) INCLUDE (amount) WHERE amount IS NOT NULL",
                "CREATE VIEW dbo.v AS SELECT c.name, o.id FROM dbo.customer c JOIN dbo.orders o ON o.customer = c.id",
                "CREATE PROCEDURE dbo.p @a int AS SELECT name FROM dbo.v WHERE id = @a", "GRANT EXECUTE ON dbo.p TO clerks",
                "CREATE FUNCTION dbo.f(@a int) RETURNS TABLE AS RETURN SELECT @a + 1 AS b", "CREATE TRIGGER dbo.t ON dbo.customer AFTER INSERT AS SET NOCOUNT ON",
                "EXEC sp_addextendedproperty 'MS_Description', 'Who buys', 'schema', 'dbo', 'table', 'customer'",
                "CREATE DATABASE SCOPED CREDENTIAL feed WITH IDENTITY = 'reader'",
                // Its number is free again, and the others keep theirs.
                "INSERT dbo.customer (name, code) VALUES ('nobody', 'n'); DELETE dbo.customer",
                "INSERT dbo.customer (name, code, doc) VALUES (N'Zoë', 'a', '<a/>'), ('Bo', 'b', NULL)",
                "INSERT dbo.orders (id, customer, amount, place, what) VALUES (1, 2, 2.5, geography::Point(1, 2, 4326), 7); INSERT dbo.orders (id, customer, what) VALUES (2, 3, N'x')",
            }) Run(c, sql);
        }
        var master = ConnectionString().Replace($"Database={Database};", "Database=master;");
        var services = new DacServices(master);
        var folder = System.IO.Path.Combine(System.IO.Path.GetTempPath(), Guid.NewGuid().ToString());
        System.IO.Directory.CreateDirectory(folder);
        var (bacpac, dacpac) = (System.IO.Path.Combine(folder, "d.bacpac"), System.IO.Path.Combine(folder, "d.dacpac"));
        services.ExportBacpac(bacpac, "dac_source");
        using (var package = BacPackage.Load(bacpac)) services.ImportBacpac(package, "dac_imported");
        services.Extract(dacpac, "dac_imported", "shop", new Version(1, 0), null, null, new DacExtractOptions { IgnorePermissions = false, VerifyExtraction = true });
        var options = new DacDeployOptions { DropObjectsNotInSource = true, IgnorePermissions = false };
        using (var package = DacPackage.Load(dacpac))
        {
            services.Deploy(package, "dac_deployed", true, options);
            foreach (var database in new[] { "dac_source", "dac_imported", "dac_deployed" })
                Equal(services.GenerateDeployReport(package, database, options).Contains("<Operation "), false);
        }
        using (var c = Open())
        {
            Equal(Scalar(c, "SELECT COUNT(*) FROM (SELECT id, name, code, at FROM dac_source.dbo.customer INTERSECT SELECT id, name, code, at FROM dac_imported.dbo.customer) x"), 2);
            Equal(Scalar(c, "SELECT COUNT(*) FROM dac_imported.dbo.orders o JOIN dac_source.dbo.orders s ON s.id = o.id AND s.twice = o.twice AND " +
                "s.what = o.what AND ISNULL(s.place.STAsText(), '') = ISNULL(o.place.STAsText(), '')"), 2);
            Equal(Scalar(c, "SELECT COUNT(*) FROM dac_deployed.dbo.customer"), 0);
            Equal(Scalar(c, "SELECT credential_identity FROM dac_imported.sys.database_scoped_credentials"), "reader");
            Run(c, "INSERT dac_imported.dbo.customer (name, code) VALUES ('next', 'c')");
            Equal(Scalar(c, "SELECT MAX(id) FROM dac_imported.dbo.customer"), 4);
            Run(c, "DROP DATABASE dac_source; DROP DATABASE dac_imported; DROP DATABASE dac_deployed");
        }
        System.IO.Directory.Delete(folder, true);
    }

    /// SqlDependency: its queue, its service and the procedure that looks after them, a query that is watched, and a change of its result.
    static void QueryNotifications()
    {
        using var c = Open();
        Run(c, "IF OBJECT_ID('dbo.watched') IS NOT NULL DROP TABLE dbo.watched; CREATE TABLE dbo.watched (id int PRIMARY KEY, name nvarchar(20))");
        Run(c, "INSERT dbo.watched VALUES (1, 'one'), (2, 'two')");
        SqlDependency.Start(ConnectionString());
        try
        {
            // A change of another row says nothing; one of this row does, once.
            SqlNotificationEventArgs Watch(string sql, Action change, params (string, object)[] parameters)
            {
                using var changed = new ManualResetEventSlim();
                SqlNotificationEventArgs told = null;
                using var other = Open();
                using var command = Command(other, sql, parameters);
                var dependency = new SqlDependency(command);
                dependency.OnChange += (_, e) => { told = e; changed.Set(); };
                using (var reader = command.ExecuteReader()) while (reader.Read()) { }
                change();
                if (!changed.Wait(TimeSpan.FromSeconds(30))) throw new Exception($"no notification of {sql}");
                Equal(dependency.HasChanges, true);
                return told;
            }
            const string One = "SELECT id, name FROM dbo.watched WHERE id = @id";
            var told = Watch(One, () => { Run(c, "DELETE dbo.watched WHERE id = 2"); Run(c, "UPDATE dbo.watched SET name = 'ONE' WHERE id = 1"); }, ("@id", 1));
            Equal((told.Type, told.Source, told.Info), (SqlNotificationType.Change, SqlNotificationSource.Data, SqlNotificationInfo.Update));
            told = Watch("SELECT id, name FROM dbo.watched", () => Run(c, "INSERT dbo.watched VALUES (3, 'three')"));
            Equal(told.Info, SqlNotificationInfo.Insert);
            told = Watch("SELECT * FROM dbo.watched", () => { });
            Equal((told.Type, told.Source, told.Info), (SqlNotificationType.Subscribe, SqlNotificationSource.Statement, SqlNotificationInfo.Query));
            told = Watch(One, () => Run(c, "TRUNCATE TABLE dbo.watched"), ("@id", 1));
            Equal(told.Info, SqlNotificationInfo.Truncate);
            Equal(Scalar(c, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), 0);
        }
        finally { SqlDependency.Stop(ConnectionString()); }
        Run(c, "DROP TABLE dbo.watched");
    }

    static int Main(string[] only)
    {
        var checks = new (string Name, Action Run)[]
        {
            ("login and first questions", LoginAndFirstQuestions), ("wrong password", WrongPassword), ("every type", EveryType), ("fixed lengths", FixedLengths),
            ("lost connections are recovered", LostConnectionsAreRecovered),
            ("procedures and prepared statements", ProceduresAndPrepared), ("table-valued parameter", TableValuedParameter),
            ("transactions", Transactions), ("errors", Errors), ("cancel", Cancel), ("pool resets", PoolResets),
            ("bulk copy of 100,000 rows", BulkCopy), ("multiple active result sets", MultipleActiveResultSets),
            ("asynchronous", () => Asynchronous().GetAwaiter().GetResult()), ("management objects script a database", ManagementObjects),
            ("management objects back up and restore", ManagementObjectsRestore), ("data-tier applications", DataTierApplications),
            ("query notifications", QueryNotifications),
        };
        var failed = 0;
        foreach (var (name, run) in checks)
        {
            if (only.Length > 0 && !only.Contains(name)) continue;
            try
            {
                run();
                Console.WriteLine($"ok     dotnet {name}");
            }
            catch (Exception e)
            {
                failed++;
                Console.WriteLine($"FAILED dotnet {name}\n{e}");
            }
        }
        return failed;
    }
}
