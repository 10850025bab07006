// A Spring Boot application: HikariCP, JdbcTemplate, Spring Data JPA over Hibernate, Quartz's clustered job store, Spring Batch.
package app;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.*;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.*;
import javax.sql.DataSource;
import org.quartz.*;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.domain.EntityScan;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.*;
import org.springframework.dao.*;
import org.springframework.data.domain.*;
import org.springframework.data.jpa.repository.*;
import org.springframework.data.jpa.repository.Lock;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.namedparam.*;
import org.springframework.jdbc.core.simple.*;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.transaction.annotation.*;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.batch.core.JobParametersBuilder;
import org.springframework.batch.core.job.builder.JobBuilder;
import org.springframework.batch.core.step.builder.StepBuilder;
import org.springframework.batch.core.repository.JobRepository;
import org.springframework.batch.core.launch.JobLauncher;
import org.springframework.batch.item.database.*;
import org.springframework.batch.item.database.builder.*;

@SpringBootApplication
@EnableJpaRepositories(considerNestedRepositories = true)
public class App {
    @Entity(name = "Customer") @Table(name = "customer", indexes = @Index(name = "ix_customer_name", columnList = "name"))
    public static class Customer {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
        @Column(nullable = false, unique = true, length = 100) public String email;
        public String name;
        @Column(precision = 18, scale = 4) public BigDecimal balance = BigDecimal.ZERO;
        public Instant created = Instant.now();
        public LocalDate born;
        public UUID token = UUID.randomUUID();
        @Enumerated(EnumType.STRING) public Kind kind = Kind.A;
        @Lob public String notes;
        public boolean active = true;
        @Version public int version;
        @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL, orphanRemoval = true) public List<Purchase> purchases = new ArrayList<>();
    }
    public enum Kind { A, B }
    @Entity(name = "Purchase") @Table(name = "purchase")
    public static class Purchase {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "p") @SequenceGenerator(name = "p", sequenceName = "purchase_seq", allocationSize = 20) public Long id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) public Customer customer;
        public String item;
        public BigDecimal price;
    }
    public interface Names { String getName(); String getEmail(); }
    public interface Customers extends JpaRepository<Customer, Long>, JpaSpecificationExecutor<Customer> {
        Optional<Customer> findByEmail(String email);
        List<Customer> findTop3ByNameStartingWithOrderByIdDesc(String start);
        Page<Customer> findByActiveTrue(Pageable page);
        Slice<Names> findByKind(Kind kind, Pageable page);
        long countByBornBetween(LocalDate a, LocalDate b);
        boolean existsByEmailIgnoreCase(String email);
        @Query("select c.name as name, c.email as email from Customer c join c.purchases p group by c.name, c.email having sum(p.price) > :m") List<Names> rich(BigDecimal m);
        @Query(value = "SELECT TOP (?1) * FROM customer ORDER BY id", nativeQuery = true) List<Customer> firsts(int n);
        @Modifying @Transactional @Query("update Customer c set c.active = false where c.id > ?1") int retire(long id);
        @Lock(LockModeType.PESSIMISTIC_WRITE) @Query("select c from Customer c where c.id = ?1") Customer locked(long id);
        @Query("select c from Customer c") Stream<Customer> all();
    }

    static void equal(Object got, Object expected) {
        if (!String.valueOf(got).equals(String.valueOf(expected))) throw new AssertionError("got " + got + ", expected " + expected);
    }
    interface Check { void run() throws Exception; }
    static int failed;
    static void check(String name, Check c) {
        try { c.run(); System.out.println("ok     spring " + name); }
        catch (Throwable t) { failed++; System.out.println("FAILED spring " + name); t.printStackTrace(System.out); }
    }
    static final AtomicInteger ran = new AtomicInteger();
    public static class Tick implements Job {
        public void execute(JobExecutionContext c) { ran.addAndGet(c.getMergedJobDataMap().getInt("by")); }
    }

    public static void main(String[] args) throws Exception {
        var e = System.getenv();
        var url = "jdbc:sqlserver://" + e.get("KEEL_HOST") + ":" + e.get("KEEL_PORT") + ";databaseName=" + e.get("KEEL_DATABASE") + ";encrypt=true;trustServerCertificate=true";
        var p = new HashMap<String, Object>();
        p.put("spring.datasource.url", url);
        p.put("spring.datasource.username", "sa");
        p.put("spring.datasource.password", e.get("KEEL_PASSWORD"));
        p.put("spring.datasource.hikari.maximum-pool-size", 6);
        p.put("spring.datasource.hikari.max-lifetime", 30000);
        p.put("spring.jpa.hibernate.ddl-auto", "create");
        p.put("spring.jpa.open-in-view", false);
        p.put("spring.jpa.properties.hibernate.jdbc.batch_size", 50);
        p.put("spring.quartz.job-store-type", "jdbc");
        p.put("spring.quartz.jdbc.initialize-schema", "never");
        p.put("spring.quartz.auto-startup", false);
        p.put("spring.quartz.properties.org.quartz.jobStore.driverDelegateClass", "org.quartz.impl.jdbcjobstore.MSSQLDelegate");
        p.put("spring.quartz.properties.org.quartz.jobStore.isClustered", "true");
        p.put("spring.quartz.properties.org.quartz.jobStore.acquireTriggersWithinLock", "true");
        p.put("spring.quartz.properties.org.quartz.scheduler.instanceId", "AUTO");
        p.put("spring.quartz.properties.org.quartz.jobStore.lockHandler.class", "org.quartz.impl.jdbcjobstore.UpdateLockRowSemaphore");
        p.put("spring.batch.jdbc.initialize-schema", "always");
        p.put("spring.batch.job.enabled", false);
        p.put("spring.main.web-application-type", "none");
        // What matters is checked; Hibernate tells at length of constraints that are not there to be dropped.
        p.put("logging.level.org.hibernate.tool.schema", "OFF");
        p.put("spring.main.banner-mode", "off");
        p.put("logging.level.root", e.getOrDefault("LOGLEVEL", "ERROR"));
        var app = new SpringApplication(App.class);
        app.setDefaultProperties(p);
        ConfigurableApplicationContext cx;
        try { cx = app.run(); } catch (Throwable t) { System.out.println("FAILED spring start"); t.printStackTrace(System.out); System.exit(1); return; }
        System.out.println("ok     spring start");
        var jdbc = cx.getBean(JdbcTemplate.class);
        var named = cx.getBean(NamedParameterJdbcTemplate.class);
        var ds = cx.getBean(DataSource.class);
        var repo = cx.getBean(Customers.class);
        var tx = new TransactionTemplate(cx.getBean(PlatformTransactionManager.class));

        check("hikari pool", () -> {
            equal(ds.unwrap(HikariDataSource.class).getMaximumPoolSize(), 6);
            var pool = Executors.newFixedThreadPool(20);
            var all = new ArrayList<Future<Integer>>();
            for (int i = 0; i < 200; i++) { int n = i; all.add(pool.submit(() -> jdbc.queryForObject("SELECT ? + 1", Integer.class, n))); }
            for (int i = 0; i < 200; i++) equal(all.get(i).get(), i + 1);
            pool.shutdown();
            try (var c = ds.getConnection()) { equal(c.isValid(5), true); c.setReadOnly(true); c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE); c.setNetworkTimeout(Runnable::run, 10000); }
            try (var c = ds.getConnection()) { equal(c.getTransactionIsolation(), Connection.TRANSACTION_READ_COMMITTED); }
        });
        check("jdbc template", () -> {
            jdbc.execute("CREATE TABLE item (id int IDENTITY PRIMARY KEY, name nvarchar(50) NOT NULL UNIQUE, price decimal(10,2), made datetime2 DEFAULT SYSUTCDATETIME(), photo image)");
            var counts = jdbc.batchUpdate("INSERT INTO item (name, price, photo) VALUES (?, ?, ?)", IntStream.range(0, 500).mapToObj(i -> new Object[] {"n" + i, BigDecimal.valueOf(i, 2), i % 2 == 0 ? new byte[] {(byte) i} : null}).toList(), new int[] {Types.NVARCHAR, Types.DECIMAL, Types.VARBINARY});
            equal(IntStream.of(counts).sum(), 500);
            var key = new GeneratedKeyHolder();
            named.update("INSERT INTO item (name, price) VALUES (:name, :price)", new MapSqlParameterSource("name", "key").addValue("price", 3), key);
            equal(key.getKey().intValue(), 501);
            equal(new SimpleJdbcInsert(jdbc).withTableName("item").usingGeneratedKeyColumns("id").usingColumns("name", "price").executeAndReturnKey(Map.of("name", "simple", "price", 1)).intValue(), 502);
            equal(named.queryForObject("SELECT COUNT(*) FROM item WHERE id IN (:ids)", Map.of("ids", List.of(1, 2, 3)), Integer.class), 3);
            equal(jdbc.queryForList("SELECT name FROM item ORDER BY id OFFSET ? ROWS FETCH NEXT ? ROWS ONLY", String.class, 10, 2), List.of("n10", "n11"));
            try (var s = jdbc.queryForStream("SELECT id FROM item", (r, i) -> r.getInt(1))) { equal(s.mapToInt(i -> i).count(), 502); }
            equal(jdbc.query("SELECT photo FROM item WHERE id = 5", (r, i) -> r.getBytes(1)).get(0)[0], 4);
            jdbc.execute("CREATE PROCEDURE add_up @a int, @b int, @sum int OUTPUT AS BEGIN SET NOCOUNT ON; SET @sum = @a + @b; SELECT TOP 2 id, name FROM item ORDER BY id; RETURN 5 END");
            var out = new SimpleJdbcCall(jdbc).withProcedureName("add_up").returningResultSet("rows", (r, i) -> r.getString("name")).withReturnValue().execute(Map.of("a", 2, "b", 3));
            equal(out.get("sum") + " " + out.get("rows"), "5 [n0, n1]");
            jdbc.execute("CREATE FUNCTION twice (@a int) RETURNS int AS BEGIN RETURN @a * 2 END");
            equal(new SimpleJdbcCall(jdbc).withSchemaName("dbo").withFunctionName("twice").executeFunction(Integer.class, Map.of("a", 21)), 42);
        });
        check("exceptions translated", () -> {
            jdbc.setExceptionTranslator(new org.springframework.jdbc.support.SQLErrorCodeSQLExceptionTranslator(ds));
            record T(String sql, Class<?> c) {}
            for (var t : List.of(new T("INSERT INTO item (name) VALUES ('n1')", DuplicateKeyException.class), new T("INSERT INTO item (name) VALUES (NULL)", DataIntegrityViolationException.class),
                new T("SELECT * FROM nothing", org.springframework.jdbc.BadSqlGrammarException.class), new T("SELECT FROM item", org.springframework.jdbc.BadSqlGrammarException.class), new T("SELECT nothing FROM item", org.springframework.jdbc.BadSqlGrammarException.class))) {
                try { jdbc.execute(t.sql); throw new AssertionError(t.sql); } catch (DataAccessException x) { if (!t.c.isInstance(x)) throw x; }
            }
            // one waits for another's row, with a lock time-out; then a deadlock
            tx.executeWithoutResult(s -> {
                jdbc.update("UPDATE item SET price = 1 WHERE id = 1");
                try { CompletableFuture.runAsync(() -> new TransactionTemplate(cx.getBean(PlatformTransactionManager.class)).executeWithoutResult(s2 -> { jdbc.execute("SET LOCK_TIMEOUT 100"); try { jdbc.update("UPDATE item SET price = 2 WHERE id = 1"); } finally { jdbc.execute("SET LOCK_TIMEOUT -1"); } })).get(); throw new AssertionError(); }
                catch (Exception x) { if (!(x.getCause() instanceof CannotAcquireLockException || x.getCause() instanceof QueryTimeoutException || x.getCause() instanceof UncategorizedDataAccessException)) throw new AssertionError(x); }
            });
            var barrier = new CyclicBarrier(2);
            var victims = new AtomicInteger();
            var both = new ArrayList<CompletableFuture<Void>>();
            for (int k = 0; k < 2; k++) { int a = 1 + k, b = 2 - k; both.add(CompletableFuture.runAsync(() -> { try { tx.executeWithoutResult(s -> { jdbc.update("UPDATE item SET price = 5 WHERE id = ?", a); try { barrier.await(); } catch (Exception x) { throw new RuntimeException(x); } jdbc.update("UPDATE item SET price = 5 WHERE id = ?", b); }); } catch (PessimisticLockingFailureException x) { victims.incrementAndGet(); } })); }
            for (var f : both) f.get();
            equal(victims.get(), 1);
        });
        check("data jpa", () -> {
            var list = new ArrayList<Customer>();
            for (int i = 0; i < 100; i++) { var c = new Customer(); c.email = "c" + i + "@x"; c.name = (i % 2 == 0 ? "even" : "odd") + i; c.born = LocalDate.of(2000, 1, 1).plusDays(i); c.kind = i % 5 == 0 ? Kind.B : Kind.A; c.notes = "漢".repeat(5000);
                for (int j = 0; j < 3; j++) { var q = new Purchase(); q.customer = c; q.item = "p" + j; q.price = BigDecimal.valueOf(i); c.purchases.add(q); } list.add(c); }
            repo.saveAll(list);
            equal(repo.count(), 100);
            equal(repo.findByEmail("c7@x").get().notes.length(), 5000);
            equal(repo.findTop3ByNameStartingWithOrderByIdDesc("even").stream().map(c -> c.name).toList(), "[even98, even96, even94]");
            var page = repo.findByActiveTrue(PageRequest.of(2, 30, Sort.by("id").descending()));
            equal(page.getTotalElements() + " " + page.getTotalPages() + " " + page.getNumberOfElements() + " " + page.getContent().get(0).email, "100 4 30 c39@x");
            equal(repo.findByKind(Kind.B, PageRequest.of(0, 5)).getContent().size(), 5);
            equal(repo.countByBornBetween(LocalDate.of(2000, 1, 1), LocalDate.of(2000, 1, 10)), 10);
            equal(repo.existsByEmailIgnoreCase("C5@X"), true);
            equal(repo.rich(new BigDecimal(290)).size(), 3);
            equal(repo.firsts(2).size(), 2);
            equal(repo.retire(90), 10);
            equal(repo.findAll((root, q, cb) -> cb.and(cb.like(root.get("name"), "odd%"), cb.isFalse(root.get("active"))), Sort.by("name")).size(), 5);
            tx.executeWithoutResult(s -> { try (var all = repo.all()) { equal(all.mapToInt(c -> c.purchases.size()).limit(20).sum(), 60); } });
            var probe = new Customer(); probe.email = "c3@x"; probe.balance = null; probe.created = null; probe.token = null; probe.kind = null;
            equal(repo.findAll(Example.of(probe, ExampleMatcher.matching().withIgnorePaths("version", "active"))).size(), 1);
        });
        check("optimistic and pessimistic locks", () -> {
            var a = repo.findById(1L).get(); var b = repo.findById(1L).get();
            a.name = "first"; repo.save(a);
            b.name = "second";
            try { repo.save(b); throw new AssertionError(); } catch (OptimisticLockingFailureException x) { }
            var pool = Executors.newFixedThreadPool(4); var all = new ArrayList<Future<?>>();
            for (int i = 0; i < 40; i++) all.add(pool.submit(() -> tx.executeWithoutResult(s -> { var c = repo.locked(2); c.balance = c.balance.add(BigDecimal.ONE); })));
            for (var f : all) f.get();
            pool.shutdown();
            equal(repo.findById(2L).get().balance, "40.0000");
        });
        check("rolled back", () -> {
            try { tx.executeWithoutResult(s -> { repo.deleteById(5L); repo.flush(); jdbc.update("DELETE FROM item"); throw new IllegalStateException(); }); } catch (IllegalStateException x) { }
            equal(repo.existsById(5L) + " " + jdbc.queryForObject("SELECT COUNT(*) FROM item", Integer.class), "true 502");
            var nested = new TransactionTemplate(new org.springframework.jdbc.support.JdbcTransactionManager(ds));
            nested.executeWithoutResult(s -> { jdbc.update("DELETE FROM item WHERE id = 1"); var save = s.createSavepoint(); jdbc.update("DELETE FROM item"); s.rollbackToSavepoint(save); });
            equal(jdbc.queryForObject("SELECT COUNT(*) FROM item", Integer.class), 501);
        });
        check("quartz, clustered job store", () -> {
            // Quartz's own script for SQL Server.
            var script = new org.springframework.core.io.ClassPathResource("/org/quartz/impl/jdbcjobstore/tables_sqlServer.sql").getContentAsString(java.nio.charset.StandardCharsets.UTF_8);
            for (var batch : script.replace("enter_db_name_here", e.get("KEEL_DATABASE")).replaceAll("(?m)^--#.*$", "").split("(?im)^\\s*GO\\s*$"))
                if (!batch.isBlank()) jdbc.execute(batch);
            var scheduler = cx.getBean(Scheduler.class);
            scheduler.start();
            var job = org.quartz.JobBuilder.newJob(Tick.class).withIdentity("tick").storeDurably().build();
            scheduler.scheduleJob(job, TriggerBuilder.newTrigger().withIdentity("t").usingJobData("by", 1).withSchedule(SimpleScheduleBuilder.repeatSecondlyForTotalCount(3)).startNow().build());
            scheduler.scheduleJob(TriggerBuilder.newTrigger().forJob(job).withIdentity("cron").usingJobData("by", 100).withSchedule(CronScheduleBuilder.cronSchedule("0/1 * * * * ?")).build());
            for (int i = 0; i < 600 && (ran.get() % 100 < 3 || ran.get() < 103); i++) Thread.sleep(100);
            equal(ran.get() % 100 >= 3 && ran.get() >= 103, true);
            equal(scheduler.getJobKeys(org.quartz.impl.matchers.GroupMatcher.anyGroup()).size(), 1);
            scheduler.pauseAll(); scheduler.resumeAll();
            equal(jdbc.queryForObject("SELECT COUNT(*) FROM QRTZ_SCHEDULER_STATE", Integer.class), 1);
            equal(scheduler.deleteJob(job.getKey()), true);
        });
        check("batch", () -> {
            var jobs = cx.getBean(JobRepository.class); var manager = cx.getBean(PlatformTransactionManager.class);
            jdbc.execute("CREATE TABLE copied (id int PRIMARY KEY, name nvarchar(50))");
            var reader = new JdbcPagingItemReaderBuilder<Object[]>().name("r").dataSource(ds).selectClause("SELECT id, name").fromClause("FROM item").sortKeys(Map.of("id", org.springframework.batch.item.database.Order.ASCENDING)).pageSize(100).rowMapper((r, i) -> new Object[] {r.getInt(1), r.getString(2)}).build();
            var writer = new JdbcBatchItemWriterBuilder<Object[]>().dataSource(ds).sql("INSERT INTO copied VALUES (?, ?)").itemPreparedStatementSetter((o, s) -> { s.setInt(1, (Integer) o[0]); s.setString(2, (String) o[1]); }).build();
            reader.afterPropertiesSet(); writer.afterPropertiesSet();
            var step = new StepBuilder("copy", jobs).<Object[], Object[]>chunk(70, manager).reader(reader).writer(writer).build();
            var run = cx.getBean(JobLauncher.class).run(new JobBuilder("j", jobs).start(step).build(), new JobParametersBuilder().addLong("n", 1L).addLocalDate("d", LocalDate.now()).toJobParameters());
            equal(run.getStatus() + " " + run.getAllFailureExceptions(), "COMPLETED []");
            equal(jdbc.queryForObject("SELECT COUNT(*) FROM copied", Integer.class), 501);
            var cursor = new JdbcCursorItemReaderBuilder<Integer>().name("c").dataSource(ds).sql("SELECT id FROM copied ORDER BY id").rowMapper((r, i) -> r.getInt(1)).fetchSize(20).build();
            cursor.afterPropertiesSet(); cursor.open(new org.springframework.batch.item.ExecutionContext());
            int n = 0; while (cursor.read() != null) n++; cursor.close(); equal(n, 501);
        });
        check("schema validates", () -> {
            p.put("spring.jpa.hibernate.ddl-auto", "validate");
            p.put("spring.batch.jdbc.initialize-schema", "never");
            var again = new SpringApplication(App.class); again.setDefaultProperties(p); again.run().close();
            p.put("spring.jpa.hibernate.ddl-auto", "update");
            var third = new SpringApplication(App.class); third.setDefaultProperties(p); third.run().close();
        });
        cx.close();
        System.exit(failed > 0 ? 1 : 0);
    }
}
