// tedious, the driver of Node.
const { Connection, Request, TYPES } = require('tedious');

const env = process.env;
const checks = [];
const check = (name, run) => checks.push([name, run]);
const equal = (got, expected) => {
  const text = (v) => JSON.stringify(v);
  if (text(got) !== text(expected)) throw new Error(`got ${text(got)}, expected ${text(expected)}`);
};

const connect = (options = {}, password = env.KEEL_PASSWORD) =>
  new Promise((resolve, reject) => {
    const connection = new Connection({
      server: env.KEEL_HOST,
      authentication: { type: 'default', options: { userName: 'sa', password } },
      options: {
        port: Number(env.KEEL_PORT),
        database: env.KEEL_DATABASE,
        encrypt: true,
        trustServerCertificate: true,
        rowCollectionOnRequestCompletion: true,
        connectTimeout: 60000,
        requestTimeout: 300000,
        cancelTimeout: 60000,
        ...options,
      },
    });
    connection.connect((e) => (e ? reject(e) : resolve(connection)));
  });

const run = (connection, sql, { method = 'execSql', prepare = () => {}, timeout } = {}) =>
  new Promise((resolve, reject) => {
    const returned = {};
    const request = new Request(sql, (e, count, rows) =>
      e ? reject(e) : resolve({ count, rows: rows.map((r) => r.map((c) => c.value)), returned }));
    request.on('returnValue', (name, value) => { returned[name] = value; });
    if (timeout) request.setTimeout(timeout);
    prepare(request);
    connection[method](request);
  });

const withConnection = (body, options) => async () => {
  const connection = await connect(options);
  try {
    await body(connection);
  } finally {
    connection.close();
  }
};

const fails = async (promise, number) => {
  try {
    await promise;
  } catch (e) {
    equal(e.number, number);
    return e;
  }
  throw new Error('no error');
};

// TDS 8.0: the certificate the server made is the one trusted.
check('login, strict', withConnection(
  async (c) => {
    equal((await run(c, 'SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID')).rows, [['TRUE']]);
  },
  {
    encrypt: 'strict',
    trustServerCertificate: false,
    serverName: 'localhost',
    cryptoCredentialsDetails: { ca: require('fs').readFileSync(env.KEEL_CERTIFICATE) },
  },
));

for (const encrypt of [true, false]) {
  check(`login, encrypt ${encrypt}`, withConnection(async (c) => {
    equal((await run(c, 'SELECT DB_NAME(), 1')).rows, [[env.KEEL_DATABASE, 1]]);
  }, { encrypt }));
}

check('wrong password', async () => {
  try {
    (await connect({}, 'wrong')).close();
  } catch (e) {
    equal(/Login failed/.test(e.message), true);
    return;
  }
  throw new Error('logged in');
});

check('every type', withConnection(async (c) => {
  const types = [
    ['bit', TYPES.Bit, true], ['tinyint', TYPES.TinyInt, 255], ['smallint', TYPES.SmallInt, -32768],
    ['int', TYPES.Int, 7], ['bigint', TYPES.BigInt, '-9223372036854775808'],
    ['decimal(18,4)', TYPES.Decimal, 1234.5678, { precision: 18, scale: 4 }], ['money', TYPES.Money, 1234.5678],
    ['float', TYPES.Float, 1.5e300], ['real', TYPES.Real, 0.5],
    ['date', TYPES.Date, new Date('2026-11-21T00:00:00Z')],
    ['datetime', TYPES.DateTime, new Date('1999-12-31T23:59:59.997Z')],
    ['datetime2(3)', TYPES.DateTime2, new Date('2026-11-21T20:21:22.123Z')],
    ['datetimeoffset(3)', TYPES.DateTimeOffset, new Date('2026-11-21T20:21:22.123Z')],
    ['varchar(50)', TYPES.VarChar, 'café €'], ['nvarchar(50)', TYPES.NVarChar, '漢字 😀'],
    ['varchar(max)', TYPES.VarChar, 'x'.repeat(20000)], ['nvarchar(max)', TYPES.NVarChar, '漢'.repeat(20000)],
    ['varbinary(max)', TYPES.VarBinary, Buffer.alloc(9000, 7)],
    ['uniqueidentifier', TYPES.UniqueIdentifier, '01234567-89AB-CDEF-0123-456789ABCDEF'],
  ];
  for (const [i, [name, type, value, options]] of types.entries()) {
    await run(c, `CREATE TABLE ##tedious${i} (v ${name} NULL)`, { method: 'execSqlBatch' });
    for (const v of [value, null]) {
      await run(c, `INSERT ##tedious${i} VALUES (@v)`, { prepare: (r) => r.addParameter('v', type, v, options) });
    }
    const { rows } = await run(c, `SELECT v FROM ##tedious${i} ORDER BY CASE WHEN v IS NULL THEN 1 ELSE 0 END`);
    equal(rows, [[value], [null]]);
    await run(c, `DROP TABLE ##tedious${i}`);
  }
}));

check('types with methods are bytes', withConnection(async (c) => {
  const point = Buffer.from('E6100000010C000000000000004000000000000010C0', 'hex');
  await run(c, 'CREATE TABLE #s (g geography, h hierarchyid)', { method: 'execSqlBatch' });
  await run(c, 'INSERT #s VALUES (@g, @h)', { prepare: (r) => {
    r.addParameter('g', TYPES.VarBinary, point);
    r.addParameter('h', TYPES.NVarChar, '/1/');
  } });
  const { rows } = await run(c, 'SELECT g, h, g.Lat, h.ToString() FROM #s');
  equal(rows, [[point, Buffer.from('58', 'hex'), 2, '/1/']]);
}));

check('prepared statement', withConnection(async (c) => {
  const request = new Request('SELECT @a + 1', () => {});
  request.addParameter('a', TYPES.Int);
  await new Promise((resolve, reject) => {
    request.on('prepared', resolve);
    request.on('error', reject);
    c.prepare(request);
  });
  for (let i = 0; i < 50; i++) {
    const rows = [];
    await new Promise((resolve, reject) => {
      request.userCallback = undefined;
      request.callback = (e) => (e ? reject(e) : resolve());
      request.removeAllListeners('row');
      request.on('row', (r) => rows.push(r[0].value));
      c.execute(request, { a: i });
    });
    equal(rows, [i + 1]);
  }
}));

check('procedure with output', withConnection(async (c) => {
  await run(c, 'CREATE OR ALTER PROCEDURE p_tedious @a int, @b int OUTPUT AS SELECT @a; SET @b = @a * 2; RETURN 7', { method: 'execSqlBatch' });
  const { rows, returned } = await run(c, 'p_tedious', {
    method: 'callProcedure',
    prepare: (r) => { r.addParameter('a', TYPES.Int, 21); r.addOutputParameter('b', TYPES.Int); },
  });
  equal(rows, [[21]]);
  equal(returned.b, 42);
}));

check('transactions', withConnection(async (c) => {
  const call = (method, ...args) => new Promise((resolve, reject) => c[method]((e) => (e ? reject(e) : resolve()), ...args));
  await run(c, 'CREATE TABLE tx_tedious (a int)', { method: 'execSqlBatch' });
  await call('beginTransaction');
  await run(c, 'INSERT tx_tedious VALUES (1)');
  await call('rollbackTransaction');
  equal((await run(c, 'SELECT COUNT(*) FROM tx_tedious')).rows, [[0]]);
  await call('beginTransaction');
  await run(c, 'INSERT tx_tedious VALUES (1)');
  await call('commitTransaction');
  equal((await run(c, 'SELECT COUNT(*) FROM tx_tedious')).rows, [[1]]);
  await run(c, 'DROP TABLE tx_tedious', { method: 'execSqlBatch' });
}));

check('errors', withConnection(async (c) => {
  const e = await fails(run(c, 'SELECT 1;\n\nSELECT * FROM nowhere', { method: 'execSqlBatch' }), 208);
  equal([e.state, e.class, e.lineNumber], [1, 16, 3]);
  await fails(run(c, 'SELECT 1/0'), 8134);
}));

check('cancel', withConnection(async (c) => {
  setTimeout(() => c.cancel(), 300);
  const started = Date.now();
  try {
    await run(c, "WAITFOR DELAY '00:10:00'", { method: 'execSqlBatch' });
    throw new Error('not cancelled');
  } catch (e) {
    equal(e.code, 'ECANCEL');
  }
  equal(Date.now() - started < 300000, true);
  equal((await run(c, 'SELECT 1')).rows, [[1]]);
}));

check('reset', withConnection(async (c) => {
  await run(c, 'CREATE TABLE #left_over (a int)', { method: 'execSqlBatch' });
  await new Promise((resolve, reject) => c.reset((e) => (e ? reject(e) : resolve())));
  equal((await run(c, "SELECT OBJECT_ID('tempdb..#left_over')")).rows, [[null]]);
}));

check('bulk load', withConnection(async (c) => {
  await run(c, 'CREATE TABLE bulk_tedious (a int NOT NULL, b nvarchar(30) NULL)', { method: 'execSqlBatch' });
  const loaded = await new Promise((resolve, reject) => {
    const bulk = c.newBulkLoad('bulk_tedious', {}, (e, n) => (e ? reject(e) : resolve(n)));
    bulk.addColumn('a', TYPES.Int, { nullable: false });
    bulk.addColumn('b', TYPES.NVarChar, { length: 30, nullable: true });
    c.execBulkLoad(bulk, Array.from({ length: 100000 }, (_, i) => [i, i % 7 ? `row ${i}` : null]));
  });
  equal(loaded, 100000);
  equal((await run(c, 'SELECT COUNT(*), COUNT(b) FROM bulk_tedious')).rows, [[100000, 85714]]);
  await run(c, 'DROP TABLE bulk_tedious', { method: 'execSqlBatch' });
}));

check('bulk load of long text', withConnection(async (c) => {
  await run(c, 'CREATE TABLE #long (a text NULL, b ntext NULL, c image NULL)', { method: 'execSqlBatch' });
  const loaded = await new Promise((resolve, reject) => {
    const bulk = c.newBulkLoad('#long', {}, (e, n) => (e ? reject(e) : resolve(n)));
    bulk.addColumn('a', TYPES.Text, { nullable: true });
    bulk.addColumn('b', TYPES.NText, { nullable: true });
    bulk.addColumn('c', TYPES.Image, { nullable: true });
    c.execBulkLoad(bulk, [['a'.repeat(9000), 'ä'.repeat(9000), Buffer.alloc(9000, 7)], [null, null, null]]);
  });
  equal(loaded, 2);
  equal((await run(c, 'SELECT COUNT(*), MAX(DATALENGTH(a)), MAX(DATALENGTH(b)), MAX(DATALENGTH(c)) FROM #long')).rows, [[2, 9000, 18000, 9000]]);
}));

check('bulk load given up', withConnection(async (c) => {
  await run(c, 'CREATE TABLE #given_up (a int NOT NULL)', { method: 'execSqlBatch' });
  const error = await new Promise((resolve) => {
    const bulk = c.newBulkLoad('#given_up', {}, resolve);
    bulk.addColumn('a', TYPES.Int, { nullable: false });
    c.execBulkLoad(bulk, (function* rows() {
      for (let i = 0; i < 100000; i += 1) yield [i];
      throw new Error('no more');
    })());
  });
  equal(error.message, 'no more');
  equal((await run(c, 'SELECT COUNT(*) FROM #given_up')).rows, [[0]]);
}));

(async () => {
  const only = process.argv.slice(2);
  let failed = false;
  for (const [name, body] of checks) {
    if (only.length && !only.includes(name)) continue;
    try {
      await body();
      console.log(`ok     tedious ${name}`);
    } catch (e) {
      failed = true;
      console.log(`FAILED tedious ${name}`);
      console.log(e);
    }
  }
  process.exit(failed ? 1 : 0);
})();
