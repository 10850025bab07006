// TypeORM: its schema builder, migrations, repositories and transactions.
require('reflect-metadata');
const { DataSource, EntitySchema, In, Table, TableColumn, TableForeignKey, TableIndex } = require('typeorm');

const env = process.env;
const equal = (got, expected) => {
  const text = (v) => JSON.stringify(v);
  if (text(got) !== text(expected)) throw new Error(`got ${text(got)}, expected ${text(expected)}`);
};

const Author = new EntitySchema({
  name: 'Author',
  columns: {
    id: { type: Number, primary: true, generated: true },
    name: { type: String, length: 50, unique: true },
    age: { type: 'int', nullable: true, default: 5 },
    price: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    made: { type: 'datetime2', createDate: true },
    version: { type: Number, version: true },
    key: { type: 'uniqueidentifier', generated: 'uuid' },
    data: { type: 'simple-json', nullable: true },
    bytes: { type: 'varbinary', length: 'MAX', nullable: true },
    gone: { type: 'datetime2', deleteDate: true, nullable: true },
  },
  relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author' } },
  indices: [{ columns: ['age'], where: '([age]>(0))' }],
});
const Book = new EntitySchema({
  name: 'Book',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    title: { type: 'nvarchar', length: 'MAX' },
  },
  relations: {
    author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', onDelete: 'CASCADE', joinColumn: true },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: true },
  },
});
const Tag = new EntitySchema({
  name: 'Tag',
  columns: { id: { type: 'uniqueidentifier', primary: true, generated: 'uuid' }, label: { type: 'varchar', length: 20 } },
});

class Volumes1700000000000 {
  async up(runner) {
    const id = { name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' };
    const columns = [id, { name: 'a', type: 'varchar', length: '10', default: "'x'" }, { name: 'of', type: 'int', isNullable: true }];
    await runner.createTable(new Table({ name: 'volume', columns }), true);
    await runner.addColumn('volume', new TableColumn({ name: 'b', type: 'int', isNullable: true, default: 3 }));
    await runner.createIndex('volume', new TableIndex({ name: 'ix_b', columnNames: ['b'] }));
    await runner.createForeignKey(
      'volume',
      new TableForeignKey({ columnNames: ['of'], referencedTableName: 'volume', referencedColumnNames: ['id'] }),
    );
    await runner.renameColumn('volume', 'b', 'c');
    await runner.dropColumn('volume', 'a');
  }

  async down(runner) {
    await runner.dropTable('volume');
  }
}

const source = new DataSource({
  type: 'mssql',
  host: env.KEEL_HOST,
  port: Number(env.KEEL_PORT),
  username: 'sa',
  password: env.KEEL_PASSWORD,
  database: env.KEEL_DATABASE,
  options: { encrypt: true, trustServerCertificate: true },
  entities: [Author, Book, Tag],
  migrations: [Volumes1700000000000],
});
const authors = () => source.getRepository('Author');

const checks = {
  async schema() {
    await source.initialize();
    await source.synchronize();
    const differences = await source.driver.createSchemaBuilder().log();
    equal(differences.upQueries.map((q) => q.query), []);
  },
  async migrations() {
    equal((await source.runMigrations()).length, 1);
    await source.undoLastMigration();
    equal((await source.runMigrations()).length, 1);
    await source.undoLastMigration();
  },
  async rows() {
    await authors().save({ name: 'ann', data: { a: 1 }, bytes: Buffer.from('hi'), age: 400 });
    await authors().save([...Array(200)].map((_, i) => ({ name: `n${i}`, age: i + 1 })), { chunk: 50 });
    const ann = await authors().findOneBy({ name: 'ann' });
    equal([ann.id, ann.data, ann.bytes.toString(), ann.version], [1, { a: 1 }, 'hi', 1]);
    const tag = await source.getRepository('Tag').save({ label: 'q' });
    await source.getRepository('Book').save({ title: 'x', author: ann, tags: [tag] });
    const [read] = await authors().find({ relations: { books: { tags: true } }, where: { id: ann.id } });
    equal(read.books[0].tags[0].label, 'q');
    ann.price = '12.50';
    equal((await authors().save(ann)).version, 2);
  },
  async pages() {
    const page = await authors().find({ order: { name: 'ASC' }, skip: 5, take: 2 });
    equal(page.map((a) => a.name), ['n101', 'n102']);
    const [some, all] = await authors().findAndCount({ relations: { books: true }, take: 3 });
    equal([some.length, all], [3, 201]);
    equal(await authors().countBy({ name: In(['ann', 'n1', 'none']) }), 2);
    await authors().softDelete({ name: 'n3' });
    equal(await authors().countBy({ name: 'n3' }), 0);
  },
  async transactions() {
    const failed = await source
      .transaction('SERIALIZABLE', async (m) => {
        await m.save('Author', { name: 'bob' });
        throw new Error('back');
      })
      .catch((e) => e.message);
    equal([failed, await authors().countBy({ name: 'bob' })], ['back', 0]);
    await source.transaction(async (outer) => {
      await outer.save('Author', { name: 'cyd' });
      const inner = outer.transaction(async (m) => {
        await m.save('Author', { name: 'dan' });
        throw new Error('back');
      });
      await inner.catch(() => {});
    });
    equal(await authors().countBy({ name: In(['cyd', 'dan']) }), 1);
    const locked = (m) => m.createQueryBuilder('Author', 'a').setLock('pessimistic_write').where('a.id = 1').getOne();
    equal((await source.transaction(locked)).name, 'ann');
  },
  async errors() {
    const error = await authors().insert({ name: 'ann' }).catch((e) => e);
    equal(error.number, 2627);
  },
  async streams() {
    let rows = 0;
    for await (const _ of await authors().createQueryBuilder('a').stream()) rows += 1;
    equal(rows, 201);
  },
  async drop() {
    await source.dropDatabase();
    equal(await source.query("SELECT name FROM sys.tables"), []);
  },
};

(async () => {
  let failed = 0;
  for (const [name, run] of Object.entries(checks)) {
    try {
      await run();
      console.log(`ok     typeorm ${name}`);
    } catch (e) {
      failed += 1;
      console.log(`FAILED typeorm ${name}`);
      console.log(e);
    }
  }
  if (source.isInitialized) await source.destroy();
  process.exit(failed ? 1 : 0);
})();
