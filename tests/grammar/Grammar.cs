// Reads batches from standard input, each ended by a zero byte, and writes a line for each: what ScriptDom's parser of
// SQL Server 2019 finds wrong first, as number, line and message between tabs, or "ok" and the characters at which statements begin.
using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using Microsoft.SqlServer.TransactSql.ScriptDom;

static class Grammar
{
    static int Main()
    {
        var input = new BufferedStream(Console.OpenStandardInput(), 1 << 16);
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { NewLine = "\n" };
        var parser = new TSql150Parser(true);
        var batch = new MemoryStream();
        for (int next = input.ReadByte(); next >= 0; next = input.ReadByte())
        {
            if (next > 0)
            {
                batch.WriteByte((byte)next);
                continue;
            }
            output.WriteLine(Answer(parser, Encoding.UTF8.GetString(batch.ToArray())));
            output.Flush();
            batch.SetLength(0);
        }
        return 0;
    }

    static string Answer(TSqlParser parser, string text)
    {
        IList<ParseError> errors;
        var script = parser.Parse(new StringReader(text), out errors) as TSqlScript;
        if (errors.Count == 0)
        {
            var begins = new List<string> { "ok" };
            foreach (var batch in script.Batches)
                foreach (var statement in batch.Statements)
                    begins.Add(statement.StartOffset.ToString());
            return string.Join("\t", begins);
        }
        var first = errors[0];
        foreach (var error in errors)
            if (error.Offset < first.Offset)
                first = error;
        var message = first.Message.Replace('\n', ' ').Replace('\r', ' ').Replace('\t', ' ');
        return first.Number + "\t" + first.Line + "\t" + message;
    }
}
