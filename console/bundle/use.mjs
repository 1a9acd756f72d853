// Uses a console that may write as a person would, by mouse and keys, and reports what it then says as JSON.
//   node use.mjs ADDRESS CHROMIUM [FOLDER]     FOLDER: where pictures go
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, executablePath, folder] = process.argv.slice(2);
const report = { errors: [] };
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
page.setDefaultTimeout(20_000);
page.on("console", (message) => { if (message.type() === "error") report.errors.push(`${page.url()}: ${message.text()}`); });
page.on("pageerror", (error) => report.errors.push(`${page.url()}: ${error.message}`));

const said = async (selector) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ");
const shot = (name) => folder && page.screenshot({ path: join(folder, `use-${name}.png`) });

await page.goto(address);
const crawl = new URL(await page.locator("[data-row]").first().getAttribute("href"), address).href;
await page.goto(crawl);
const site = new URL(await page.locator("[data-row]").first().getAttribute("href"), address).href;
await page.goto(site);
await page.waitForSelector("#map[data-ready]");
await page.waitForTimeout(500);
// The graph is a canvas: points of a grid are tried until one is a template.
const { x, y, width, height } = await page.locator("#map").boundingBox();
for (let at = 0; at < 600 && !(await page.locator("#detail:visible").count()); at += 1) {
  await page.mouse.click(x + 60 + ((at % 30) * (width - 90)) / 30, y + 60 + (Math.floor(at / 30) * (height - 90)) / 20);
}
await page.waitForSelector("#detail article");
report.clicked = await said("#detail");
await shot("map");

await page.keyboard.press("Escape");
await page.keyboard.press("t");
await page.waitForURL("**/teach");
for (const key of ["y", "n"]) {
  const url = await page.locator(".ask input[name=url]").first().getAttribute("value");
  const sent = page.waitForNavigation();
  await page.keyboard.press(key);
  await sent;
  report[key] = url;
}
report.asked = await page.locator(".ask input[name=url]").evaluateAll((all) => all.map((one) => one.value));
await shot("taught");
await page.click("text=Name an example");
await page.fill("form.form input[name=url]", `http://${decodeURIComponent(new URL(page.url()).pathname.split("/")[4])}/named`);
const sent = page.waitForNavigation();
await page.click("text=Add the example");
await sent;
report.examples = await page.locator("main > ul.hops > li").allInnerTexts();
await browser.close();
console.log(JSON.stringify(report));
