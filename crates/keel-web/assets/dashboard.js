// The page: asks the server once a second, hands what it says to the parts, and carries out what buttons ask for.

import { byId, make, write } from "/dom.js";
import { alarms, Cluster, Failovers, Groups, Header, Server, Tiles } from "/parts.js";
import { Plots } from "/plots.js";

const INTERVAL_MS = 1000;

let who = { login: null, csrf: null, may_look: false };
const plots = new Plots(byId("plots"));
const actions = { failOver, move };
const [header, tiles, groups, failovers, cluster, server] = [new Header(), new Tiles(), new Groups(actions), new Failovers(), new Cluster(), new Server()];

class Refused extends Error {
  constructor(status, message, number) {
    super(message);
    this.status = status;
    this.number = number;
  }
}

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json", ...(who.csrf ? { "x-csrf-token": who.csrf } : {}) },
    body: JSON.stringify(body),
  };
  const answer = await fetch(path, { ...options, signal: AbortSignal.timeout(body === undefined ? 8000 : 65000) });
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return said;
  const { number, message } = said.error ?? {};
  throw new Refused(answer.status, message ? (number ? `${message} (${number})` : message) : `The server answered ${answer.status}.`, number);
}

// ---- Who

async function learnWho() {
  who = await ask("/api/session");
  write(byId("server"), who.server);
  write(byId("who"), who.login ?? "");
  byId("enter").hidden = who.login !== null;
  byId("leave").hidden = who.login === null;
  byId("closed").hidden = who.may_look;
  byId("shown").hidden = !who.may_look;
  if (who.login && !who.may_look) write(byId("closed").querySelector("p"), `${who.login} may not look: that takes the permission VIEW SERVER STATE.`);
}

function openLogin() {
  write(byId("login-error"), "");
  byId("login").showModal();
  byId("name").focus();
}

byId("enter").addEventListener("click", openLogin);
byId("enter-main").addEventListener("click", openLogin);
byId("login-cancel").addEventListener("click", () => byId("login").close());
byId("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await ask("/api/login", { name: byId("name").value, password: byId("password").value });
    byId("login").close();
    await learnWho();
    await refresh();
  } catch (e) {
    write(byId("login-error"), e.message);
  } finally {
    byId("password").value = "";
  }
});
byId("leave").addEventListener("click", async () => {
  await ask("/api/logout", {}).catch(() => {});
  location.reload();
});

// ---- Buttons

function confirmed(title, text, sql, yes) {
  const dialog = byId("confirm");
  write(byId("confirm-title"), title);
  write(byId("confirm-text"), text);
  write(byId("confirm-sql"), sql);
  write(byId("confirm-yes"), yes);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}

function say(text, tone) {
  const line = make("p", { class: tone }, text);
  byId("said").replaceChildren(line);
  setTimeout(() => line.remove(), 12000);
}

// The instance's refusals that are about permissions; they say that something may not exist, which the page knows it does.
const NOT_ALLOWED = {
  15151: "ALTER on the availability group, or ALTER ANY AVAILABILITY GROUP",
  15247: "ALTER ANY AVAILABILITY GROUP",
  5011: "ALTER on the availability group or on the database, or ALTER ANY AVAILABILITY GROUP",
};

async function carryOut(doing, path, body, done) {
  say(doing, "");
  try {
    await ask(path, body);
    say(done, "good");
  } catch (e) {
    const taken = NOT_ALLOWED[e.number];
    say(taken ? `${who.login} may not do this: it takes ${taken} (${e.number}).` : e.message, "bad");
    if (e.status === 401) await learnWho();
  }
  await refresh();
}

const literal = (text) => `N'${text.replaceAll("'", "''")}'`;
const quoted = (name) => `[${name.replaceAll("]", "]]")}]`;

async function failOver(group, to, from) {
  const text = `${to} becomes the primary of ${group}${from ? ` in place of ${from}` : ""}. Nothing that was committed is lost; sessions in the group's databases end and have to connect again.`;
  const sql = `EXEC sys.sp_keel_failover @group = ${literal(group)}, @to = ${literal(to)}`;
  if (await confirmed(`Make ${to} the primary?`, text, sql, "Make primary")) {
    await carryOut(`${to} is to become the primary of ${group} …`, "/api/failover", { group, to }, `${to} is the primary of ${group}.`);
  }
}

async function move(copy, on) {
  const [database, verb] = [copy.database_name, on ? "RESUME" : "SUSPEND"];
  const where = copy.is_primary ? "to any secondary" : "to this copy";
  const text = on
    ? `Log of ${database} moves again${copy.is_primary ? "" : " to this copy"}. After a forced failover this also gives up what only this copy has.`
    : `No log of ${database} moves ${where} until it is resumed: ${copy.is_primary ? "the secondaries fall" : "this copy falls"} behind and cannot take over, and the primary keeps its log.`;
  if (await confirmed(`${on ? "Resume" : "Suspend"} ${database}?`, text, `ALTER DATABASE ${quoted(database)} SET HADR ${verb}`, on ? "Resume" : "Suspend")) {
    await carryOut(`${database} …`, `/api/${on ? "resume" : "suspend"}`, { database }, `${database} is ${on ? "resumed" : "suspended"}.`);
  }
}

// ---- Once a second

let newest = null;

async function refresh() {
  const [state, history] = await Promise.all([ask("/api/state"), ask(`/api/history?since=${plots.newest}`)]);
  newest = Date.now();
  plots.add(history);
  header.show(state);
  tiles.show(state, plots);
  groups.show(state, plots, who.login);
  failovers.show(state);
  cluster.show(state);
  server.show(state);
  alarm(alarms(state));
  write(byId("fresh"), `as of ${new Date(state.now).toLocaleTimeString()}`);
}

function alarm(lines) {
  const key = lines.join("\n");
  if (byId("alarm").dataset.shown === key) return;
  byId("alarm").dataset.shown = key;
  byId("alarm").replaceChildren(...lines.map((line) => make("p", {}, line)));
}

async function turn() {
  try {
    if (!document.hidden) {
      if (!who.may_look) await learnWho();
      if (who.may_look) await refresh();
    }
  } catch (e) {
    if (e.status === 401 || e.status === 403) {
      who.may_look = false;
    } else {
      const since = newest ? ` What is shown is as of ${new Date(newest).toLocaleTimeString()}.` : "";
      alarm([`No answer from this instance.${since}`]);
    }
  }
  setTimeout(turn, who.may_look ? INTERVAL_MS : 5 * INTERVAL_MS);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && who.may_look) refresh().catch(() => {});
});
turn();
