// Resizes: how many, why, what they cost, and who gave to whom.
import type { Bars } from "./bars";
import { details, el, folded, scroller, select, valueTable, type Child } from "./dom";
import type { JobClasses, RunModel } from "./model";
import { fixed, short, unitFor } from "./units";
import { seconds, unpack, type Numbers } from "./unpack";

export interface Resizes {
  /** Refused ones are among them, and how long the answers took is known. */
  isOrdered: boolean;
  rows: number;
  at: Float64Array;
  until: Float64Array;
  job: Numbers;
  before: Numbers;
  ordered: Numbers;
  after: Numbers;
  reason: Numbers;
  reasons: string[];
  /** Of the job at its last start; null: not known here. */
  first: Numbers | null;
  forJob: Numbers;
  outcome: Numbers;
  outcomes: string[];
  /** Node seconds; null: not known here. */
  cost: Float64Array | null;
  ofJob(row: number): number[];
}

/** Those that were ordered; where orders are not known, those that were carried out. */
export async function resizesOf(run: RunModel, bars: Bars | null): Promise<Resizes | null> {
  if (!run.drawn.resizes) return bars && bars.rows > 0 ? fromBars(bars) : null;
  const table = await unpack(run.drawn.resizes);
  return made(table.get("job"), {
    isOrdered: true,
    at: seconds(table.get("at")),
    until: seconds(table.get("until")),
    before: table.get("before"),
    ordered: table.get("ordered"),
    after: table.get("after"),
    reason: table.get("reason"),
    reasons: table.words.reason ?? [],
    first: table.has("first_size") ? table.get("first_size") : null,
    forJob: table.get("for"),
    outcome: table.get("outcome"),
    outcomes: table.words.outcome ?? [],
    cost: table.has("cost") ? seconds(table.get("cost")).map((v) => Math.max(v, 0)) : null,
  });
}

/** What changed from one bar of a job to the next one. */
function fromBars(bars: Bars): Resizes {
  const places: number[] = [];
  const before: number[] = [];
  for (let row = 0; row + 1 < bars.jobStart.length; row++) {
    for (let k = bars.jobStart[row]! + 1; k < bars.jobStart[row + 1]!; k++) {
      const [last, now] = [bars.ofJob[k - 1]!, bars.ofJob[k]!];
      if (bars.until[last] !== bars.from[now] || bars.size[last] === bars.size[now]) continue;
      places.push(now);
      before.push(bars.size[last]!);
    }
  }
  const order = places.map((_, i) => i).sort((a, b) => places[a]! - places[b]!);
  const pick = (of: ArrayLike<number>) => Float64Array.from(order, (i) => of[places[i]!]!);
  const after = pick(bars.size);
  return made(pick(bars.job), {
    first: null,
    isOrdered: false,
    at: pick(bars.from),
    until: pick(bars.from),
    before: Float64Array.from(order, (i) => before[i]!),
    ordered: after,
    after,
    reason: pick(bars.reason),
    reasons: bars.reasons,
    forJob: pick(bars.forJob),
    outcome: new Int32Array(order.length),
    outcomes: ["done"],
    cost: null,
  });
}

function made(job: Numbers, rest: Omit<Resizes, "rows" | "job" | "ofJob">): Resizes {
  let byJob: Map<number, number[]> | null = null;
  return {
    ...rest,
    rows: job.length,
    job,
    ofJob: (row) => {
      if (!byJob) {
        byJob = new Map();
        for (let i = 0; i < job.length; i++) {
          const list = byJob.get(job[i]!);
          if (list) list.push(i);
          else byJob.set(job[i]!, [i]);
        }
      }
      return byJob.get(row) ?? [];
    },
  };
}

/** Changed nothing, or is not known to have. */
const isOpen = (resizes: Resizes, i: number) => resizes.before[i] === resizes.after[i];

function summary(runs: RunModel[], all: (Resizes | null)[]): HTMLElement {
  const costs = new Map(
    runs.map((run) => {
      const cost = run.figures?.reconfiguration_node_s;
      return [run, typeof cost === "number" ? cost : null];
    }),
  );
  const unit = unitFor("node s", costs.values());
  const rows = runs.map((run): Child[] => {
    const its = all[run.index]!;
    let [expands, shrinks, nodes] = [0, 0, 0];
    const jobs = new Set<number>();
    const outcomes = new Map<string, number>();
    for (let i = 0; i < its.rows; i++) {
      const by = its.after[i]! - its.before[i]!;
      if (by > 0) expands++;
      if (by < 0) shrinks++;
      nodes += Math.abs(by);
      if (by !== 0) jobs.add(its.job[i]!);
      const word = its.outcomes[its.outcome[i]!] ?? "";
      outcomes.set(word, (outcomes.get(word) ?? 0) + 1);
    }
    const cost = costs.get(run) ?? null;
    const rest = [...outcomes]
      .filter(([word]) => word !== "done")
      .map(([word, n]) => `${n} ${word}`);
    return [
      run.name,
      fixed(expands, 0),
      fixed(shrinks, 0),
      fixed(jobs.size, 0),
      fixed(nodes, 0),
      cost === null ? "–" : short(cost / unit.size),
      cost === null || expands + shrinks === 0 ? "–" : nodeTime(cost / (expands + shrinks)),
      rest.join(", ") || "–",
    ];
  });
  return scroller(
    "Resizes by policy",
    valueTable(
      "Resizes by policy",
      [
        "policy",
        "grown",
        "shrunk",
        "jobs",
        "nodes moved",
        `cost (${unit.name})`,
        "cost each",
        "not as ordered",
      ],
      rows,
    ),
  );
}

function nodeTime(node_s: number): string {
  const unit = unitFor("node s", [node_s]);
  return `${short(node_s / unit.size)}\u00a0${unit.name}`;
}

type Kind = "size" | "type";
type Amount = "count" | "cost";

interface Naming {
  names: string[];
  of(row: number): number;
  /** Of a resize, by what it says of its job. */
  ofResize(its: Resizes, i: number): number;
}

/** Classes of jobs by the size they first had, or by their type. */
function naming(run: RunModel, kind: Kind, { sizes }: JobClasses): Naming {
  const { workload } = run;
  if (kind === "type") {
    const of = (row: number) => workload.type[row]!;
    return { names: workload.types, of, ofResize: (its, i) => of(its.job[i]!) };
  }
  const of = (row: number) => sizes.of(run.startNodes[row]! || workload.size[row]!);
  return {
    names: sizes.names.map((name) => (name === "1" ? "1 node" : `${name} nodes`)),
    of,
    ofResize: (its, i) => (its.first ? sizes.of(its.first[i]!) : of(its.job[i]!)),
  };
}

/** A table of counts, or amounts that `text` words, as shares of all, shaded by how much. */
function shares(
  caption: string,
  corner: string,
  rows: string[],
  columns: string[],
  counts: number[][],
  text = (n: number) => fixed(n, 0),
): HTMLElement | null {
  const all = counts.flat().reduce((sum, n) => sum + n, 0);
  if (all === 0) return null;
  const usedRows = rows.map((_, i) => i).filter((i) => counts[i]!.some((n) => n > 0));
  const usedColumns = columns.map((_, k) => k).filter((k) => counts.some((line) => line[k]! > 0));
  const most = Math.max(...counts.flat());
  const style = (n: number) =>
    `background: color-mix(in srgb, var(--count) ${Math.round((n / most) * 80)}%, var(--even))`;
  const cell = (n: number) =>
    n === 0
      ? el("td", { class: "none" }, "")
      : el(
          "td",
          { style: style(n), title: `${text(n)} of ${text(all)}` },
          el("b", {}, `${((100 * n) / all).toFixed(1)}\u00a0%`),
          el("small", {}, text(n)),
        );
  return el(
    "table",
    { class: "heat", style: `--columns: ${usedColumns.length}` },
    el("caption", {}, caption, " ", el("span", { class: "soft" }, `of ${text(all)}`)),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, corner),
        usedColumns.map((k) => el("th", { scope: "col" }, columns[k]!)),
      ),
    ),
    el(
      "tbody",
      {},
      usedRows.map((i) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, rows[i]!),
          usedColumns.map((k) => cell(counts[i]![k]!)),
        ),
      ),
    ),
  );
}

/** How many for each reason, and what they cost. */
function byReason(runs: RunModel[], all: (Resizes | null)[]): HTMLElement {
  const share = (part: number, whole: number, kind: string) => {
    if (!(whole > 0)) return el("td", {}, "–");
    const percent = ((100 * part) / whole).toFixed(1);
    return el("td", { class: `share ${kind}`, style: `--share: ${percent}%` }, `${percent}\u00a0%`);
  };
  const rows = runs.flatMap((run) => {
    const its = all[run.index]!;
    const sums = its.reasons.map((name) => ({ name, grown: 0, shrunk: 0, cost: 0 }));
    for (let i = 0; i < its.rows; i++) {
      const sum = sums[its.reason[i]!]!;
      const by = its.after[i]! - its.before[i]!;
      if (by > 0) sum.grown++;
      if (by < 0) sum.shrunk++;
      // An order that changed nothing may have cost something all the same.
      sum.cost += its.cost?.[i] ?? 0;
    }
    const some = sums.filter((sum) => sum.grown + sum.shrunk > 0 || sum.cost > 0);
    const count = some.reduce((n, sum) => n + sum.grown + sum.shrunk, 0);
    const cost = some.reduce((n, sum) => n + sum.cost, 0);
    return some
      .sort((x, y) => y.grown + y.shrunk - x.grown - x.shrunk)
      .map((sum, i) => {
        const n = sum.grown + sum.shrunk;
        return el(
          "tr",
          { class: i === 0 ? "first" : undefined },
          i === 0 && el("th", { scope: "rowgroup", rowspan: some.length }, run.name),
          el("th", { scope: "row" }, sum.name),
          el("td", {}, fixed(sum.grown, 0)),
          el("td", {}, fixed(sum.shrunk, 0)),
          share(n, count, "count"),
          el("td", {}, its.cost ? nodeTime(sum.cost) : "–"),
          share(sum.cost, its.cost ? cost : 0, "cost"),
          el("td", {}, its.cost && n > 0 ? nodeTime(sum.cost / n) : "–"),
        );
      });
  });
  const head = [
    "policy",
    "reason",
    "grown",
    "shrunk",
    "of all",
    "cost",
    "of the cost",
    "cost each",
  ];
  return scroller(
    "Resizes by reason",
    el(
      "table",
      { class: "reasons" },
      el("caption", {}, "By reason: how many, and what they cost"),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((text) => el("th", { scope: "col" }, text)),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );
}

function matrices(
  run: RunModel,
  its: Resizes,
  kind: Kind,
  of: Amount,
  jobClasses: JobClasses,
): HTMLElement {
  const classes = naming(run, kind, jobClasses);
  const grid = (columns: number) => classes.names.map(() => new Array<number>(columns).fill(0));
  const why = grid(its.reasons.length);
  const gave = grid(classes.names.length);
  const grew = grid(classes.names.length);
  for (let i = 0; i < its.rows; i++) {
    const who = classes.ofResize(its, i);
    if (of === "cost") why[who]![its.reason[i]!]! += its.cost?.[i] ?? 0;
    if (isOpen(its, i)) continue;
    if (of === "count") why[who]![its.reason[i]!]! += 1;
    const other = its.forJob[i]!;
    if (other < 0) continue;
    if (its.after[i]! < its.before[i]!) gave[who]![classes.of(other)]! += 1;
    else grew[who]![classes.of(other)]! += 1;
  }
  return el(
    "div",
    { class: "multiple" },
    el("h3", {}, run.name),
    shares(
      of === "cost" ? "Cost of resizes by reason" : "Resizes by reason",
      "who was resized",
      classes.names,
      its.reasons,
      why,
      of === "cost" ? nodeTime : undefined,
    ),
    shares("Who gave nodes to whom", "shrunk \\ profits", classes.names, classes.names, gave),
    shares(
      "Who grew so that whom could start earlier",
      "grown \\ profits",
      classes.names,
      classes.names,
      grew,
    ),
  );
}

export function resizeSection(
  runs: RunModel[],
  all: (Resizes | null)[],
  classes: JobClasses,
): HTMLElement | null {
  const some = runs.filter((run) => (all[run.index]?.rows ?? 0) > 0);
  if (some.length === 0) return null;
  let kind: Kind = "size";
  let of: Amount = "count";
  const box = el("div", {});
  const draw = () => {
    const list = folded(
      some,
      6,
      (run) => matrices(run, all[run.index]!, kind, of, classes),
      "policies",
    );
    list.classList.add("grid");
    box.replaceChildren(list);
  };
  draw();
  const times = some
    .filter((run) => all[run.index]!.isOrdered)
    .map((run): Child[] => {
      const its = all[run.index]!;
      const took = Float64Array.from(
        { length: its.rows },
        (_, i) => its.until[i]! - its.at[i]!,
      ).sort();
      const mean = took.reduce((sum, v) => sum + v, 0) / Math.max(1, took.length);
      return [
        run.name,
        `${short(mean)} s`,
        `${short(took[took.length >> 1] ?? 0)} s`,
        `${short(took[took.length - 1] ?? 0)} s`,
      ];
    });
  return el(
    "section",
    { id: "resizes" },
    el("h2", {}, "Resizes"),
    summary(some, all),
    byReason(some, all),
    el(
      "div",
      { class: "toolbar" },
      select(
        "Jobs by",
        [
          ["size", "their first size"],
          ["type", "their type"],
        ],
        kind,
        (value) => {
          kind = value as Kind;
          draw();
        },
      ),
      some.some((run) => all[run.index]!.cost?.some((v) => v > 0)) &&
        select(
          "Shares of",
          [
            ["count", "all resizes"],
            ["cost", "what they cost"],
          ],
          of,
          (value) => {
            of = value as Amount;
            draw();
          },
        ),
    ),
    box,
    times.length > 0 &&
      details(
        "How long orders took until they were answered",
        valueTable("Time from order to answer", ["policy", "mean", "median", "longest"], times),
      ),
  );
}
