// Prisma's client over its mssql adapter. Its migration engine is a binary that no package has, so the tables are made by
// the script that `prisma migrate` writes for schema.prisma.
const { PrismaClient, Prisma } = require('@prisma/client');
const { PrismaMssql } = require('@prisma/adapter-mssql');
const env = process.env;
const adapter = new PrismaMssql({
  server: env.KEEL_HOST, port: Number(env.KEEL_PORT), database: env.KEEL_DATABASE, user: 'sa', password: env.KEEL_PASSWORD,
  options: { encrypt: true, trustServerCertificate: true },
});
const db = new PrismaClient({ adapter, transactionOptions: { maxWait: 60000, timeout: 60000 } });
const text = (v) => JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `${x}n` : x));
const equal = (got, expected) => { if (text(got) !== text(expected)) throw new Error(`got ${text(got)}, expected ${text(expected)}`); };
const migration = `BEGIN TRY

BEGIN TRAN;

-- CreateTable
CREATE TABLE [dbo].[User] (
    [id] INT NOT NULL IDENTITY(1,1),
    [email] NVARCHAR(200) NOT NULL,
    [name] NVARCHAR(1000),
    [active] BIT NOT NULL CONSTRAINT [User_active_df] DEFAULT 1,
    [balance] DECIMAL(18,4) NOT NULL CONSTRAINT [User_balance_df] DEFAULT 0,
    [created] DATETIME2 NOT NULL CONSTRAINT [User_created_df] DEFAULT CURRENT_TIMESTAMP,
    [updated] DATETIME2 NOT NULL,
    [uid] UNIQUEIDENTIFIER NOT NULL,
    [photo] VARBINARY(max),
    [big] BIGINT NOT NULL CONSTRAINT [User_big_df] DEFAULT 0,
    [score] FLOAT(53) NOT NULL CONSTRAINT [User_score_df] DEFAULT 0,
    CONSTRAINT [User_pkey] PRIMARY KEY CLUSTERED ([id]),
    CONSTRAINT [User_email_key] UNIQUE NONCLUSTERED ([email])
);

-- CreateTable
CREATE TABLE [dbo].[Post] (
    [id] INT NOT NULL IDENTITY(1,1),
    [title] NVARCHAR(1000) NOT NULL,
    [content] NVARCHAR(max),
    [authorId] INT NOT NULL,
    [version] INT NOT NULL CONSTRAINT [Post_version_df] DEFAULT 0,
    CONSTRAINT [Post_pkey] PRIMARY KEY CLUSTERED ([id])
);

-- CreateTable
CREATE TABLE [dbo].[Tag] (
    [id] INT NOT NULL IDENTITY(1,1),
    [name] NVARCHAR(1000) NOT NULL,
    CONSTRAINT [Tag_pkey] PRIMARY KEY CLUSTERED ([id]),
    CONSTRAINT [Tag_name_key] UNIQUE NONCLUSTERED ([name])
);

-- CreateTable
CREATE TABLE [dbo].[_PostToTag] (
    [A] INT NOT NULL,
    [B] INT NOT NULL,
    CONSTRAINT [_PostToTag_AB_unique] UNIQUE NONCLUSTERED ([A],[B])
);

-- CreateIndex
CREATE NONCLUSTERED INDEX [User_name_idx] ON [dbo].[User]([name]);

-- CreateIndex
CREATE NONCLUSTERED INDEX [_PostToTag_B_index] ON [dbo].[_PostToTag]([B]);

-- AddForeignKey
ALTER TABLE [dbo].[Post] ADD CONSTRAINT [Post_authorId_fkey] FOREIGN KEY ([authorId]) REFERENCES [dbo].[User]([id]) ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE [dbo].[_PostToTag] ADD CONSTRAINT [_PostToTag_A_fkey] FOREIGN KEY ([A]) REFERENCES [dbo].[Post]([id]) ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE [dbo].[_PostToTag] ADD CONSTRAINT [_PostToTag_B_fkey] FOREIGN KEY ([B]) REFERENCES [dbo].[Tag]([id]) ON DELETE CASCADE ON UPDATE CASCADE;

COMMIT TRAN;

END TRY
BEGIN CATCH

IF @@TRANCOUNT > 0
BEGIN
    ROLLBACK TRAN;
END;
THROW

END CATCH
`;
const code = async (p, expected) => {
  let e; try { await p; } catch (x) { e = x; }
  if (!e) throw new Error(`${expected} was expected`);
  equal(e.code, expected);
  return e;
};
const checks = {
  async migration() { await db.$executeRawUnsafe(migration); equal(await db.user.count(), 0); },
  async create() {
    const u = await db.user.create({ data: { email: 'a@x', name: 'Ann 漢', balance: '12.3456', photo: Buffer.from([0, 1, 255]), big: 9007199254740993n, score: 1.5,
      posts: { create: [{ title: 'one', tags: { create: [{ name: 't1' }, { name: 't2' }] } }, { title: 'two', content: 'x'.repeat(20000), tags: { connectOrCreate: [{ where: { name: 't1' }, create: { name: 't1' } }] } }] } },
      include: { posts: { include: { tags: true } } } });
    equal([u.id, u.balance, u.big, u.active, u.posts.length, u.posts[0].tags.map((t) => t.name), u.posts[1].tags[0].name], [1, '12.3456', 9007199254740993n, true, 2, ['t1', 't2'], 't1']);
    equal([...u.photo], [0, 1, 255]);
    const back = await db.user.findUniqueOrThrow({ where: { email: 'a@x' } });
    equal([back.uid, +back.updated, +back.created, back.score], [u.uid, +u.updated, +u.created, 1.5]);
    const many = await db.user.createMany({ data: Array.from({ length: 300 }, (_, i) => ({ email: `u${i}@x`, name: i % 3 ? `n${i}` : null, balance: i })) });
    equal(many.count, 300);
  },
  async queries() {
    equal(await db.user.findMany({ where: { balance: { gt: 100, lte: 103 } }, orderBy: { balance: 'desc' }, select: { email: true } }), [{ email: 'u103@x' }, { email: 'u102@x' }, { email: 'u101@x' }]);
    equal((await db.user.findMany({ orderBy: { id: 'asc' }, skip: 10, take: 5, select: { id: true } })).length, 5);
    equal((await db.user.findMany({ cursor: { id: 20 }, take: 3, skip: 1, orderBy: { id: 'asc' } })).map((u) => u.id), [21, 22, 23]);
    equal((await db.user.findMany({ cursor: { id: 20 }, take: -3, orderBy: { id: 'asc' } })).map((u) => u.id), [18, 19, 20]);
    equal(await db.user.count({ where: { OR: [{ name: { contains: 'n10' } }, { name: { startsWith: 'Ann' } }, { email: { endsWith: '5@x' } }], NOT: { active: false } } }), 39);
    equal(await db.user.count({ where: { name: null } }), 100);
    equal(await db.user.count({ where: { posts: { some: { tags: { some: { name: 't1' } } } } } }), 1);
    equal(await db.user.count({ where: { posts: { none: {} } } }), 300);
    equal(await db.user.count({ where: { posts: { every: { title: { in: ['one', 'two'] } } } } }), 301);
    equal(await db.user.count({ where: { email: { in: Array.from({ length: 1500 }, (_, i) => `u${i}@x`) } } }), 300);
    const agg = await db.user.aggregate({ _sum: { balance: true }, _avg: { score: true }, _max: { big: true }, _count: { name: true } });
    equal([agg._sum.balance, agg._max.big, agg._count.name], ['44862.3456', 9007199254740993n, 201]);
    const groups = await db.post.groupBy({ by: ['authorId'], _count: { _all: true }, having: { authorId: { gt: 0 } }, orderBy: { _count: { id: 'desc' } } });
    equal(groups, [{ _count: { _all: 2 }, authorId: 1 }]);
    equal((await db.user.findMany({ distinct: ['active'], select: { active: true } })).length, 1);
    equal((await db.user.findFirst({ where: { id: 1 }, include: { _count: { select: { posts: true } } } }))._count.posts, 2);
    equal((await db.user.findMany({ orderBy: [{ posts: { _count: 'desc' } }, { id: 'asc' }], take: 2 })).map((u) => u.id), [1, 2]);
    equal((await db.post.findMany({ orderBy: { author: { email: 'asc' } }, include: { author: true } })).length, 2);
  },
  async changes() {
    const u = await db.user.update({ where: { id: 2 }, data: { balance: { increment: '1.5' }, score: { multiply: 2 }, name: 'new', posts: { create: { title: 'three' } } }, include: { posts: true } });
    equal([u.balance, u.posts[0].title], ['1.5', 'three']);
    equal((await db.user.updateMany({ where: { id: { gt: 200 } }, data: { active: false } })).count, 101);
    equal((await db.user.deleteMany({ where: { id: { gt: 250 } } })).count, 51);
    equal((await db.user.upsert({ where: { email: 'a@x' }, update: { name: 'up' }, create: { email: 'a@x', name: 'cr' } })).name, 'up');
    equal((await db.user.upsert({ where: { email: 'z@x' }, update: { name: 'up' }, create: { email: 'z@x', name: 'cr' } })).name, 'cr');
    const p = await db.post.update({ where: { id: 1 }, data: { tags: { set: [{ name: 't2' }], create: { name: 't3' } } }, include: { tags: { orderBy: { name: 'asc' } } } });
    equal(p.tags.map((t) => t.name), ['t2', 't3']);
    await db.user.delete({ where: { id: 2 } });
    equal(await db.post.count(), 2);
    // optimistic lock
    equal((await db.post.updateMany({ where: { id: 1, version: 0 }, data: { version: { increment: 1 } } })).count, 1);
    equal((await db.post.updateMany({ where: { id: 1, version: 0 }, data: { version: { increment: 1 } } })).count, 0);
  },
  async errors() {
    await code(db.user.create({ data: { email: 'a@x' } }), 'P2002');
    await code(db.post.create({ data: { title: 'x', authorId: 99999 } }), 'P2003');
    await code(db.user.update({ where: { id: 99999 }, data: { name: 'x' } }), 'P2025');
    await code(db.user.create({ data: { email: 'x'.repeat(300) } }), 'P2000');
    const e = await code(db.$queryRawUnsafe('SELECT 1/0'), 'P2010');
    if (!/8134|zero/.test(e.message)) throw e;
    await code(db.$queryRawUnsafe('SELECT * FROM nothing'), 'P2010');
  },
  async transactions() {
    const before = await db.tag.count();
    await db.$transaction([db.tag.create({ data: { name: 'b1' } }), db.tag.create({ data: { name: 'b2' } })]);
    equal(await db.tag.count(), before + 2);
    await code(db.$transaction([db.tag.create({ data: { name: 'b3' } }), db.tag.create({ data: { name: 'b1' } })]), 'P2002');
    equal(await db.tag.count(), before + 2);
    for (const isolationLevel of ['ReadUncommitted', 'ReadCommitted', 'RepeatableRead', 'Serializable']) {
      const got = await db.$transaction(async (t) => {
        await t.tag.create({ data: { name: isolationLevel } });
        return (await t.$queryRaw`SELECT transaction_isolation_level AS l FROM sys.dm_exec_sessions WHERE session_id = @@SPID`)[0].l;
      }, { isolationLevel });
      equal(got, { ReadUncommitted: 1, ReadCommitted: 2, RepeatableRead: 3, Serializable: 4 }[isolationLevel]);
    }
    await db.$transaction(async (t) => { await t.tag.create({ data: { name: 'gone' } }); throw new Error('back'); }).catch((e) => equal(e.message, 'back'));
    equal(await db.tag.count({ where: { name: 'gone' } }), 0);
    // twenty interactive transactions that count up one row
    await Promise.all(Array.from({ length: 20 }, () => db.$transaction(async (t) => {
      await t.post.update({ where: { id: 1 }, data: { version: { increment: 1 } } });
    })));
    equal((await db.post.findUnique({ where: { id: 1 } })).version, 21);
  },
  async raw() {
    equal(await db.$queryRaw`SELECT ${1} AS a, ${'漢'} AS b, ${null} AS c, ${1.5} AS d, ${true} AS e, ${12345678901234n} AS f`, [{ a: 1, b: '漢', c: null, d: 1.5, e: true, f: 12345678901234n }]);
    const rows = await db.$queryRaw`SELECT name FROM Tag WHERE name IN (${Prisma.join(['b1', 'b2'])}) ORDER BY name`;
    equal(rows, [{ name: 'b1' }, { name: 'b2' }]);
    equal(await db.$executeRaw`UPDATE Tag SET name = name WHERE id > ${0}`, await db.tag.count());
    const t = (await db.$queryRaw`SELECT CAST('2026-11-22 10:11:12.123' AS datetime2) AS dt, CAST('2026-11-22' AS date) AS d, CAST('10:11:12' AS time) AS t, CAST('2026-11-22 10:11:12 +02:00' AS datetimeoffset) AS o, CAST(1.25 AS money) AS m, CAST(2 AS tinyint) AS i, NEWID() AS g, 0x0102 AS b, CAST(1.5 AS real) AS r`)[0];
    equal([t.dt, t.m, t.i, t.r], ['2026-11-22T10:11:12.123Z', 1.25, 2, 1.5]);
  },
};
(async () => {
  let failed = 0;
  for (const [name, run] of Object.entries(checks)) {
    try { await run(); console.log(`ok     prisma ${name}`); } catch (e) { failed += 1; console.log(`FAILED prisma ${name}`); console.log(e); }
  }
  await db.$disconnect();
  process.exit(failed ? 1 : 0);
})();
