// Opens report pages in Chromium and looks at them as people do: with the eyes (nothing is cut off),
// the keyboard, the mouse, a stopwatch, and as a screen reader (axe). For tests/page/test_page.py:
//
//   node web/test/browser.mjs CASES.json
//
// CASES: {"chromium": PATH, "screenshots": FOLDER, "pages": [{"name", "file", "job"?, "expect"?,
// "isLarge"?}]}. `expect`: for each policy of a job texts that its story has to have. Prints a line
// for each measurement; exit code 1 with a line for each thing that is wrong.
import { readFileSync, mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { cutOff, launch, overlaps, violations } from "./looks.mjs";

const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const WIDTHS = [800, 1280, 2560];
const FIRST_PAINT_MS = 2000;
const STEP_MS = 100;
const patience = Number(process.env.DUCTILE_PAGE_PATIENCE ?? 1);

mkdirSync(cases.screenshots, { recursive: true });
const wrong = [];
const say = (text) => console.log(text);

const browser = await launch(cases.chromium);

async function open(test, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const fail = (text) => wrong.push(`${test.name}: ${text}`);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      fail(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => fail(`error: ${error.stack}`));
  page.on("dialog", (dialog) => fail(`a dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) fail(`asks the network: ${request.url()}`);
  });
  await page.goto(pathToFileURL(test.file).href);
  await page.waitForSelector("html[data-ready]", { timeout: 120000 });
  return { page, context, fail };
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

async function look(test) {
  for (const width of WIDTHS) {
    for (const colorScheme of width === 1280 ? ["light", "dark"] : ["light"]) {
      const { page, context, fail } = await open(test, {
        viewport: { width, height: 900 },
        colorScheme,
      });
      for (const text of (await page.evaluate(cutOff)).slice(0, 12))
        fail(`${width} pixels: ${text}`);
      const foreign = await page.evaluate(
        () => document.querySelectorAll("#page img, #page script, #page iframe").length,
      );
      if (foreign > 0) fail("text of the data was read as HTML");
      for (const text of (await page.evaluate(overlaps)).slice(0, 12))
        fail(`${width} pixels: ${text}`);
      await page.screenshot({
        path: `${cases.screenshots}/${test.name}-${width}-${colorScheme}.png`,
        fullPage: true,
      });
      if (width === 1280) {
        const { serious, all } = await violations(page);
        for (const text of serious) fail(`axe, ${colorScheme}: ${text}`);
        say(
          `${test.name}: axe, ${colorScheme}: ${all.length} violations of any kind: ${all.join(" ")}`,
        );
      }
      await context.close();
    }
  }
}

/** Times of zooming and moving, whole frames: from the key to what is on the screen after it. */
async function step(page, key) {
  await page.keyboard.press(key);
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            const entries = performance.getEntriesByName("ductile:step");
            resolve(entries[entries.length - 1]?.duration ?? NaN);
          }),
        );
      }),
  );
}

async function measure(test) {
  const { page, context, fail } = await open(test, { viewport: { width: 1280, height: 900 } });
  const times = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
    marks: Object.fromEntries(
      performance
        .getEntriesByType("mark")
        .map((m) => [m.name.replace("ductile:", ""), Math.round(m.startTime)]),
    ),
  }));
  // The plain page is painted before any of ours runs: ours counts.
  const first = times.marks["first-paint"];
  say(
    `${test.name}: first contentful paint ${Math.round(times.paint)} ms, of the answer ${first} ms, all there ${times.marks.ready} ms; marks ${JSON.stringify(times.marks)}`,
  );
  if (!(first < FIRST_PAINT_MS * patience)) fail(`first paint after ${first} ms`);
  const chart = page.locator("#gantt canvas[data-policy]").first();
  if ((await chart.count()) > 0) {
    await chart.scrollIntoViewIfNeeded();
    await chart.focus();
    // On a machine that does other things, too, the best of three rounds says what the page needs.
    const best = {};
    for (let round = 0; round < 3; round++) {
      const steps = { zoom: [], pan: [], out: [] };
      for (let i = 0; i < 12; i++) steps.zoom.push(await step(page, "+"));
      for (let i = 0; i < 6; i++)
        steps.pan.push(await step(page, i % 2 ? "ArrowLeft" : "ArrowRight"));
      for (let i = 0; i < 12; i++) steps.out.push(await step(page, "-"));
      await page.keyboard.press("0");
      for (const [what, list] of Object.entries(steps)) {
        const its = { median: median(list), longest: Math.max(...list) };
        if (!(best[what]?.median < its.median)) best[what] = its;
      }
    }
    for (const [what, its] of Object.entries(best)) {
      say(
        `${test.name}: ${what} step: median ${its.median.toFixed(1)} ms, longest ${its.longest.toFixed(1)} ms`,
      );
      if (!(its.median < STEP_MS * patience))
        fail(`a ${what} step takes ${its.median.toFixed(0)} ms`);
    }
    const sharp = await page.evaluate(() =>
      performance.getEntriesByName("ductile:sharp").map((entry) => entry.duration),
    );
    if (sharp.length > 0)
      say(
        `${test.name}: ${sharp.length} steps were finished later, after ${median(sharp).toFixed(0)} ms (median)`,
      );
    // A frame with the painting of the browser itself.
    const frames = [];
    for (let round = 0; round < 3; round++)
      frames.push(
        await page.evaluate(
          () =>
            new Promise((resolve) => {
              const canvas = document.querySelector("#gantt canvas[data-policy]");
              const list = [];
              let last = performance.now();
              const next = (n) => {
                if (n === 0)
                  return resolve(list.sort((a, b) => a - b)[Math.floor(list.length / 2)]);
                canvas.dispatchEvent(new KeyboardEvent("keydown", { key: n % 2 ? "+" : "-" }));
                return requestAnimationFrame(() =>
                  setTimeout(() => {
                    const now = performance.now();
                    list.push(now - last);
                    last = now;
                    next(n - 1);
                  }),
                );
              };
              next(20);
            }),
        ),
      );
    const frame = Math.min(...frames);
    say(`${test.name}: a frame while zooming takes ${frame.toFixed(1)} ms (median)`);
    if (!(frame < STEP_MS * patience)) fail(`a frame while zooming takes ${frame.toFixed(0)} ms`);
  }
  await context.close();
}

async function use(test) {
  const { page, context, fail } = await open(test, { viewport: { width: 1280, height: 900 } });
  // Everything that can be used can be reached, and one sees where one is.
  const reached = new Set();
  for (let i = 0; i < 400; i++) {
    await page.keyboard.press("Tab");
    const seen = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      const style = getComputedStyle(e);
      e.dataset.reached ??= String(Math.random());
      return {
        id: e.dataset.reached,
        what: e.outerHTML.slice(0, 80),
        outline: style.outlineStyle !== "none" || style.boxShadow !== "none",
      };
    });
    if (!seen || reached.has(seen.id)) break;
    reached.add(seen.id);
    if (!seen.outline) fail(`no focus to be seen on ${seen.what}`);
  }
  say(`${test.name}: ${reached.size} places reached with the tabulator`);
  // Sorted with the keyboard, both ways.
  const key = await page.evaluate(
    () => document.querySelectorAll(".main-table thead button")[1]?.dataset.key,
  );
  const policies = () =>
    page.evaluate(() =>
      [...document.querySelector(".main-table table").querySelectorAll("tbody th")].map(
        (th) => th.firstChild.textContent,
      ),
    );
  const values = () =>
    page.evaluate(() =>
      [...document.querySelector(".main-table table").querySelectorAll("tbody tr")]
        .map((tr) => tr.querySelector("td").firstChild.textContent.replace(/\s/g, ""))
        .map(Number),
    );
  if (key !== undefined && (await policies()).length > 1) {
    const before = await policies();
    const button = page.locator(`.main-table [data-key="${key}"]`).first();
    await button.focus();
    const sorts = [];
    for (let i = 0; i < 2; i++) {
      await page.keyboard.press("Enter");
      const list = await values();
      const way = await page.evaluate(
        (k) => document.querySelector(`.main-table [data-key="${k}"]`).parentElement.ariaSort,
        key,
      );
      sorts.push(way);
      const sorted = [...list].sort((a, b) => (way === "ascending" ? a - b : b - a));
      if (JSON.stringify(list) !== JSON.stringify(sorted)) fail(`sorted ${way}: ${list}`);
      const isFocused = await page.evaluate((k) => document.activeElement?.dataset?.key === k, key);
      if (!isFocused) fail("the focus is lost by sorting");
    }
    if (!(sorts.includes("ascending") && sorts.includes("descending"))) fail(`sorts only ${sorts}`);
    if ((await policies()).sort().join() !== before.sort().join())
      fail("policies are lost by sorting");
  }
  // Effects by class are those of the comparison, and those whose interval excludes 0 are marked.
  const effects = await page.evaluate(() => {
    const { comparison } = JSON.parse(document.getElementById("data").textContent);
    const sure = (its) => its.wait[3] !== null && its.wait[3] * its.wait[4] > 0;
    const cells = [...document.querySelectorAll("#classes .heat td:not(.none)")];
    return {
      all: comparison?.classes.length ?? 0,
      clear: comparison?.classes.filter(sure).length ?? 0,
      cells: cells.length,
      marked: cells.filter((td) => td.classList.contains("clear")).length,
      isFolded: document.querySelector("#classes .more") !== null,
    };
  });
  if (effects.all > 0 && !effects.isFolded) {
    if (effects.cells !== effects.all || effects.marked !== effects.clear)
      fail(`effects by class: ${JSON.stringify(effects)}`);
  }
  // A job by its number: its story, with the times of jobs.csv.
  if (test.job !== undefined) {
    await page.locator("#gantt .search input").fill(String(test.job));
    await page.keyboard.press("Enter");
    await page.waitForSelector("#story:not([hidden])");
    for (const [policy, texts] of Object.entries(test.expect ?? {})) {
      const story = await page.evaluate(
        (name) =>
          [...document.querySelectorAll("#story article")].find((a) => a.dataset.policy === name)
            ?.textContent ?? "",
        policy,
      );
      for (const text of texts)
        if (!story.includes(text))
          fail(`the story of job ${test.job} under ${policy} lacks "${text}": ${story}`);
    }
    if (!(await page.evaluate(() => document.activeElement?.id === "story")))
      fail("the story has not the focus");
    await page
      .locator("#gantt")
      .screenshot({ path: `${cases.screenshots}/${test.name}-story.png` });
    // A click on a bar: somewhere in each chart there is one.
    await page.locator("#gantt").getByRole("button", { name: "All: show the whole run" }).click();
    const charts = page.locator("#gantt canvas[data-policy]");
    for (let i = 0; i < (await charts.count()); i++) {
      await page.evaluate(() => (document.querySelector("#story").hidden = true));
      const box = await charts.nth(i).boundingBox();
      if (!box) continue;
      for (let k = 0; k < 60; k++) {
        await charts.nth(i).scrollIntoViewIfNeeded();
        const x = 70 + ((k * 131) % Math.floor(box.width - 100));
        const y = 6 + ((k * 37) % Math.floor(box.height - 12));
        await charts.nth(i).click({ position: { x, y } });
        if (await page.evaluate(() => !document.querySelector("#story").hidden)) break;
      }
      if (await page.evaluate(() => document.querySelector("#story").hidden))
        fail("no click in the chart opens a story");
    }
    // The wheel zooms with Ctrl, dragging moves.
    const span = () => page.locator("#gantt .buttons output").textContent();
    const place = await charts.first().boundingBox();
    await charts.first().scrollIntoViewIfNeeded();
    await page.mouse.move(place.x + place.width / 2, (await charts.first().boundingBox()).y + 30);
    const spans = [await span()];
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -400);
    await page.keyboard.up("Control");
    await page.waitForTimeout(150);
    spans.push(await span());
    await page.mouse.down();
    await page.mouse.move(
      place.x + place.width / 2 - 150,
      (await charts.first().boundingBox()).y + 30,
      { steps: 4 },
    );
    await page.mouse.up();
    await page.waitForTimeout(150);
    spans.push(await span());
    // With Shift it chooses what is zoomed to.
    await page.keyboard.down("Shift");
    const top = (await charts.first().boundingBox()).y;
    await page.mouse.move(place.x + place.width / 2, top + 10);
    await page.mouse.down();
    await page.mouse.move(place.x + place.width / 2 + 80, top + 50, { steps: 3 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.waitForTimeout(150);
    spans.push(await span());
    if (new Set(spans).size !== 4) fail(`the wheel or dragging does nothing: ${spans.join("; ")}`);
    await page.locator("#gantt .search input").fill("987654321");
    await page.keyboard.press("Enter");
    if (!(await page.locator("#story").textContent()).includes("no job"))
      fail("a job that is not there has a story");
  }
  // The other colours.
  await page.locator(".head button").click();
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  if (theme !== "dark") fail(`the button for dark colours gives ${theme}`);
  await context.close();
}

for (const test of cases.pages) {
  await measure(test);
  if (!test.isLarge || process.env.DUCTILE_PAGE_ALL) await look(test);
  else {
    const { page, context } = await open(test, { viewport: { width: 1280, height: 900 } });
    await page.screenshot({
      path: `${cases.screenshots}/${test.name}-1280-light.png`,
      fullPage: true,
    });
    await context.close();
  }
  await use(test);
}
await browser.close();
for (const text of wrong) console.log(`WRONG ${text}`);
process.exit(wrong.length > 0 ? 1 : 0);
