// Resizes: how many, why, what they cost, and who gave to whom.
import type { Bars } from "./bars";
import { details, el, folded, scroller, select, valueTable, type Child } from "./dom";
import { sizeClasses, type RunModel } from "./model";
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
      cost === null || expands + shrinks === 0 ? "–" : costEach(cost / (expands + shrinks)),
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

function costEach(node_s: number): string {
  const unit = unitFor("node s", [node_s]);
  return `${short(node_s / unit.size)} ${unit.name}`;
}

type Kind = "size" | "type";

interface Naming {
  names: string[];
  of(row: number): number;
  /** Of a resize, by what it says of its job. */
  ofResize(its: Resizes, i: number): number;
}

/** Classes of jobs by the size they first had, or by their type. */
function naming(run: RunModel, kind: Kind): Naming {
  const { workload } = run;
  if (kind === "type") {
    const of = (row: number) => workload.type[row]!;
    return { names: workload.types, of, ofResize: (its, i) => of(its.job[i]!) };
  }
  const sizes = sizeClasses(run.drawn.nodes);
  const of = (row: number) => sizes.of(run.startNodes[row]! || workload.size[row]!);
  return {
    names: sizes.names.map((name) => (name === "1" ? "1 node" : `${name} nodes`)),
    of,
    ofResize: (its, i) => (its.first ? sizes.of(its.first[i]!) : of(its.job[i]!)),
  };
}

/** A table of counts as shares of all, shaded by how many. */
function shares(
  caption: string,
  corner: string,
  rows: string[],
  columns: string[],
  counts: number[][],
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
          { style: style(n), title: `${n} of ${all}` },
          el("b", {}, `${((100 * n) / all).toFixed(1)}\u00a0%`),
          el("small", {}, fixed(n, 0)),
        );
  return el(
    "table",
    { class: "heat", style: `--columns: ${usedColumns.length}` },
    el("caption", {}, caption, " ", el("span", { class: "soft" }, `of ${fixed(all, 0)}`)),
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

function matrices(run: RunModel, its: Resizes, kind: Kind): HTMLElement {
  const classes = naming(run, kind);
  const grid = (columns: number) => classes.names.map(() => new Array<number>(columns).fill(0));
  const why = grid(its.reasons.length);
  const gave = grid(classes.names.length);
  const grew = grid(classes.names.length);
  for (let i = 0; i < its.rows; i++) {
    if (isOpen(its, i)) continue;
    const who = classes.ofResize(its, i);
    why[who]![its.reason[i]!]! += 1;
    const other = its.forJob[i]!;
    if (other < 0) continue;
    if (its.after[i]! < its.before[i]!) gave[who]![classes.of(other)]! += 1;
    else grew[who]![classes.of(other)]! += 1;
  }
  return el(
    "div",
    { class: "multiple" },
    el("h3", {}, run.name),
    shares("Resizes by reason", "who was resized", classes.names, its.reasons, why),
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

export function resizeSection(runs: RunModel[], all: (Resizes | null)[]): HTMLElement | null {
  const some = runs.filter((run) => (all[run.index]?.rows ?? 0) > 0);
  if (some.length === 0) return null;
  let kind: Kind = "size";
  const box = el("div", {});
  const draw = () => {
    const list = folded(some, 6, (run) => matrices(run, all[run.index]!, kind), "policies");
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
      el("span", { class: "soft" }, "shares of all, with counts"),
    ),
    box,
    times.length > 0 &&
      details(
        "How long orders took until they were answered",
        valueTable("Time from order to answer", ["policy", "mean", "median", "longest"], times),
      ),
  );
}
