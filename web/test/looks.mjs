// How tests look at pages: a browser, what is cut off or lies on something else, and what a screen
// reader stumbles over (axe).
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export function launch(executablePath) {
  return chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** All that axe finds, and what is serious of it in words. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await globalThis.axe.run()).violations);
  const serious = found
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map(
      (v) =>
        `${v.id}: ${v.help}: ${v.nodes
          .slice(0, 4)
          .map((n) => n.target.join(" "))
          .join(" | ")}`,
    );
  return { serious, all: found.map((v) => v.id) };
}

/** What is wider than its box without a way to scroll it, or sticks out of the page. */
export function cutOff() {
  const found = [];
  const name = (e) =>
    `${e.tagName.toLowerCase()}.${e.className?.baseVal ?? e.className} "${(e.textContent ?? "").trim().slice(0, 30)}"`;
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) found.push(`the page is ${page.scrollWidth} wide`);
  for (const e of document.querySelectorAll("#page *")) {
    if (e.closest(".unseen, [hidden], .scroll, .uplot, details:not([open])")) continue;
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    if (box.right > innerWidth + 1 || box.left < -1)
      found.push(`${name(e)} sticks out: ${Math.round(box.left)} to ${Math.round(box.right)}`);
    if (
      e instanceof HTMLElement &&
      e.scrollWidth > e.clientWidth + 1 &&
      e.clientWidth > 0 &&
      !e.matches("select, input, .svg-box")
    ) {
      const style = getComputedStyle(e);
      if (style.display !== "inline")
        found.push(`${name(e)} is cut off: ${e.scrollWidth} in ${e.clientWidth}`);
    }
    if (e instanceof SVGTextElement) {
      const around = e.ownerSVGElement.getBoundingClientRect();
      if (box.left < around.left - 1.5 || box.right > around.right + 1.5)
        found.push(
          `${name(e)} leaves its picture: ${Math.round(box.left - around.left)} to ${Math.round(box.right - around.left)} of ${Math.round(around.width)}`,
        );
    }
  }
  return found;
}

/** Labels in a table's head or in a picture that lie on each other. */
export function overlaps() {
  const found = [];
  const groups = [
    ...[...document.querySelectorAll(".main-table tr")].map((row) => [
      ...row.querySelectorAll("th > button > .title, td"),
    ]),
    ...[...document.querySelectorAll("#page svg")].map((view) => [
      ...view.querySelectorAll("text.tick, text.name"),
    ]),
  ];
  for (const group of groups) {
    const boxes = group.map((e) => [
      e,
      (() => {
        const range = document.createRange();
        range.selectNodeContents(e);
        const unseen = e.querySelector(".unseen");
        if (unseen) range.setEndBefore(unseen);
        return range.getBoundingClientRect();
      })(),
    ]);
    for (let i = 0; i < boxes.length; i++) {
      for (let k = i + 1; k < boxes.length; k++) {
        const [a, b] = [boxes[i][1], boxes[k][1]];
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 3)
          found.push(
            `"${boxes[i][0].textContent.slice(0, 20)}" lies on "${boxes[k][0].textContent.slice(0, 20)}"`,
          );
      }
    }
  }
  return found;
}
