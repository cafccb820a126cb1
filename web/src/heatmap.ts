// Which jobs gain and which lose: ratios to the baseline by size and run time, as tables whose
// cells are coloured.
import type { Comparison, Paired } from "./data";
import { append, details, el, folded, scroller, select, valueTable, type Child } from "./dom";
import {
  classRuntimes,
  MEASURES,
  value,
  type JobClasses,
  type Measure,
  type RunModel,
} from "./model";
import { duration, fixed, short, signed } from "./units";

const MANY = 6;
const LEAST_JOBS = 5; // of fewer the mean says little

/** What a cell says of the jobs of a class, under the baseline and else. */
interface Cell {
  jobs: number;
  before: number;
  after: number;
  ratio: number;
  /** With their intervals, where the comparison has them. */
  pairs: Paired | null;
}

interface Means {
  n: number[][];
  mean: number[][];
}

function means(
  run: RunModel,
  baseline: RunModel,
  { sizes, runtimes: times }: JobClasses,
  measure: Measure,
): Means {
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
  return { n, mean };
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
  return `background-color: color-mix(in srgb, var(--${end}) ${Math.round(Math.abs(s) * 85)}%, var(--even))`;
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
  cells: (Cell | null)[][]; // by run time, then by size
}

/** How sure an effect is: of none that is not known. */
function isClear(pairs: Paired | null): boolean {
  return pairs !== null && pairs[3] !== null && pairs[4] !== null && pairs[3] * pairs[4] > 0;
}

/** Of one seed; where there is a comparison with this baseline in this measure, that of all seeds. */
function cellsOf(
  run: RunModel,
  baseline: RunModel,
  classes: JobClasses,
  measure: Measure,
  comparison: Comparison | null,
): Cells {
  const effects =
    comparison?.baseline === baseline.drawn.group &&
    (measure === "wait" || measure === "turnaround")
      ? comparison.classes.filter((effect) => effect.group === run.drawn.group)
      : [];
  let at: (t: number, s: number) => Cell | null;
  if (effects.length > 0) {
    at = (t, s) => {
      const effect = effects.find((its) => its.runtime === t && its.size === s);
      if (!effect) return null;
      const pairs = effect[measure as "wait" | "turnaround"];
      const [before, after, , , , ratio] = pairs;
      return {
        jobs: effect.jobs,
        before: before ?? NaN,
        after: after ?? NaN,
        ratio: before === after ? 1 : (ratio ?? NaN),
        pairs,
      };
    };
  } else {
    const its = means(run, baseline, classes, measure);
    const base = means(baseline, baseline, classes, measure);
    at = (t, s) => {
      const [before, after] = [base.mean[t]![s]!, its.mean[t]![s]!];
      if (its.n[t]![s] === 0) return null;
      const ratio = before === after ? 1 : after / before;
      return { jobs: its.n[t]![s]!, before, after, ratio, pairs: null };
    };
  }
  const all = classes.runtimes.names.map((_, t) => classes.sizes.names.map((_, s) => at(t, s)));
  const used = classes.sizes.names.map((_, s) => s).filter((s) => all.some((line) => line[s]));
  return {
    run,
    sizes: used.map((s) => classes.sizes.names[s]!),
    times: classes.runtimes.names,
    cells: all.map((line) => used.map((s) => line[s]!)),
  };
}

const text = (measure: Measure, v: number) =>
  MEASURES[measure].unit === "s" ? duration(v) : short(v);

function interval(low: number | null, high: number | null, word: (v: number) => string): string {
  return low === null || high === null ? "" : ` (95\u00a0% ${word(low)} to ${word(high)})`;
}

function title(cell: Cell, measure: Measure, baseline: RunModel): string {
  const means = `${fixed(cell.jobs, 0)} jobs: mean ${MEASURES[measure].title} ${text(measure, cell.after)}, under ${baseline.name} ${text(measure, cell.before)}`;
  if (!cell.pairs) return means;
  const [, , difference, low, high, ratio, ratioLow, ratioHigh] = cell.pairs;
  const parts = [means];
  if (difference !== null)
    parts.push(`difference ${signed(difference)}${interval(low, high, signed)}`);
  if (ratio !== null) parts.push(`ratio ${short(ratio)}${interval(ratioLow, ratioHigh, short)}`);
  if (low === null) parts.push("how sure is not known: too few jobs");
  return parts.join("\n");
}

function map(its: Cells, measure: Measure, baseline: RunModel, limit: number): HTMLElement {
  const table = el(
    "table",
    { class: "heat", style: `--columns: ${its.sizes.length}` },
    el("caption", {}, el("strong", {}, its.run.name)),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "run time \\ nodes"),
        its.sizes.map((name) => el("th", { scope: "col" }, name)),
      ),
    ),
    el(
      "tbody",
      {},
      its.times.map((name, t) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          its.cells[t]!.map((cell) => {
            if (!cell) return el("td", { class: "none" }, "");
            const known = Number.isFinite(cell.ratio);
            const clear = isClear(cell.pairs);
            return el(
              "td",
              {
                class: `${cell.jobs < LEAST_JOBS ? "few" : ""} ${clear ? "clear" : ""}`.trim(),
                style: known ? shadeStyle(cell.ratio, limit) : undefined,
                title: title(cell, measure, baseline),
              },
              el("b", {}, known ? ratioText(cell.ratio) : "–"),
              clear && el("span", { class: "unseen" }, " clearly"),
              el("small", {}, fixed(cell.jobs, 0), el("span", { class: "unseen" }, " jobs")),
            );
          }),
        ),
      ),
    ),
  );
  return el("div", { class: "multiple" }, table);
}

/** What the cells say on hover, for those who do not. */
function asTable(all: Cells[], measure: Measure): HTMLElement {
  const word = (v: number | null) => (v === null ? "–" : signed(v));
  return details(
    "Values",
    scroller(
      "Effects by class",
      valueTable(
        `Mean ${MEASURES[measure].title} by class`,
        [
          "policy",
          "run time",
          "nodes",
          "jobs",
          "baseline",
          "mean",
          "difference",
          "95 %",
          "ratio",
          "95\u00a0%",
        ],
        all.flatMap((its) =>
          its.cells.flatMap((line, t) =>
            line.flatMap((cell, s): Child[][] => {
              if (!cell) return [];
              const [low, high, ratioLow, ratioHigh] = cell.pairs
                ? [cell.pairs[3], cell.pairs[4], cell.pairs[6], cell.pairs[7]]
                : [null, null, null, null];
              return [
                [
                  its.run.name,
                  its.times[t],
                  its.sizes[s],
                  fixed(cell.jobs, 0),
                  text(measure, cell.before),
                  text(measure, cell.after),
                  MEASURES[measure].unit === "s"
                    ? signed(cell.after - cell.before)
                    : short(cell.after - cell.before),
                  low === null ? "–" : `${word(low)} to ${word(high)}`,
                  Number.isFinite(cell.ratio) ? ratioText(cell.ratio) : "–",
                  ratioLow === null ? "–" : `${short(ratioLow)} to ${short(ratioHigh!)}`,
                ],
              ];
            }),
          ),
        ),
      ),
    ),
  );
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

export function heatmaps(
  runs: RunModel[],
  first: number,
  classes: JobClasses,
  comparison: Comparison | null,
): HTMLElement {
  let baseline = first;
  let measure: Measure = "wait";
  const box = el("div", {});
  const table = el("div", {});
  const about = el("p", { class: "soft" });
  const key = el("div", { class: "heat-scale", "aria-hidden": "true" });
  const draw = () => {
    const base = runs[baseline]!;
    const others = runs.filter((run) => run.index !== baseline);
    const all = others.map((run) => cellsOf(run, base, classes, measure, comparison));
    const cells = all.flatMap((its) => its.cells.flat()).filter((cell) => cell !== null);
    const limit = limitFor(cells.map((cell) => cell.ratio));
    key.replaceChildren();
    append(key, scale(limit));
    about.replaceChildren();
    append(about, [
      "Each number is a mean over the jobs of a class, divided by that of the baseline: 0.50 is half as much. ",
      `Below it the number of jobs${
        base.group.runs.length > 1 && cells.some((cell) => cell.pairs) ? ", of all seeds" : ""
      }. `,
      cells.some((cell) => isClear(cell.pairs))
        ? [
            el("i", { class: "corner" }),
            " The 95\u00a0% interval of the difference excludes 0: intervals are shown when a cell is pointed at, and below.",
          ]
        : cells.some((cell) => cell.pairs?.[3] != null)
          ? "Of no class the 95\u00a0% interval of the difference excludes 0."
          : cells.some((cell) => cell.pairs)
            ? "Classes have too few jobs for intervals."
            : "There are intervals of wait and turnaround, against the baseline of the answer.",
      cells.some((cell) => cell.jobs < LEAST_JOBS) && " Those in italics are means of few.",
    ]);
    box.replaceChildren(folded(all, MANY, (its) => map(its, measure, base, limit), "policies"));
    box.firstElementChild!.classList.add("grid");
    table.replaceChildren(asTable(all, measure));
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
    about,
    el("div", { class: "toolbar" }, choices, key),
    box,
    table,
  );
}
