// Walks every view of a running console in a real browser and reports what is wrong as JSON.
//   node walk.mjs ADDRESS CHROMIUM [FOLDER]     FOLDER: where pictures go, each view at two widths, dark and light
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, executablePath, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDTHS = { wide: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };
const report = { views: [], errors: [], foreign: [], axe: [], overflow: [] };

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb"] });

/** Open a page that notes every error, and every request that leaves the console. */
async function opened(viewport, colorScheme) {
  const context = await browser.newContext({ viewport, colorScheme, bypassCSP: false, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.on("console", (message) => { if (message.type() === "error") report.errors.push(`${page.url()}: ${message.text()}`); });
  page.on("pageerror", (error) => report.errors.push(`${page.url()}: ${error.message}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(address).origin && protocol !== "data:") report.foreign.push(request.url());
  });
  page.on("dialog", (dialog) => { report.errors.push(`${page.url()}: a dialog opened: ${dialog.message()}`); dialog.dismiss(); });
  return page;
}

/** Wait until what a view draws by script is drawn. */
async function settled(page) {
  await page.waitForLoadState("load");
  if (await page.locator("#map").count()) await page.waitForSelector("#map[data-ready]");
  if (await page.locator(".chart").count()) await page.waitForSelector(".chart canvas, .chart .empty");
  await page.waitForTimeout(250);
}

/** The rules of WCAG A and AA; axe runs in a world of its own, so the content policy stays as it is. */
async function examined(page, name) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  await session.send("Runtime.evaluate", { expression: axe, contextId });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }).then((r) => r.violations.map((v) => ({ id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 5).map((n) => n.html.slice(0, 160)) })))`,
    contextId, awaitPromise: true, returnByValue: true,
  });
  for (const found of result.value) report.axe.push({ view: name, ...found });
}

/** Every view there is: the list, each crawl, each view of its first site, one template. */
async function addresses() {
  const page = await opened(WIDTHS.wide, "light");
  await page.goto(address);
  const views = [["crawls", "/"]];
  const crawls = await page.$$eval("[data-row]", (rows) => rows.map((row) => row.getAttribute("href")));
  for (const crawl of crawls) {
    const id = crawl.split("/").at(-1);
    views.push([`${id}-crawl`, crawl]);
    await page.goto(new URL(crawl, address).href);
    if (!(await page.locator("[data-row]").count())) continue; // no page has come in yet
    const site = await page.locator("[data-row]").first().getAttribute("href");
    const home = site.replace(/\/map$/, "");
    for (const view of ["map", "harvest", "teach"]) views.push([`${id}-${view}`, `${home}/${view}`]);
    await page.goto(new URL(site, address).href);
    const template = await page.locator("#templates [data-row]").first().getAttribute("href", { timeout: 1_000 }).catch(() => null);
    if (template) views.push([`${id}-template`, template]);
  }
  await page.context().close();
  return views;
}

const views = await addresses();
for (const [size, viewport] of Object.entries(WIDTHS)) {
  for (const theme of ["light", "dark"]) {
    const page = await opened(viewport, theme);
    for (const [name, path] of views) {
      await page.goto(new URL(path, address).href);
      await settled(page);
      const key = `${name}-${size}-${theme}`;
      report.views.push(key);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wider > 0) report.overflow.push(`${key}: ${wider} px`);
      await examined(page, key);
      if (folder) await page.screenshot({ path: join(folder, `${key}.png`), fullPage: false });
    }
    await page.context().close();
  }
}
await browser.close();
console.log(JSON.stringify(report));
