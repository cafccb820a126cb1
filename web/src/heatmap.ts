// Which jobs gain and which lose: ratios to the baseline by size and run time, as tables whose cells
// are coloured.
import { el, folded, select, type Child } from "./dom";
import {
  classRuntimes, MEASURES, runtimeClasses, sizeClasses, value, type Measure, type RunModel,
} from "./model";
import { duration, short } from "./units";

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

/** From -1 (a quarter or less) over 0 (the same) to 1 (four times or more). */
export function shade(ratio: number): number {
  return Math.max(-1, Math.min(1, Math.log(ratio) / Math.log(4)));
}

export function shadeStyle(ratio: number): string {
  const s = shade(ratio);
  const end = s < 0 ? "less" : "more";
  return `background: color-mix(in srgb, var(--${end}) ${Math.round(Math.abs(s) * 85)}%, var(--even))`;
}

function map(run: RunModel, baseline: RunModel, measure: Measure): HTMLElement {
  const { sizes, times, result } = means(run, baseline, measure);
  const base = means(baseline, baseline, measure).result;
  const used = sizes.names.map((_, s) => s).filter((s) => result.n.some((line) => line[s]! > 0));
  const text = (v: number) => (MEASURES[measure].unit === "s" ? duration(v) : short(v));
  const table = el(
    "table", { class: "heat" },
    el("caption", {}, el("strong", {}, run.name)),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "run time \\ nodes"),
      used.map((s) => el("th", { scope: "col" }, sizes.names[s])))),
    el("tbody", {}, times.names.map((name, t) =>
      el("tr", {}, el("th", { scope: "row" }, name),
        used.map((s) => {
          const n = result.n[t]![s]!;
          if (n === 0) return el("td", { class: "none" }, "");
          const [a, b] = [base.mean[t]![s]!, result.mean[t]![s]!];
          const ratio = a === b ? 1 : b / a;
          const known = Number.isFinite(ratio);
          const few = n < LEAST_JOBS;
          return el("td", {
            class: few ? "few" : "", style: known ? shadeStyle(ratio) : undefined,
            title: `${n} jobs: mean ${MEASURES[measure].title} ${text(b)}, under ${baseline.name} ${text(a)}`,
          }, el("b", {}, known ? ratio.toFixed(ratio < 9.95 ? 2 : 0) : "–"),
            el("small", {}, `${n}`, el("span", { class: "unseen" }, " jobs")));
        })))),
  );
  return el("div", { class: "multiple" }, table);
}

function scale(): HTMLElement {
  const ratios = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4];
  return el("div", { class: "heat-scale", "aria-hidden": "true" }, "less ",
    ratios.map((ratio) => el("span", { style: shadeStyle(ratio) }, ratio === 0.25 ? "¼" : ratio === 0.5 ? "½" : [1, 2, 4].includes(ratio) ? String(ratio) : "")),
    " more");
}

export function heatmaps(runs: RunModel[], first: number): HTMLElement {
  let baseline = first;
  let measure: Measure = "wait";
  const box = el("div", {});
  const draw = () => {
    const others = runs.filter((run) => run.index !== baseline);
    box.replaceChildren(folded(others, MANY, (run) => map(run, runs[baseline]!, measure), "policies"));
    box.firstElementChild!.classList.add("grid");
  };
  draw();
  const choices: Child[] = [
    select("Mean", (Object.keys(MEASURES) as Measure[]).map((m) => [m, MEASURES[m].title]), measure, (v) => {
      measure = v as Measure;
      draw();
    }),
    select("over that under", runs.map((run, i) => [String(i), run.name]), String(baseline), (v) => {
      baseline = Number(v);
      draw();
    }),
  ];
  return el(
    "section", { id: "classes" },
    el("h2", {}, "Which jobs gain, which lose"),
    el("p", { class: "soft" },
      "Each number is a mean over the jobs of a class, divided by that of the baseline: 0.50 is half as much. " +
        "Below it the number of jobs; pale ones are means of few." +
        (runs[first]!.workload.runtime ? "" : " Classes of run time are those under the baseline.")),
    el("div", { class: "toolbar" }, choices, scale()),
    box,
  );
}
