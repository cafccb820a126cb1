// Day by day, where jobs share nodes: slowdown, and how many began as guests.
import type { Bars } from "./bars";
import { el, folded, onWidth, svg } from "./dom";
import { beginOf, value, type RunModel } from "./model";
import { line } from "./theme";
import { niceStep, short } from "./units";

const DAY_S = 86400;

interface Days {
  run: RunModel;
  first: number; // day
  slowdown: number[]; // mean of jobs that began that day; NaN: none
  guests: number[];
}

function daysOf(run: RunModel, bars: Bars | null): Days {
  const begin = beginOf(run);
  const first = Math.floor(begin / DAY_S);
  const n = Math.max(1, Math.ceil((begin + run.drawn.makespan_s) / DAY_S) - first);
  const sums = new Array<number>(n).fill(0);
  const counts = new Array<number>(n).fill(0);
  const guests = new Array<number>(n).fill(0);
  const day = (t: number) => Math.max(0, Math.min(n - 1, Math.floor(t / DAY_S) - first));
  for (let row = 0; row < run.workload.jobs; row++) {
    const v = value(run, row, "slowdown");
    if (Number.isNaN(v)) continue;
    const d = day(run.start[row]!);
    sums[d]! += v;
    counts[d]! += 1;
  }
  if (bars) {
    const seen = new Set<number>();
    for (let i = 0; i < bars.rows; i++) {
      const row = bars.job[i]!;
      if (!bars.guest[i] || seen.has(row) || bars.from[i] !== run.start[row]) continue;
      seen.add(row);
      guests[day(bars.from[i]!)]! += 1;
    }
  }
  return {
    run,
    first,
    slowdown: sums.map((sum, i) => (counts[i] ? sum / counts[i]! : NaN)),
    guests,
  };
}

function picture(days: Days, kind: "slowdown" | "guests", top: number, count: number): HTMLElement {
  const holder = el("div", { class: "svg-box" });
  const values = days[kind];
  onWidth(holder, (width) => {
    const [left, height, base] = [48, 90, 72];
    const x = (d: number) => left + (d / count) * (width - left - 8);
    const y = (v: number) => base - (v / top) * (base - 6);
    const view = svg("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${kind === "slowdown" ? "Mean bounded slowdown" : "Shared starts"} per day under ${days.run.name}`,
    });
    const step = niceStep(top / 3);
    for (let i = 0; i * step <= top; i++) {
      view.append(
        svg("line", { x1: left, x2: width - 8, y1: y(i * step), y2: y(i * step), class: "grid" }),
        svg(
          "text",
          { x: left - 6, y: y(i * step) + 4, "text-anchor": "end", class: "tick" },
          short(i * step),
        ),
      );
    }
    const wide = niceStep(Math.max(1, count / Math.max(1, (width - left) / 60)));
    for (let d = 0; d < count; d += Math.max(1, Math.round(wide))) {
      view.append(
        svg(
          "text",
          { x: x(d), y: height - 3, "text-anchor": "start", class: "tick" },
          `day ${days.first + d}`,
        ),
      );
    }
    values.forEach((v, d) => {
      if (!(v > 0)) return;
      const w = Math.max(0.8, (x(d + 1) - x(d)) * 0.85);
      view.append(
        svg(
          "rect",
          {
            x: x(d),
            y: y(v),
            width: w,
            height: Math.max(0.5, base - y(v)),
            style: `fill: var(--${line(days.run.index).stroke})`,
          },
          svg("title", {}, `day ${days.first + d}: ${short(v)}`),
        ),
      );
    });
    holder.replaceChildren(view);
  });
  return el(
    "figure",
    { class: "strip" },
    el("figcaption", {}, el("strong", {}, days.run.name)),
    holder,
  );
}

export function perDay(runs: RunModel[], bars: (Bars | null)[]): HTMLElement | null {
  const all = runs.map((run) => daysOf(run, bars[run.index] ?? null));
  if (all.every((days) => days.guests.every((n) => n === 0))) return null;
  const count = Math.max(...all.map((days) => days.slowdown.length));
  const most = (kind: "slowdown" | "guests", list: Days[]) =>
    Math.max(1, ...list.flatMap((days) => days[kind]).filter((v) => v > 0));
  const sharing = all.filter((days) => days.guests.some((n) => n > 0));
  return el(
    "section",
    { id: "days" },
    el("h2", {}, "Day by day"),
    el(
      "div",
      { class: "grid" },
      el(
        "div",
        {},
        el("h3", {}, "Mean bounded slowdown of the jobs that began that day"),
        folded(
          all,
          6,
          (days) => picture(days, "slowdown", most("slowdown", all), count),
          "policies",
        ),
      ),
      el(
        "div",
        {},
        el("h3", {}, "Jobs that began as guests on shared nodes"),
        folded(
          sharing,
          6,
          (days) => picture(days, "guests", most("guests", sharing), count),
          "policies",
        ),
      ),
    ),
  );
}
