// The parts of the page: each takes the state as `/api/state` gave it.

import * as format from "/format.js";
import { badge, byId, make, Table, write } from "/dom.js";

const GOOD = ["HEALTHY", "SYNCHRONIZED", "ONLINE", "CONNECTED", "PRIMARY", "NORMAL_QUORUM", "SERVED"];
const POOR = ["NOT_HEALTHY", "NOT SYNCHRONIZING", "DISCONNECTED", "RESOLVING", "RECOVERY_PENDING", "SUSPECT", "UNKNOWN_QUORUM_STATE"];

const tone = (word) => (GOOD.includes(word) ? "good" : POOR.includes(word) ? "bad" : word === "SECONDARY" ? "plain" : "fair");
const mark = (word) => (word ? { badge: format.words(word), tone: tone(word) } : format.absent);
const yes = (flag, word = "yes", other = "no") => (flag === null || flag === undefined ? format.absent : flag ? word : other);
const same = (a, b) => a.toLowerCase() === b.toLowerCase();

const counter = (state, name) => state.counters.find((c) => c.counter === name)?.value;

// What to shout about.
export function alarms(state) {
  const found = [];
  const cluster = state.cluster[0];
  if (cluster && cluster.votes_heard < cluster.votes_needed) {
    found.push(`Only ${cluster.votes_heard} of ${cluster.votes} votes are heard; ${cluster.votes_needed} are needed. Nobody can lead.`);
  }
  for (const p of new Map(state.participants.filter((p) => p.commits_are_blocked).map((p) => [`${p.group_name}/${p.database_name}`, p])).values()) {
    found.push(`Commits in ${p.database_name} wait: ${p.synchronized_secondaries} secondaries are synchronized, ${p.required_synchronized_secondaries} are required.`);
  }
  for (const c of state.copies.filter((c) => c.is_suspended && c.is_local)) {
    found.push(`${c.database_name} is suspended here (${format.words(c.suspend_reason)}).`);
  }
  return found;
}

export class Header {
  show(state) {
    const server = state.server[0];
    write(byId("server"), server.name);
    document.title = `${server.name} · Evenkeel`;
    const roles = [...new Set(state.groups.map((g) => g.role ?? "NOT JOINED"))];
    const words = roles.length ? roles : ["STANDALONE"];
    const shown = words.join();
    if (byId("role").dataset.shown !== shown) {
      byId("role").dataset.shown = shown;
      byId("role").replaceChildren(...words.map((word) => badge(format.words(word), word === "STANDALONE" ? "plain" : tone(word))));
    }
    write(byId("about"), `version ${server.version}, up ${format.seconds(server.up_s)}`);
  }
}

export class Tiles {
  constructor() {
    this.tiles = new Map();
  }

  show(state, plots) {
    const commit = plots.last("commit", "wait for secondaries", 15) ?? plots.last("commit", "wait for the log", 15);
    const [used, limit] = [counter(state, "Total Server Memory (KB)"), counter(state, "Target Server Memory (KB)")];
    const rto = Math.max(...state.estimates.filter((e) => e.is_automatic).map((e) => e.rto_ms ?? 0));
    const entries = [
      ["writing transactions", format.rate(plots.last("work", "writing transactions") ?? null)],
      ["a commit waits", format.milliseconds(commit ?? null)],
      ["connections", format.count(counter(state, "User Connections"))],
      ["blocked sessions", format.count(counter(state, "Processes blocked"))],
      ["memory in use", format.kilobytes(used), `memory of ${format.kilobytes(limit)}`],
    ];
    if (state.estimates.length) {
      entries.push(["away, if lost now", Number.isFinite(rto) ? format.milliseconds(rto) : "until someone acts"]);
      const least = Math.min(...state.estimates.map((e) => e.rpo_bytes ?? 0));
      entries.push(["lost with it", least === 0 ? "nothing" : format.bytes(least)]);
    }
    for (const [name, value, words] of entries) {
      let tile = this.tiles.get(name);
      if (!tile) {
        tile = make("strong");
        this.tiles.set(name, tile);
        byId("tiles").append(make("div", { class: "tile" }, tile, make("span", {}, words ?? name)));
      }
      write(tile, value);
    }
    for (const [name, tile] of this.tiles) tile.parentElement.hidden = !entries.some(([n]) => n === name);
  }
}

// One card for each group. `actions` has failOver(group, server, from) and move(database, on).
export class Groups {
  constructor(actions) {
    this.actions = actions;
    this.cards = new Map();
  }

  show(state, plots, login) {
    for (const [name, card] of this.cards) {
      if (!state.groups.some((g) => g.name === name)) {
        card.card.remove();
        this.cards.delete(name);
      }
    }
    for (const group of state.groups) {
      let card = this.cards.get(group.name);
      if (!card) {
        card = new GroupCard(this.actions);
        this.cards.set(group.name, card);
        byId("groups").append(card.card);
      }
      card.show(group, state, plots, login);
    }
  }
}

class GroupCard {
  constructor(actions) {
    this.actions = actions;
    this.title = make("h2");
    this.health = make("span");
    this.about = make("p", { class: "quiet" });
    this.split = make("div", { class: "split" });
    this.card = make("section", { class: "card group" }, make("div", { class: "title" }, this.title, this.health), this.about);
    this.replicas = new Table(this.card, "Replicas", [
      { head: "replica", cell: (r) => r.server },
      { head: "role", cell: (r) => mark(r.role) },
      { head: "state", cell: (r) => [mark(r.connected === "CONNECTED" ? r.health : r.connected), r.connect_error && r.connected !== "CONNECTED" ? ` ${r.connect_error}` : null] },
      { head: "commits", cell: (r) => format.words(r.availability_mode).replace(" commit", "") },
      { head: "failover", cell: (r) => format.words(r.failover_mode) },
      { head: "readers", cell: (r) => ({ ALL: "all", READ_ONLY: "read intent", NO: "none" })[r.readable] ?? format.absent },
      { head: "action", cell: (r) => this.failoverButton(r) },
    ], (r) => r.server);
    this.card.append(make("h3", {}, "Copies of the databases"));
    this.copies = new Table(this.card, "Copies of the databases", [
      { head: "database", cell: (c) => c.database_name },
      { head: "on", cell: (c) => c.server },
      { head: "state", cell: (c) => [mark(c.sync_state), c.is_suspended ? { badge: "suspended", tone: "bad" } : null] },
      { head: "waited for", cell: (c) => (c.is_primary ? "leads" : yes(c.is_waited_for)) },
      { head: "to send", numeric: true, cell: (c) => (c.is_primary ? format.absent : format.kilobytes(c.send_queue_kb)) },
      { head: "to redo", numeric: true, cell: (c) => (c.is_primary ? format.absent : format.kilobytes(c.redo_queue_kb)) },
      { head: "redo rate", numeric: true, cell: (c) => (c.is_primary || c.redo_rate_kb === null ? format.absent : `${format.kilobytes(c.redo_rate_kb)}/s`) },
      { head: "behind", numeric: true, cell: (c) => (c.is_primary ? format.absent : format.seconds(c.lag_s)) },
      { head: "takes over in", numeric: true, cell: (c) => this.estimate(c, (e) => (e.is_automatic ? format.milliseconds(e.rto_ms) : "by hand")) },
      { head: "would lose", numeric: true, cell: (c) => this.estimate(c, (e) => (e.rpo_bytes === 0 ? "nothing" : format.bytes(e.rpo_bytes))) },
      { head: "action", cell: (c) => this.moveButton(c) },
    ], (c) => `${c.database_name}/${c.server}`);
    this.card.append(this.split);
  }

  show(group, state, plots, login) {
    Object.assign(this, { group, login });
    this.estimates = state.estimates.filter((e) => e.group_name === group.name);
    this.mine = state.copies.filter((c) => c.group_name === group.name);
    write(this.title, group.name);
    if (this.health.dataset.shown !== group.health) {
      this.health.dataset.shown = group.health;
      this.health.replaceChildren(badge(format.words(group.health ?? "UNKNOWN"), tone(group.health)));
    }
    const leader = group.leader ? `${group.leader} leads` : "nobody leads";
    const needed = group.required ? `; a commit needs ${group.required} synchronized secondaries` : "";
    const elsewhere = group.role === "PRIMARY" || !group.leader ? "" : `; the dashboard of ${group.leader} shows all copies`;
    write(this.about, `${leader}; cluster type ${group.cluster_type}${needed}${elsewhere}.`);
    this.replicas.show(state.replicas.filter((r) => r.group_name === group.name));
    const trouble = (c) => (c.health === "HEALTHY" ? 0 : 1) + (c.is_suspended ? 1 : 0);
    this.copies.show([...this.mine].sort((a, b) => trouble(b) - trouble(a)), 60);
    this.showSplit(state, plots);
  }

  estimate(copy, say) {
    const found = this.estimates.find((e) => e.database_name === copy.database_name && e.server === copy.server);
    return found ? say(found) : format.absent;
  }

  failoverButton(replica) {
    const copies = this.mine.filter((c) => c.server === replica.server);
    const ready = copies.length > 0 && copies.every((c) => c.sync_state === "SYNCHRONIZED");
    const leads = this.group.leader && same(replica.server, this.group.leader);
    if (leads || !ready || !this.login) return "";
    const [group, from] = [this.group, this.group.leader];
    return { button: "Make primary", label: `Make primary: ${replica.server} of ${group.name}`, press: () => this.actions.failOver(group.name, replica.server, from) };
  }

  moveButton(copy) {
    if (!copy.is_local || !this.login) return "";
    const suspended = Boolean(copy.is_suspended);
    const word = suspended ? "Resume" : "Suspend";
    return { button: word, label: `${word} ${copy.database_name}`, press: () => this.actions.move(copy, suspended) };
  }

  // Where a block's time goes, for each secondary, of the last second with blocks.
  showSplit(state, plots) {
    const servers = state.replicas.filter((r) => r.group_name === this.group.name).map((r) => r.server);
    const parts = ["local flush", "send queue", "network", "remote flush"];
    const rows = servers.map((server) => [server, parts.map((p) => plots.last("split", `${server} ${p}`))])
      .filter(([, values]) => values.every((v) => v !== undefined));
    const key = JSON.stringify(rows);
    if (this.split.dataset.shown === key) return;
    this.split.dataset.shown = key;
    const all = rows.map(([, values]) => values.reduce((a, b) => a + b, 0));
    const widest = Math.max(...all, 1);
    this.split.replaceChildren(...(rows.length ? [make("h3", {}, "Where a block's time goes")] : []), ...rows.map(([server, values], i) => {
      const said = parts.map((part, n) => `${part} ${format.microseconds(values[n])}`);
      const bar = make("div", { class: "bar", role: "img", "aria-label": said.join(", ") });
      values.forEach((value, n) => {
        const piece = make("span", { class: `piece-${n}`, title: said[n] });
        piece.style.width = `${(100 * value) / widest}%`;
        bar.append(piece);
      });
      const legend = make("p", { class: "legend" }, ...said.flatMap((text, n) => [make("span", { class: "one" }, make("span", { class: `key piece-${n}`, "aria-hidden": "true" }), text), " "]));
      return make("div", { class: "split-row" }, make("span", {}, `${server}, ${format.microseconds(all[i])}`), bar, legend);
    }));
  }
}

const STEPS = [
  ["suspected_ms", "loss suspected"], ["polled_ms", "majority agrees"], ["claimed_ms", "role claimed"],
  ["decided_ms", "decided"], ["redone_ms", "log redone"], ["opened_ms", "databases open"], ["first_commit_ms", "first commit"],
];

export class Failovers {
  show(state) {
    byId("failovers-part").hidden = state.failovers.length === 0;
    const list = byId("failovers");
    const key = JSON.stringify(state.failovers);
    if (list.dataset.shown === key) return;
    list.dataset.shown = key;
    list.replaceChildren(...state.failovers.map((f) => this.entry(f)));
  }

  entry(f) {
    const steps = STEPS.map(([column, name]) => [name, f[column]]).filter(([, ms]) => ms !== null);
    const before = f.last_heard_ms_before ?? 0;
    const end = Math.max(...steps.map(([, ms]) => ms), 1);
    const at = (ms) => `${(100 * (ms + before)) / (end + before)}%`;
    const line = make("div", { class: "timeline", "aria-hidden": "true" });
    let last = -before;
    steps.forEach(([name, ms], n) => {
      const piece = make("span", { class: `step series-${n}`, title: `${name}: ${format.milliseconds(ms)}` });
      piece.style.left = at(last);
      piece.style.width = `calc(${at(ms)} - ${at(last)})`;
      line.append(piece);
      last = Math.max(last, ms);
    });
    const list = make("dl", {}, ...(before ? [make("div", {}, make("dt", {}, "last heard"), make("dd", {}, `${format.milliseconds(before)} before`))] : []),
      ...steps.map(([name, ms], n) => make("div", {}, make("dt", {}, make("span", { class: `key series-${n}`, "aria-hidden": "true" }), name), make("dd", {}, format.milliseconds(ms)))));
    const from = f.from_replica ? `${f.from_replica} → ${f.to_replica}` : f.to_replica;
    return make("li", {},
      make("div", { class: "title" }, make("strong", {}, `${f.group_name}: ${from}`), badge(format.words(f.kind), "plain"), make("span", { class: "quiet" }, format.moment(f.began))),
      make("p", {}, format.words(f.cause)), line, list);
  }
}

export class Cluster {
  constructor() {
    this.members = new Table(byId("members"), "Members of the cluster", [
      { head: "member", cell: (m) => (m.is_local ? `${m.member} (here)` : m.member) },
      { head: "kind", cell: (m) => (m.kind === "CLUSTER_NODE" ? "node" : "witness") },
      { head: "state", cell: (m) => (m.is_up ? { badge: "up", tone: "good" } : { badge: "not heard", tone: "bad" }) },
      { head: "vote", cell: (m) => yes(m.has_vote) },
      { head: "round trip", numeric: true, cell: (m) => format.microseconds(m.round_trip_us) },
      { head: "endpoint", kind: "wide", cell: (m) => m.endpoint_url },
    ], (m) => m.member);
    this.listeners = new Table(byId("listeners"), "Listeners", [
      { head: "listener", cell: (l) => l.dns_name },
      { head: "group", cell: (l) => l.group_name },
      { head: "address", cell: (l) => `${l.ip_address}:${l.port}` },
      { head: "state", cell: (l) => [mark(l.state), l.error ? ` ${l.error}` : null] },
      { head: "connections are", cell: (l) => format.words(l.way) },
    ], (l) => `${l.dns_name}/${l.ip_address}/${l.port}`);
  }

  show(state) {
    byId("cluster-part").hidden = state.cluster.length === 0;
    if (state.cluster.length === 0) return;
    const c = state.cluster[0];
    const leader = c.leader ? `; ${c.leader} takes the decisions down` : "";
    write(byId("quorum"), `${c.votes_heard} of ${c.votes} votes are heard, ${c.votes_needed} are needed${leader}.`);
    this.members.show(state.cluster);
    byId("listeners").hidden = state.listeners.length === 0;
    this.listeners.show(state.listeners);
  }
}

export class Server {
  constructor() {
    this.databases = new Table(byId("databases"), "Databases", [
      { head: "database", cell: (d) => d.name },
      { head: "state", cell: (d) => mark(d.state) },
      { head: "in a group", cell: (d) => yes(d.in_group) },
      { head: "data file", numeric: true, cell: (d) => format.kilobytes(d.data_kb) },
      { head: "log in use", numeric: true, cell: (d) => format.kilobytes(d.log_kb) },
      { head: "log waits for", cell: (d) => format.words(d.log_reuse_wait) },
      { head: "recovery", cell: (d) => format.words(d.recovery_model) },
    ], (d) => d.name);
    this.sessions = new Table(byId("sessions"), "Sessions", [
      { head: "session", cell: (s) => String(s.id) },
      { head: "login", cell: (s) => s.login },
      { head: "program", cell: (s) => s.program || format.absent },
      { head: "host", cell: (s) => s.host || format.absent },
      { head: "status", cell: (s) => [format.words(s.status), s.command ? `, ${s.command}` : null] },
      { head: "waits for", cell: (s) => [s.wait_type ?? format.absent, s.blocked_by ? ` (session ${s.blocked_by})` : null] },
      { head: "processor", numeric: true, cell: (s) => format.milliseconds(s.cpu_ms) },
      { head: "pages read", numeric: true, cell: (s) => format.count(s.logical_reads) },
    ], (s) => String(s.id), "Nobody but this dashboard is connected.");
    this.waits = new Table(byId("waits"), "Waits", [
      { head: "wait", cell: (w) => w.wait_type },
      { head: "times", numeric: true, cell: (w) => format.count(w.waits) },
      { head: "together", numeric: true, cell: (w) => format.milliseconds(w.wait_time_ms) },
      { head: "on average", numeric: true, cell: (w) => format.milliseconds(w.wait_time_ms / w.waits) },
      { head: "longest", numeric: true, cell: (w) => (w.max_wait_time_ms ? format.milliseconds(w.max_wait_time_ms) : format.absent) },
    ], (w) => w.wait_type, "Nothing has waited yet.");
    this.events = new Table(byId("events"), "Health log", [
      { head: "time", kind: "once", cell: (e) => format.moment(e.time) },
      { head: "group", cell: (e) => [e.group_name, e.database_name].filter(Boolean).join(", ") || format.absent },
      { head: "message", kind: "wide", cell: (e) => e.message || format.words(e.event) },
    ], (e) => `${e.time}/${e.event}/${e.message}`);
  }

  show(state) {
    this.databases.show(state.databases, 60);
    this.sessions.show(state.sessions, 50);
    this.waits.show(state.waits);
    byId("events-part").hidden = state.events.length === 0;
    this.events.show(state.events);
  }
}
