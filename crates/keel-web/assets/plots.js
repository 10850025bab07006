// The plots: uPlot, fed with the samples the server keeps and those that come while the page is open.

import * as format from "/format.js";
import { make, write } from "/dom.js";

// Ticks of bytes stand at round numbers of bytes, kilobytes and so on.
const POWERS = Array.from({ length: 50 }, (_, n) => 2 ** n);
const PLOTS = [
  { name: "work", title: "Work", unit: format.rate },
  { name: "commit", title: "A commit's time", unit: format.milliseconds },
  { name: "split", title: "A block's way to a secondary", unit: format.microseconds },
  { name: "queues", title: "Queues of the secondaries", unit: format.bytes, steps: POWERS },
  { name: "log", title: "Log", unit: format.byteRate, steps: POWERS },
  { name: "checkpoint", title: "Pages written by checkpoints", unit: format.rate },
];
const HEIGHT = 190;

const clock = (step) => {
  const format = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit", second: step < 60 ? "2-digit" : undefined });
  return (t) => format.format(new Date(t * 1000));
};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

class Plot {
  constructor(parent, { name, title, unit, steps }) {
    Object.assign(this, { name, unit, steps, labels: [] });
    // The same in words, for who cannot see the lines.
    this.now = make("p", { class: "hidden" });
    this.place = make("div", { class: "plot" });
    this.figure = make("figure", { id: `plot-${name}` }, make("figcaption", {}, title), this.place, this.now);
    parent.append(this.figure);
    this.sizes = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.sizes.observe(this.place);
  }

  size() {
    return { width: Math.max(this.place.clientWidth, 200), height: HEIGHT };
  }

  show(times, lines, range) {
    const labels = Object.keys(lines);
    this.figure.hidden = labels.length === 0;
    if (labels.length === 0) return;
    const data = [times, ...labels.map((label) => lines[label])];
    if (!this.plot || labels.join() !== this.labels.join()) this.draw(labels, data);
    this.range = range;
    this.plot.setData(data);
    const last = labels.map((label) => [label, lines[label].findLast((v) => v !== null)]);
    // Once it is drawn: without a pointer the legend shows the newest values.
    requestAnimationFrame(() => {
      const newest = times.findLastIndex((_, i) => labels.some((label) => lines[label]?.[i] !== null));
      if (newest >= 0 && this.plot?.cursor.left < 0) this.plot.setLegend({ idx: newest });
    });
    write(this.now, last.filter(([, v]) => v !== undefined).map(([label, v]) => `${label} ${this.unit(v)}`).join(" · "));
  }

  draw(labels, data) {
    this.plot?.destroy();
    this.labels = labels;
    const [ink, grid] = [colour("--quiet"), colour("--line")];
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "11px system-ui" };
    const unit = this.unit;
    this.plot = new uPlot({
      ...this.size(),
      series: [
        { value: (_, t) => (t === null ? format.absent : new Date(t * 1000).toLocaleTimeString()) },
        ...labels.map((label, i) => ({
          label, stroke: colour(`--series-${i % 8}`), width: 1.5, points: { show: false }, value: (_, v) => unit(v),
          dash: i >= 8 ? [4, 3] : undefined,
        })),
      ],
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(clock(ticks[1] - ticks[0])), space: 80 },
        { ...axis, values: (_, ticks) => ticks.map((v) => unit(v)), size: 80, incrs: this.steps },
      ],
      scales: { x: { range: () => this.range }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      cursor: { y: false, sync: { key: "all" }, drag: { x: false, y: false } },
      legend: { live: true },
    }, data, this.place);
  }

  forget() {
    this.plot?.destroy();
    this.plot = undefined;
  }
}

// All of them, and the samples they share.
export class Plots {
  constructor(parent) {
    this.plots = PLOTS.map((plot) => new Plot(parent, plot));
    this.newest = 0;
    this.times = [];
    this.lines = {};
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.plots.forEach((plot) => plot.forget());
      this.show();
    });
  }

  // Takes what `/api/history` said.
  add({ t, plots, samples_max: most }) {
    if (t.length > 0) {
      const before = this.times.length;
      this.newest = t[t.length - 1];
      this.times.push(...t.map((ms) => ms / 1000));
      for (const plot of this.plots) {
        const mine = (this.lines[plot.name] ??= {});
        const theirs = plots[plot.name] ?? {};
        for (const label of Object.keys(theirs)) mine[label] ??= new Array(before).fill(null);
        for (const [label, line] of Object.entries(mine)) line.push(...(theirs[label] ?? new Array(t.length).fill(null)));
      }
      this.trim(most);
    }
    this.show();
  }

  trim(most) {
    const surplus = this.times.length - most;
    if (surplus <= 0) return;
    this.times.splice(0, surplus);
    for (const lines of Object.values(this.lines)) {
      for (const [label, line] of Object.entries(lines)) {
        line.splice(0, surplus);
        if (line.every((v) => v === null)) delete lines[label];
      }
    }
  }

  // The newest value of a line, of so many samples at most.
  last(plot, label, most = this.times.length) {
    return this.lines[plot]?.[label]?.slice(-most).findLast((v) => v !== null);
  }

  labels(plot) {
    return Object.keys(this.lines[plot] ?? {});
  }

  show() {
    const newest = this.times.at(-1) ?? Date.now() / 1000;
    const oldest = Math.max(this.times[0] ?? newest, newest - 600);
    const range = [Math.min(oldest, newest - 60), newest];
    for (const plot of this.plots) plot.show(this.times, this.lines[plot.name] ?? {}, range);
  }
}
