// Elements. Everything that comes from the server becomes a text node or an attribute, never markup.

import { absent } from "/format.js";

export const byId = (id) => document.getElementById(id);

// Sets text only where it changed: what is selected or read aloud stays undisturbed.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A word with a colour; the word says all, the colour says it again.
export function badge(word, tone) {
  return make("span", { class: `badge ${tone}` }, word);
}

// What a cell shows: text, or { badge, tone }, or { button, press }, or a list of these.
function fill(cell, content) {
  const key = JSON.stringify(content, (name, value) => (typeof value === "function" ? undefined : value));
  if (cell.shown === key) return;
  cell.shown = key;
  cell.classList.toggle("absent", content === absent || content === "");
  cell.replaceChildren(...[content].flat().filter((part) => part !== null).map((part) => {
    if (typeof part === "string") return part;
    if (part.badge !== undefined) return badge(part.badge, part.tone);
    return make("button", { type: "button", class: "small", onclick: part.press, "aria-label": part.label }, part.button);
  }));
}

// A table that keeps its rows: columns are { head, cell(row), numeric, kind }, rows are found again by `key(row)`.
export class Table {
  constructor(parent, caption, columns, key, empty) {
    Object.assign(this, { columns, key, rows: new Map() });
    const heads = columns.map((c) => make("th", { scope: "col", role: "columnheader", class: c.numeric ? "number" : "" }, c.head));
    this.body = make("tbody", { role: "rowgroup" });
    this.table = make("table", { role: "table" },
      make("caption", { class: "hidden" }, caption),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)),
      this.body);
    this.note = make("p", { class: "quiet" }, empty ?? "");
    parent.append(make("div", { class: "scroll" }, this.table), this.note);
  }

  show(rows, most = 100) {
    const left = rows.length - most;
    this.table.hidden = rows.length === 0;
    this.note.hidden = rows.length > 0 && left <= 0;
    if (rows.length === 0) this.empty ??= this.note.textContent;
    write(this.note, left > 0 ? `and ${left} more` : this.empty ?? this.note.textContent);
    const seen = new Set();
    rows.slice(0, most).forEach((row, place) => {
      const key = this.key(row);
      seen.add(key);
      let line = this.rows.get(key);
      if (!line) {
        line = make("tr", { role: "row" }, ...this.columns.map((c, i) => make(i === 0 ? "th" : "td", {
          class: [c.numeric ? "number" : "", c.kind ?? ""].join(" ").trim(), role: i === 0 ? "rowheader" : "cell", scope: i === 0 ? "row" : null, "data-head": c.head,
        })));
        this.rows.set(key, line);
      }
      this.columns.forEach((c, i) => fill(line.cells[i], c.cell(row)));
      if (this.body.rows[place] !== line) this.body.insertBefore(line, this.body.rows[place] ?? null);
    });
    for (const [key, line] of this.rows) {
      if (!seen.has(key)) {
        line.remove();
        this.rows.delete(key);
      }
    }
  }
}
