// knex, a query builder of Node with a schema builder and migrations.
const knex = require('knex');

const env = process.env;
const equal = (got, expected) => {
  const text = (v) => JSON.stringify(v);
  if (text(got) !== text(expected)) throw new Error(`got ${text(got)}, expected ${text(expected)}`);
};

const db = knex({
  client: 'mssql',
  connection: {
    server: env.KEEL_HOST,
    port: Number(env.KEEL_PORT),
    user: 'sa',
    password: env.KEEL_PASSWORD,
    database: env.KEEL_DATABASE,
    options: { encrypt: true, trustServerCertificate: true },
  },
});

const checks = {
  async schema() {
    await db.schema.createTable('author', (t) => {
      t.increments();
      t.string('name', 50).unique().notNullable();
      t.json('data');
      t.timestamps(true, true);
      t.decimal('price', 10, 3).defaultTo(1.5);
      t.boolean('active').defaultTo(false);
      t.uuid('uid');
      t.enu('kind', ['x', 'y']);
    });
    await db.schema.createTable('book', (t) => {
      t.bigIncrements();
      t.integer('author_id').references('id').inTable('author').onDelete('CASCADE');
      t.index(['author_id'], 'ix_book');
      t.text('text');
    });
    equal(await db.schema.hasTable('author'), true);
    equal(await db.schema.hasTable('nothing'), false);
    equal(await db.schema.hasColumn('author', 'name'), true);
    const columns = await db('author').columnInfo();
    equal([Object.keys(columns).length, columns.price.type, columns.name.maxLength], [9, 'decimal', 50]);
  },
  async rows() {
    const rows = await db('author').insert([{ name: 'q', data: '{"a":1}' }, { name: 'r' }], ['id', 'name']);
    equal(rows, [{ id: 1, name: 'q' }, { id: 2, name: 'r' }]);
    await db('book').insert([{ author_id: 1, text: 'one' }, { author_id: 1, text: 'two' }]);
    equal(await db('author').select('name').where('name', 'like', 'q%').orderBy('id').limit(1).offset(0), [{ name: 'q' }]);
    const counts = await db('author').leftJoin('book', 'author.id', 'book.author_id').count('book.id as n')
      .select('name').groupBy('author.name').having('author.name', '>', 'a').orderBy('name');
    equal(counts, [{ n: 2, name: 'q' }, { n: 0, name: 'r' }]);
    equal(await db('author').jsonExtract('data', '$.a', 'a').where('id', 1), [{ a: '1' }]);
    equal(await db('author').where({ name: 'q' }).update({ price: 3 }).returning(['id', 'price']), [{ id: 1, price: 3 }]);
    equal(await db.with('w', db('author').select('id')).select('*').from('w').orderBy('id').limit(2), [{ id: 1 }, { id: 2 }]);
    equal(await db.raw('select ? as a, ? as b', [1, 'x']), [{ a: 1, b: 'x' }]);
  },
  async transactions() {
    const inside = await db.transaction(async (t) => {
      await t('author').insert({ name: 's' });
      return t('author').forUpdate().count('* as n');
    });
    equal(inside, [{ n: 3 }]);
    const failed = db.transaction(async (t) => {
      await t('author').insert({ name: 't' });
      await t('author').insert({ name: 't' });
    });
    await failed.then(() => { throw new Error('a duplicate was taken'); }, (e) => equal(e.number, 2601));
    equal(await db('author').count('* as n'), [{ n: 3 }]);
  },
  async alterations() {
    await db.schema.alterTable('author', (t) => {
      t.string('extra').nullable();
      t.string('name', 80).notNullable().alter();
      t.renameColumn('uid', 'unique_id');
      t.dropColumn('kind');
    });
    await db.schema.renameTable('book', 'volume');
    await db.schema.createView('names', (v) => { v.columns(['n']); v.as(db('author').select('name')); });
    equal((await db('names').count('* as n'))[0].n, 3);
  },
  async migrations() {
    const migrationSource = {
      getMigrations: async () => ['first'],
      getMigrationName: (m) => m,
      getMigration: async () => ({
        up: (k) => k.schema.createTable('migrated', (t) => t.increments()),
        down: (k) => k.schema.dropTable('migrated'),
      }),
    };
    await db.migrate.latest({ migrationSource });
    equal(await db.schema.hasTable('migrated'), true);
    await db.migrate.rollback({ migrationSource });
    equal(await db.schema.hasTable('migrated'), false);
  },
  async streams() {
    let rows = 0;
    for await (const _ of db('author').stream()) rows += 1;
    equal(rows, 3);
  },
  async drop() {
    await db.schema.dropView('names').dropTable('volume').dropTable('author');
    equal(await db.schema.hasTable('author'), false);
  },
};

(async () => {
  let failed = 0;
  for (const [name, run] of Object.entries(checks)) {
    try {
      await run();
      console.log(`ok     knex ${name}`);
    } catch (e) {
      failed += 1;
      console.log(`FAILED knex ${name}`);
      console.log(e);
    }
  }
  await db.destroy();
  process.exit(failed ? 1 : 0);
})();
