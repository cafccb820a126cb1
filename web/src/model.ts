// The runs as the page works with them: tables unpacked, times in seconds.
import type { Column, Drawn, Edges, Group, PageData } from "./data";
import { breath, seconds, unpack, type Numbers, type Table } from "./unpack";

export interface Workload {
  jobs: number;
  job: Numbers;
  submit: Float64Array;
  size: Numbers;
  walltime: Float64Array;
  user: Numbers;
  type: Numbers;
  types: string[];
  /** Static run time; -1: not known. */
  runtime: Float64Array;
  /** By the number of a job. */
  row(job: number): number | undefined;
}

export interface RunModel {
  /** Place among those that are drawn: the same colour and dashes everywhere. */
  index: number;
  name: string;
  group: Group;
  figures: Record<string, unknown> | undefined;
  drawn: Drawn;
  workload: Workload;
  start: Float64Array;
  end: Float64Array;
  reason: Numbers;
  reasons: string[];
  state: Numbers;
  states: string[];
  startNodes: Numbers;
  endNodes: Numbers;
  /** So long jobs that it depends on kept it back. */
  heldBack: Float64Array;
}

export type Measure = "wait" | "turnaround" | "slowdown" | "runtime";

export const MEASURES: Record<Measure, { title: string; unit: string; better: string }> = {
  wait: { title: "wait time", unit: "s", better: "less" },
  turnaround: { title: "turnaround time", unit: "s", better: "less" },
  slowdown: { title: "bounded slowdown", unit: "", better: "less" },
  runtime: { title: "run time", unit: "s", better: "" },
};

/** That long a job is taken to run at least, where its slowdown is bounded. */
const BOUND_S = 10;

/** Whether figures are of this job, too. */
export function isMeasured(run: RunModel, row: number): boolean {
  const part = run.drawn.measured;
  if (!part) return true;
  const submit = run.workload.submit[row]!;
  return submit >= (part.from_s ?? -Infinity) && submit < (part.until_s ?? Infinity);
}

/** What came of a job in a run; NaN where it never ran to an end, or was not measured. */
export function value(run: RunModel, row: number, measure: Measure): number {
  const start = run.start[row]!;
  const end = run.end[row]!;
  if (start < 0 || end < 0 || !isMeasured(run, row)) return NaN;
  const submit = run.workload.submit[row]! + run.heldBack[row]!;
  if (measure === "wait") return start - submit;
  if (measure === "turnaround") return end - submit;
  if (measure === "runtime") return end - start;
  const known = run.workload.runtime[row]!;
  const runtime = known >= 0 ? known : end - start;
  return Math.max(1, (end - submit) / Math.max(runtime, BOUND_S));
}

async function workload(packed: Parameters<typeof unpack>[0]): Promise<Workload> {
  const table = await unpack(packed);
  const job = table.get("job");
  let rows: Map<number, number> | null = null;
  return {
    jobs: table.rows,
    job,
    submit: seconds(table.get("submit")),
    size: table.get("size"),
    walltime: seconds(table.get("walltime")),
    user: table.get("user"),
    type: table.get("type"),
    types: table.words.type ?? ["rigid"],
    runtime: seconds(table.get("runtime")),
    row: (number) => {
      if (!rows) {
        rows = new Map();
        for (let i = 0; i < job.length; i++) rows.set(job[i]!, i);
      }
      return rows.get(number);
    },
  };
}

export async function runsOf(data: PageData): Promise<RunModel[]> {
  const workloads: Workload[] = [];
  for (const packed of data.workloads) workloads.push(await workload(packed));
  const runs: RunModel[] = [];
  for (const drawn of data.drawn) {
    const jobs: Table = await unpack(drawn.jobs);
    const group = data.groups[drawn.group]!;
    runs.push({
      index: runs.length,
      name: group.policy,
      group,
      figures: data.runs[drawn.run]?.figures,
      drawn,
      workload: workloads[drawn.workload]!,
      start: seconds(jobs.get("start")),
      end: seconds(jobs.get("end")),
      reason: jobs.get("reason"),
      reasons: jobs.words.reason ?? [],
      state: jobs.get("state"),
      states: jobs.words.state ?? [],
      startNodes: jobs.get("start_nodes"),
      endNodes: jobs.get("end_nodes"),
      heldBack: seconds(jobs.get("held_back")),
    });
    await breath();
  }
  return runs;
}

/** Where the jobs of `run` are in the workload of `other`; -1 where they are not. */
export function rowsIn(run: RunModel, other: RunModel): (row: number) => number {
  if (run.workload === other.workload) return (row) => row;
  return (row) => other.workload.row(run.workload.job[row]!) ?? -1;
}

/** The run that others are compared with, at first: that of the comparison, or the first one. */
export function baselineOf(data: PageData, runs: RunModel[]): number {
  const place = runs.findIndex((run) => run.drawn.group === data.comparison?.baseline);
  return Math.max(0, place);
}

export function columnOf(data: PageData, key: string): Column | undefined {
  return data.columns.find((column) => column.key === key);
}

// ---- Classes of jobs ----------------------------------------------------------------------------

export interface Classes {
  names: string[];
  of(value: number): number;
}

export function classesOf({ bounds, names }: Edges): Classes {
  return {
    names,
    of: (v) => {
      let i = 0;
      while (i < bounds.length && v > bounds[i]!) i++;
      return i;
    },
  };
}

export interface JobClasses {
  sizes: Classes;
  runtimes: Classes;
}

export function jobClasses(data: PageData): JobClasses {
  return { sizes: classesOf(data.classes.sizes), runtimes: classesOf(data.classes.runtimes) };
}

/** How many of a sorted list are at most `v`. */
export function upperBound(sorted: ArrayLike<number>, v: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= v) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** By linear interpolation between the values around it, as summary.json has them. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return NaN;
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (sorted[high]! - sorted[low]!) * (place - low);
}

/** The sorted values of a run. */
export function sortedValues(run: RunModel, measure: Measure): Float64Array {
  const values = new Float64Array(run.workload.jobs);
  let n = 0;
  for (let i = 0; i < values.length; i++) {
    const v = value(run, i, measure);
    if (!Number.isNaN(v)) values[n++] = v;
  }
  return values.slice(0, n).sort();
}

/**
 * Run times by which jobs are told apart: static ones where they are known, else those of the
 * baseline, so that a job is in the same class under all policies.
 */
export function classRuntimes(run: RunModel, baseline: RunModel): Float64Array {
  const there = rowsIn(run, baseline);
  return Float64Array.from({ length: run.workload.jobs }, (_, row) => {
    const known = run.workload.runtime[row]!;
    if (known >= 0) return known;
    const other = there(row);
    return other < 0 || baseline.start[other]! < 0
      ? -1
      : baseline.end[other]! - baseline.start[other]!;
  });
}

/** The first submission; no number where there are no jobs. */
export function beginOf(run: RunModel): number {
  return run.workload.submit.reduce((a, b) => Math.min(a, b), Infinity);
}
