// What a person does with the dashboard, done by a browser. Run by run.sh.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";
import { Group, HOSTILE, PASSWORD } from "./group.mjs";

const TIMEOUT_MS = 30000;
const axe = await readFile("node_modules/axe-core/axe.min.js", "utf8");
const group = await Group.start();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
let passed = 0;

// A page that fails the test when anything complains.
async function open(node, options) {
  const context = await browser.newContext({ locale: "en-US", timezoneId: "UTC", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  page.complaints = [];
  page.on("pageerror", (e) => page.complaints.push(String(e)));
  page.on("console", (m) => m.type() === "error" && !/status of 40[19]/.test(m.text()) && page.complaints.push(m.text()));
  page.on("request", (r) => new URL(r.url()).origin === new URL(node.url).origin || page.complaints.push(`asks ${r.url()}`));
  await page.goto(node.url);
  return page;
}

async function logIn(page, password = PASSWORD) {
  await page.getByRole("button", { name: "Log in" }).first().click();
  await page.getByLabel("Login").fill("sa");
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

async function check(name, test) {
  await test();
  passed += 1;
  console.log(`ok ${name}`);
}

// Canvases on which a line was drawn: pixels with a colour, not only grey axes.
const drawn = (page) => page.evaluate(() => [...document.querySelectorAll("#plots figure:not([hidden]) canvas")].map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let coloured = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 128 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) coloured += 1;
  }
  return coloured > 20;
}).filter(Boolean).length);

async function untilDrawn(page, count) {
  const end = Date.now() + TIMEOUT_MS;
  while ((await drawn(page)) < count) {
    assert.ok(Date.now() < end, "the plots stay empty");
    await page.waitForTimeout(200);
  }
}

async function fits(page) {
  const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= seen, `the page is ${wide} wide, the screen ${seen}`);
}

async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`), []);
}

async function quiet(page) {
  assert.deepEqual(page.complaints, []);
  assert.equal(await page.evaluate(() => window.hit), undefined);
}

const shot = (page, name) => page.screenshot({ path: `${name}.png`, fullPage: true });
const confirm = (page, name) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

try {
  const [first, second] = group.nodes;
  const alone = await open(first);
  await check("a wrong password is refused in words, by keyboard", async () => {
    await alone.getByText("Looking takes a SQL login").waitFor();
    await logIn(alone, "wrong");
    await alone.getByText("Login failed for user 'sa'. (18456)").waitFor();
    await alone.keyboard.press("Escape");
    await accessible(alone);
  });
  await check("an instance that stands alone is shown", async () => {
    await logIn(alone);
    await alone.getByText("standalone").waitFor();
    await alone.getByRole("rowheader", { name: "master", exact: true }).waitFor();
    await quiet(alone);
    await shot(alone, "standalone");
    await alone.context().close();
  });

  await group.join();
  group.work(first);
  const desktop = await open(first, { viewport: { width: 1280, height: 900 } });
  await check("a group is shown with replicas, copies and votes", async () => {
    await logIn(desktop);
    const card = desktop.locator(".group");
    await card.getByText("NODE1 leads").waitFor();
    assert.deepEqual(await card.locator("table").first().locator("tbody th").allTextContents(), ["NODE1", "NODE2", "NODE3"]);
    await desktop.getByText("3 of 3 votes are heard, 2 are needed").waitFor();
    await card.getByText("Where a block's time goes").waitFor();
  });
  await check("names are text, whatever they are", async () => {
    await desktop.getByRole("rowheader", { name: HOSTILE, exact: true }).waitFor();
    await quiet(desktop);
  });
  await check("plots draw", () => untilDrawn(desktop, 5));
  await check("light, 1280 wide, accessible", async () => {
    await fits(desktop);
    await accessible(desktop);
    await shot(desktop, "desktop");
  });
  await check("dark, 360 wide, accessible", async () => {
    const phone = await open(first, { viewport: { width: 360, height: 740 }, colorScheme: "dark", deviceScaleFactor: 2 });
    await logIn(phone);
    await phone.locator(".group").waitFor();
    await untilDrawn(phone, 4);
    await fits(phone);
    await accessible(phone);
    assert.ok(await phone.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((c) => Number(c) < 60)));
    await shot(phone, "phone-dark");
    await quiet(phone);
    await phone.context().close();
  });
  await check("dark, 1280 wide, accessible", async () => {
    await desktop.emulateMedia({ colorScheme: "dark" });
    await untilDrawn(desktop, 5);
    await accessible(desktop);
    await shot(desktop, "desktop-dark");
    await desktop.emulateMedia({ colorScheme: "light" });
  });

  await check("a button fails the group over", async () => {
    await desktop.getByRole("button", { name: "Make primary: NODE2 of ag1" }).click();
    await desktop.getByRole("dialog").getByText("EXEC sys.sp_keel_failover @group = N'ag1', @to = N'NODE2'").waitFor();
    await shot(desktop, "confirm");
    await confirm(desktop, "Make primary");
    await desktop.getByText("NODE2 is the primary of ag1.").waitFor();
    await desktop.locator("header").getByText("secondary").waitFor();
    assert.equal((await fetch(`${second.url}primary/ag1`)).status, 200);
    assert.equal((await fetch(`${first.url}primary/ag1`)).status, 503);
    await quiet(desktop);
  });
  await check("the new primary tells how it went", async () => {
    const page = await open(second, { viewport: { width: 1280, height: 900 } });
    await logIn(page);
    const record = page.locator("#failovers li").first();
    await record.getByText("ag1: NODE1 → NODE2").waitFor();
    await record.getByText("databases open").waitFor();
    // What the others have already does not count as to be sent.
    await page.locator('.group tr:has-text("NODE3") td[data-head="to send"]:text-is("0 byte")').waitFor();
    await accessible(page);
    await shot(page, "failover");
    await quiet(page);
    await page.context().close();
  });
  await check("buttons suspend and resume a copy", async () => {
    await desktop.getByRole("button", { name: "Suspend shop" }).click();
    await confirm(desktop, "Suspend");
    await desktop.locator("#alarm").getByText("shop is suspended here").waitFor();
    await desktop.getByRole("button", { name: "Resume shop" }).click();
    await confirm(desktop, "Resume");
    await desktop.locator("#alarm").getByText("shop is suspended here").waitFor({ state: "detached" });
  });
  await check("after logging out nothing is shown", async () => {
    await desktop.getByRole("button", { name: "Log out" }).click();
    await desktop.getByText("Looking takes a SQL login").waitFor();
    assert.equal(await desktop.locator("#shown").isVisible(), false);
  });
  await check("an instance that is gone is said to be gone", async () => {
    const page = await open(second, {});
    await logIn(page);
    await page.locator(".group").waitFor();
    page.removeAllListeners("console");
    second.child.kill("SIGKILL");
    await page.getByText("No answer from this instance.").waitFor();
  });
  console.log(`${passed} passed`);
} finally {
  await browser.close();
  await group.stop();
}
