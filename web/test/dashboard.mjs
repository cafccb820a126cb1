// Looks at the dashboard of a running controller in Chromium. For tests/page/test_dashboard.py:
//
//   node web/test/dashboard.mjs CASE.json
//
// CASE: {"chromium", "screenshots", "address", "token", "writeToken", "malleable": JOB, "sizes": [A, B],
// "waiting": JOB, "http": PID, "server": PID}. Exit code 1 with a line for each thing that is wrong.
import { mkdirSync, readFileSync } from "node:fs";
import { cutOff, launch, overlaps, violations } from "./looks.mjs";

const test = JSON.parse(readFileSync(process.argv[2], "utf8"));
const PATIENCE_MS = 1000 * Number(process.env.DUCTILE_TEST_PATIENCE ?? 120);
mkdirSync(test.screenshots, { recursive: true });
const wrong = [];
const fail = (text) => wrong.push(text);
const browser = await launch(test.chromium);
let mayFail = false; // requests, while that is what is tried

async function newPage(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("console", (message) => {
    const isFailure = message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !(mayFail && isFailure))
      fail(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => fail(`error: ${error.stack}`));
  page.on("dialog", (dialog) => fail(`a dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(test.address)) fail(`asks another host: ${request.url()}`);
  });
  return page;
}

async function enter(page, token) {
  await page.goto(test.address);
  await page.waitForSelector("html[data-ready=token]");
  await page.keyboard.type(token); // the field has the keyboard
  await page.keyboard.press("Enter");
}

const ready = (page) => page.waitForSelector("html[data-ready=yes]");

async function resize(nodes) {
  const order = () =>
    fetch(`${test.address}/api/v1/jobs/${test.malleable}/resize`, {
      method: "POST",
      headers: { Authorization: `Bearer ${test.writeToken}`, "Content-Type": "application/json" },
      body: JSON.stringify({ nodes }),
    });
  // An old connection may have gone with the one that was killed.
  const response = await order().catch((error) => (mayFail ? order() : Promise.reject(error)));
  if (!response.ok) fail(`resize: ${response.status} ${await response.text()}`);
}

async function looks() {
  const page = await newPage({ viewport: { width: 375, height: 900 } });
  await enter(page, test.token);
  await ready(page);
  await page.waitForSelector("#nodes svg rect.bar");
  await page.locator("#nodes summary").click();
  await page.locator(`#queue [data-job="wait-${test.waiting}"]`).click();
  await page.waitForSelector("#job .told");
  await page.waitForSelector("#power path.power-line", { state: "attached" });
  if ((await page.locator("#page img, #page script, #page iframe").count()) > 0)
    fail("text of the data was read as HTML");
  for (const width of [375, 800, 1280, 2560]) {
    for (const colorScheme of ["light", "dark"]) {
      const isUsual = width === 375 || width === 1280;
      if (colorScheme === "dark" && !isUsual) continue;
      const at = `${width} pixels, ${colorScheme}`;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.waitForFunction(() => {
        const box = document.querySelector("#nodes .svg-box");
        return Math.floor(box.clientWidth) === Number(box.firstChild.getAttribute("width"));
      });
      for (const text of (await page.evaluate(cutOff)).slice(0, 12)) fail(`${at}: ${text}`);
      for (const text of (await page.evaluate(overlaps)).slice(0, 12)) fail(`${at}: ${text}`);
      await page.screenshot({
        path: `${test.screenshots}/dashboard-${width}-${colorScheme}.png`,
        fullPage: true,
      });
      if (!isUsual) continue;
      const { serious, all } = await violations(page);
      for (const text of serious) fail(`axe, ${at}: ${text}`);
      console.log(`axe, ${at}: ${all.length} violations of any kind: ${all.join(" ")}`);
    }
  }
  await page.context().close();
}

async function tokens() {
  const page = await newPage({ viewport: { width: 375, height: 700 } });
  mayFail = true;
  await enter(page, "wrong".repeat(8));
  await page.waitForSelector("[role=alert]");
  mayFail = false;
  if ((await page.evaluate(cutOff)).length > 0) fail("the form is cut off");
  for (const text of (await violations(page)).serious) fail(`axe, the form: ${text}`);
  await page.locator("#token").fill(test.token);
  await page.keyboard.press("Enter");
  await ready(page);
  await page.reload(); // it is not typed again
  await ready(page);
  if (await page.evaluate((token) => JSON.stringify(localStorage).includes(token), test.token))
    fail("the token is kept for longer than the page is open");
  await page.getByText("Forget the token").click();
  await page.waitForSelector("html[data-ready=token]");
  await page.reload();
  await page.waitForSelector("html[data-ready=token]");
  await page.context().close();
}

/** What happens is seen without a hand on the page. */
async function live() {
  const page = await newPage({ viewport: { width: 1280, height: 900 } });
  await enter(page, test.token);
  await ready(page);
  await page.waitForSelector(".status:has-text('Live.')");
  for (const nodes of test.sizes) {
    const text = `has ${nodes} node${nodes === 1 ? "" : "s"} now`;
    // In both lists, which learn of it by different ways.
    const lists = ["#resizes", "#events"];
    const count = (list) => page.locator(`${list} td:has-text("${text}")`).count();
    const before = await Promise.all(lists.map(count));
    await resize(nodes);
    for (const [i, list] of lists.entries())
      await page.waitForFunction(
        ([cells, words, had]) =>
          [...document.querySelectorAll(cells)].filter((td) => td.textContent.includes(words))
            .length > had,
        [`${list} td`, text, before[i]],
      );
    await page.waitForFunction(
      ([job, size]) => {
        const row = document.querySelector(`#running [data-job="run-${job}"]`)?.closest("tr");
        return row?.querySelector("[data-name=Nodes]")?.textContent.startsWith(`${size} `);
      },
      [test.malleable, nodes],
    );
  }

  // By the keyboard alone, from the beginning of the page to a job and back.
  await page.evaluate(() => document.activeElement?.blur());
  let isThere = false;
  for (let i = 0; i < 200 && !isThere; i++) {
    await page.keyboard.press("Tab");
    isThere = await page.evaluate(
      (job) => document.activeElement?.dataset.job === `wait-${job}`,
      test.waiting,
    );
  }
  if (!isThere) fail("the keyboard does not come to the job that waits");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#job h3:has-text('Why it waits')");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#job", { state: "hidden" });
  if (
    !(await page.evaluate(
      (job) => document.activeElement?.dataset.job === `wait-${job}`,
      test.waiting,
    ))
  )
    fail("the keyboard is not back at the job");

  // What answers HTTP dies, and another one comes: nothing is to be done.
  mayFail = true;
  process.kill(test.http, "SIGKILL");
  await resize(test.sizes[0]);
  await page.waitForFunction(
    ([job, size]) => {
      const row = document.querySelector(`#running [data-job="run-${job}"]`)?.closest("tr");
      return row?.querySelector("[data-name=Nodes]")?.textContent.startsWith(`${size} `);
    },
    [test.malleable, test.sizes[0]],
  );
  await page.waitForSelector(".status:not(.bad):has-text('Live.')");
  // The controller dies, too: what was seen last stays, and the page says of when it is.
  process.kill(test.server, "SIGKILL");
  await page.waitForSelector(".status.bad:has-text('is of')");
  if ((await page.locator(`#running [data-job="run-${test.malleable}"]`).count()) !== 1)
    fail("what was known is gone");
  mayFail = false;
  await page.context().close();
}

try {
  await looks();
  await tokens();
  await live();
} catch (error) {
  fail(error.stack);
  for (const page of browser.contexts().flatMap((context) => context.pages()))
    fail(`the page says: ${await page.locator("#page").innerText({ timeout: 5000 })}`);
}
await browser.close();
for (const text of wrong) console.log(`WRONG: ${text}`);
process.exit(wrong.length > 0 ? 1 : 0);
