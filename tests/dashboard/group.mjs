// Three instances with dashboards, in a group; processes of their own in a temporary directory.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

export const PASSWORD = "Keel-Test-1";
// A name that would run if it were ever taken as markup.
export const HOSTILE = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`;
const run = promisify(execFile);
const { KEEL } = process.env;

// Below the ports systems take for outgoing connections, so that nobody else gets it before the endpoint listens there.
let next = 15000 + (process.pid * 97) % 17000;
function freePort() {
  return new Promise((found) => {
    next = next === 31999 ? 15000 : next + 1;
    const port = next;
    const server = createServer();
    server.once("error", () => found(freePort()));
    server.listen(port, "127.0.0.1", () => server.close(() => found(port)));
  });
}

export class Group {
  static async start() {
    const group = new Group();
    group.dir = await mkdtemp(join(tmpdir(), "keel-dashboard-"));
    group.nodes = [];
    for (const name of ["NODE1", "NODE2", "NODE3"]) group.nodes.push(await group.node(name));
    return group;
  }

  async node(name) {
    const child = spawn(KEEL, ["serve", "--quiet", "--listen", "127.0.0.1:0", "--dashboard", "127.0.0.1:0", "--server-name", name,
      "--max-server-memory", "192", "--data", join(this.dir, name)], {
      env: { ...process.env, MSSQL_SA_PASSWORD: PASSWORD }, stdio: ["ignore", "pipe", "inherit"],
    });
    const gone = new Promise((ended) => child.once("exit", (code) => ended(code)));
    const line = await Promise.race([
      new Promise((ready) => createInterface({ input: child.stdout }).once("line", ready)),
      gone.then((code) => { throw new Error(`${name} ended with ${code} before it was ready`); }),
    ]);
    const [, port, url] = line.match(/on 127\.0\.0\.1:(\d+); dashboard on (\S+)$/);
    return { name, child, gone, url, server: `127.0.0.1,${port}`, endpoint: `127.0.0.1:${await freePort()}` };
  }

  async keel(node, ...more) {
    const { stdout } = await run(KEEL, [...more, "-S", node.server, "-P", PASSWORD, "-C"]);
    return stdout;
  }

  sql(node, text) {
    return this.keel(node, "sql", "-b", "-Q", text);
  }

  // By the three commands, and a database beside it with a hostile name.
  async join() {
    const [first, ...others] = this.nodes;
    await this.sql(first, "CREATE DATABASE shop");
    await this.sql(first, "CREATE TABLE shop.dbo.sale (id int IDENTITY PRIMARY KEY, what nvarchar(200))");
    await this.sql(first, `CREATE DATABASE [${HOSTILE.replaceAll("]", "]]")}]`);
    const token = (await this.keel(first, "init", "--endpoint", first.endpoint)).split(/\s+/).find((w) => w.startsWith("keel://"));
    for (const node of others) await this.keel(node, "join", token, "--endpoint", node.endpoint);
    await this.keel(first, "group", "create", "ag1", "--database", "shop", ...others.flatMap((n) => ["--member", n.server]));
  }

  // Commits, one after the other, until the connection is lost.
  work(node) {
    const text = `SET NOCOUNT ON; WHILE 1 = 1 BEGIN INSERT shop.dbo.sale (what) VALUES (REPLICATE(N'x', 100)); WAITFOR DELAY '00:00:00.005' END`;
    const child = spawn(KEEL, ["sql", "-b", "-Q", text, "-S", node.server, "-P", PASSWORD, "-C"], { stdio: "ignore" });
    (this.workers ??= []).push(child);
  }

  async stop() {
    for (const child of this.workers ?? []) child.kill("SIGKILL");
    for (const { child } of this.nodes) child.kill("SIGKILL");
    // Not by asking the child: one that a signal ended long ago has no exit code and says nothing any more.
    await Promise.all(this.nodes.map(({ gone }) => gone));
    await rm(this.dir, { recursive: true, force: true });
  }
}
