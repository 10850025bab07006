// System.Data.SqlClient by Kerberos: tickets from the cache that KRB5CCNAME names.
using System;
using System.Data.SqlClient;

static class KerberosChecks
{
    static int Main()
    {
        try
        {
            var port = Environment.GetEnvironmentVariable("KEEL_PORT");
            var database = Environment.GetEnvironmentVariable("KEEL_DATABASE");
            using var c = new SqlConnection($"Server=localhost,{port};Database={database};Integrated Security=true;Encrypt=true;TrustServerCertificate=true");
            c.Open();
            using var command = new SqlCommand("SELECT SUSER_SNAME() + ' ' + auth_scheme FROM sys.dm_exec_connections WHERE session_id = @@SPID", c);
            var got = (string)command.ExecuteScalar();
            if (got != "KEEL\\bob KERBEROS") throw new Exception("got " + got);
            Console.WriteLine("ok     kerberos dotnet_with_tickets");
            return 0;
        }
        catch (Exception e)
        {
            Console.WriteLine("FAILED kerberos dotnet_with_tickets");
            Console.WriteLine(e);
            return 1;
        }
    }
}
