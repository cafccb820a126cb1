// Which jobs gain and which lose: ratios to the baseline by size and run time, as tables whose
// cells are coloured.
import { append, el, folded, select, type Child } from "./dom";
import {
  classRuntimes,
  MEASURES,
  runtimeClasses,
  sizeClasses,
  value,
  type Measure,
  type RunModel,
} from "./model";
import { duration, fixed, short } from "./units";

const MANY = 6;
const LEAST_JOBS = 5; // of fewer the mean says little

interface Means {
  n: number[][];
  mean: number[][];
}

function means(run: RunModel, baseline: RunModel, measure: Measure) {
  const sizes = sizeClasses(baseline.drawn.nodes);
  const times = runtimeClasses(classRuntimes(baseline, baseline));
  const runtimes = classRuntimes(run, baseline);
  const n = times.names.map(() => sizes.names.map(() => 0));
  const mean = times.names.map(() => sizes.names.map(() => 0));
  for (let row = 0; row < run.workload.jobs; row++) {
    const v = value(run, row, measure);
    if (Number.isNaN(v) || runtimes[row]! < 0) continue;
    const t = times.of(runtimes[row]!);
    const s = sizes.of(run.workload.size[row]!);
    n[t]![s]! += 1;
    mean[t]![s]! += v;
  }
  mean.forEach((line, t) => line.forEach((sum, s) => (line[s] = n[t]![s] ? sum / n[t]![s]! : NaN)));
  return { sizes, times, result: { n, mean } as Means };
}

/** Coloured fully from that ratio on, and from its inverse: the least that holds most cells. */
const LIMITS = [4, 16, 256];

function limitFor(ratios: number[]): number {
  const sizes = ratios
    .filter((r) => r > 0 && Number.isFinite(r))
    .map((r) => Math.max(r, 1 / r))
    .sort((a, b) => a - b);
  const most = sizes[Math.floor(sizes.length * 0.7)] ?? 1;
  return LIMITS.find((limit) => most <= limit) ?? LIMITS[LIMITS.length - 1]!;
}

function shadeStyle(ratio: number, limit: number): string {
  const s = Math.max(-1, Math.min(1, Math.log(ratio) / Math.log(limit)));
  const end = s < 0 ? "less" : "more";
  return `background: color-mix(in srgb, var(--${end}) ${Math.round(Math.abs(s) * 85)}%, var(--even))`;
}

/** Two digits that count, but no more than three after the point. */
function ratioText(ratio: number): string {
  if (ratio >= 9.95) return fixed(ratio, 0);
  if (ratio >= 0.0995 || ratio === 0) return ratio.toFixed(2);
  return ratio < 0.0005 ? "< 0.001" : ratio.toFixed(3);
}

interface Cells {
  run: RunModel;
  sizes: string[];
  times: string[];
  n: number[][];
  ratio: number[][];
  title: string[][];
}

function cellsOf(run: RunModel, baseline: RunModel, measure: Measure): Cells {
  const { sizes, times, result } = means(run, baseline, measure);
  const base = means(baseline, baseline, measure).result;
  const used = sizes.names.map((_, s) => s).filter((s) => result.n.some((line) => line[s]! > 0));
  const text = (v: number) => (MEASURES[measure].unit === "s" ? duration(v) : short(v));
  const pick = <T>(of: (t: number, s: number) => T) =>
    times.names.map((_, t) => used.map((s) => of(t, s)));
  return {
    run,
    sizes: used.map((s) => sizes.names[s]!),
    times: times.names,
    n: pick((t, s) => result.n[t]![s]!),
    ratio: pick((t, s) =>
      base.mean[t]![s] === result.mean[t]![s] ? 1 : result.mean[t]![s]! / base.mean[t]![s]!,
    ),
    title: pick(
      (t, s) =>
        `${result.n[t]![s]} jobs: mean ${MEASURES[measure].title} ${text(result.mean[t]![s]!)}, under ${baseline.name} ${text(base.mean[t]![s]!)}`,
    ),
  };
}

function map(cells: Cells, limit: number): HTMLElement {
  const table = el(
    "table",
    { class: "heat", style: `--columns: ${cells.sizes.length}` },
    el("caption", {}, el("strong", {}, cells.run.name)),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "run time \\ nodes"),
        cells.sizes.map((name) => el("th", { scope: "col" }, name)),
      ),
    ),
    el(
      "tbody",
      {},
      cells.times.map((name, t) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          cells.n[t]!.map((n, s) => {
            if (n === 0) return el("td", { class: "none" }, "");
            const ratio = cells.ratio[t]![s]!;
            const known = Number.isFinite(ratio);
            return el(
              "td",
              {
                class: n < LEAST_JOBS ? "few" : "",
                style: known ? shadeStyle(ratio, limit) : undefined,
                title: cells.title[t]![s],
              },
              el("b", {}, known ? ratioText(ratio) : "–"),
              el("small", {}, fixed(n, 0), el("span", { class: "unseen" }, " jobs")),
            );
          }),
        ),
      ),
    ),
  );
  return el("div", { class: "multiple" }, table);
}

function scale(limit: number): Child[] {
  const steps = [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1];
  const text = (step: number) =>
    step % 0.5 !== 0 ? "" : step < 0 ? `1/${limit ** -step}` : String(limit ** step);
  return [
    "less ",
    ...steps.map((step) => el("span", { style: shadeStyle(limit ** step, limit) }, text(step))),
    " more",
  ];
}

export function heatmaps(runs: RunModel[], first: number): HTMLElement {
  let baseline = first;
  let measure: Measure = "wait";
  const box = el("div", {});
  const key = el("div", { class: "heat-scale", "aria-hidden": "true" });
  const draw = () => {
    const others = runs.filter((run) => run.index !== baseline);
    const all = others.map((run) => cellsOf(run, runs[baseline]!, measure));
    const limit = limitFor(all.flatMap((cells) => cells.ratio.flat()));
    key.replaceChildren();
    append(key, scale(limit));
    box.replaceChildren(folded(all, MANY, (cells) => map(cells, limit), "policies"));
    box.firstElementChild!.classList.add("grid");
  };
  draw();
  const choices: Child[] = [
    select(
      "Mean",
      (Object.keys(MEASURES) as Measure[]).map((m) => [m, MEASURES[m].title]),
      measure,
      (v) => {
        measure = v as Measure;
        draw();
      },
    ),
    select(
      "over that under",
      runs.map((run, i) => [String(i), run.name]),
      String(baseline),
      (v) => {
        baseline = Number(v);
        draw();
      },
    ),
  ];
  return el(
    "section",
    { id: "classes" },
    el("h2", {}, "Which jobs gain, which lose"),
    el(
      "p",
      { class: "soft" },
      "Each number is a mean over the jobs of a class, divided by that of the baseline: 0.50 is half as much. " +
        "Below it the number of jobs; those in italics are means of few." +
        (runs[first]!.workload.runtime ? "" : " Classes of run time are those under the baseline."),
    ),
    el("div", { class: "toolbar" }, choices, key),
    box,
  );
}
