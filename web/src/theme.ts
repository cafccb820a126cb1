// Colours: of Okabe and Ito where they are bright enough on the ground, so that most people who
// cannot tell red from green tell them apart; lines differ by their dashes, too.
import { el } from "./dom";

let probe: HTMLElement | null = null;
const cache = new Map<string, string>();
const listeners: (() => void)[] = [];

/** What a custom property of page.css is at this moment, as a canvas understands it. */
export function colour(name: string): string {
  let value = cache.get(name);
  if (value === undefined) {
    probe ??= document.body.appendChild(el("span", { hidden: true, "aria-hidden": "true" }));
    probe.style.color = `var(--${name})`;
    value = getComputedStyle(probe).color;
    cache.set(name, value);
  }
  return value;
}

export type Rgb = [number, number, number];

export function rgb(text: string): Rgb {
  const parts = text.match(/[\d.]+/g)!.map(Number);
  return [parts[0]!, parts[1]!, parts[2]!];
}

/** Black or white, whichever is read better on this. */
export function inkOn([r, g, b]: Rgb): string {
  const linear = (v: number) => (v / 255 <= 0.04 ? v / 3295 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  return light > 0.179 ? "#000" : "#fff";
}

export const LINES = 8;
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4], [1, 3], [6, 2, 1, 2]];

/** How the i-th policy's curve looks: the ninth has the colour of the first, but other dashes. */
export function line(i: number): { stroke: string; dash: number[] } {
  const round = Math.floor(i / LINES);
  return { stroke: `line${i % LINES}`, dash: DASHES[(i + 3 * round) % DASHES.length]! };
}

export const HUES = 12;

/** Of so many colours one for a number: neighbours differ. */
export function hue(number: number): number {
  return ((Math.imul(number, 2654435761) >>> 0) >>> 8) % HUES;
}

const TYPES = ["rigid", "moldable", "malleable", "evolving", "adaptive"];
export function typeColour(type: string): string {
  const i = TYPES.indexOf(type);
  return `type${i < 0 ? 0 : i}`;
}

const REASONS = [
  "in-order",
  "backfilled",
  "shrunk-for",
  "dependency-expand",
  "hand-out",
  "evolving",
  "corridor",
  "ordered",
  "draining",
  "booked",
  "guest",
];
export function reasonColour(reason: string): string {
  const i = REASONS.indexOf(reason);
  return `reason${i < 0 ? REASONS.length : i}`;
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

function changed(): void {
  cache.clear();
  for (const listener of listeners) listener();
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** A button that turns light into dark and back; the choice is kept where the browser lets us. */
export function themeButton(): HTMLButtonElement {
  const root = document.documentElement;
  try {
    const kept = localStorage.getItem("ductile-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // A page from a file may not be allowed to keep anything.
  }
  const name = () => (isDark() ? "Light colours" : "Dark colours");
  const button = el(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        try {
          localStorage.setItem("ductile-theme", root.dataset.theme);
        } catch {
          // As above.
        }
        changed();
      },
    },
    name(),
  );
  onTheme(() => (button.textContent = name()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  // Paper is white: pictures that are drawn, not styled, have to follow.
  let before: string | undefined;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    changed();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    changed();
  });
  return button;
}
