// What jobs held, as bars of nodes over time, and how to find those of a span quickly.
import type { RunModel } from "./model";
import { Pace, seconds, unpack, type Numbers } from "./unpack";

const BLOCK = 256;

export interface Bars {
  rows: number;
  job: Numbers;
  from: Float64Array; // rising
  until: Float64Array;
  first: Numbers;
  last: Numbers;
  size: Numbers;
  reason: Numbers;
  reasons: string[];
  forJob: Numbers;
  cores: Numbers;
  guest: Numbers;
  /** Of cores of a shared node those below are others'. */
  offset: Int16Array | null;
  coresPerNode: number;
  /** The last end among so many bars, one after the other. */
  blockUntil: Float64Array;
  /** Bars of a job (row in the workload), by time: `ofJob[jobStart[row]]` to before that of row + 1. */
  jobStart: Int32Array;
  ofJob: Int32Array;
  /** Which share of each of its nodes a bar has. */
  part(i: number): number;
}

export async function barsOf(run: RunModel): Promise<Bars> {
  const pace = new Pace();
  const table = await unpack(run.drawn.allocations);
  const n = table.rows;
  const from = seconds(table.get("from"));
  const until = seconds(table.get("until"));
  const job = table.get("job");
  const cores = table.get("cores");
  await pace.rest();
  const blockUntil = new Float64Array(Math.ceil(n / BLOCK)).fill(-Infinity);
  let isShared = false;
  for (let i = 0; i < n; i++) {
    const block = Math.floor(i / BLOCK);
    if (until[i]! > blockUntil[block]!) blockUntil[block] = until[i]!;
    isShared ||= cores[i]! > 0;
  }
  const jobStart = new Int32Array(run.workload.jobs + 1);
  for (let i = 0; i < n; i++) jobStart[job[i]! + 1]!++;
  for (let i = 0; i < run.workload.jobs; i++) jobStart[i + 1]! += jobStart[i]!;
  const next = jobStart.slice();
  const ofJob = new Int32Array(n);
  for (let i = 0; i < n; i++) ofJob[next[job[i]!]!++] = i;
  await pace.rest();
  const coresPerNode = run.drawn.cores_per_node;
  const bars: Bars = {
    rows: n,
    job,
    from,
    until,
    first: table.get("first"),
    last: table.get("last"),
    size: table.get("size"),
    reason: table.get("reason"),
    reasons: table.words.reason ?? [],
    forJob: table.get("for"),
    cores,
    guest: table.get("guest"),
    offset: null,
    coresPerNode,
    blockUntil,
    jobStart,
    ofJob,
    part: (i) => (cores[i]! > 0 && coresPerNode > 0 ? cores[i]! / coresPerNode : 1),
  };
  if (isShared && coresPerNode > 0) bars.offset = offsets(bars, run.drawn.nodes);
  return bars;
}

/**
 * Which cores of shared nodes are whose is not told: who was there first has the lowest, others
 * what is free above, so that jobs lie beside each other where they lived beside each other.
 */
function offsets(bars: Bars, nodes: number): Int16Array {
  const result = new Int16Array(bars.rows);
  const present: number[][] = Array.from({ length: nodes }, () => []);
  const before = new Map<number, number>(); // of a job its last offset
  for (let i = 0; i < bars.rows; i++) {
    const cores = bars.cores[i]!;
    if (cores === 0) continue;
    const taken: [number, number][] = [];
    for (let node = bars.first[i]!; node <= bars.last[i]!; node++) {
      const there = present[node];
      if (!there) continue;
      const left = there.filter(
        (k) => bars.until[k]! > bars.from[i]! && bars.job[k] !== bars.job[i],
      );
      for (const k of left) taken.push([result[k]!, result[k]! + bars.cores[k]!]);
      left.push(i);
      present[node] = left;
    }
    const isFree = (at: number) =>
      at + cores <= bars.coresPerNode && taken.every(([a, b]) => at + cores <= a || b <= at);
    const tries = [before.get(bars.job[i]!) ?? 0, 0, ...taken.map(([, b]) => b)];
    // A mate leaves its cores in the same instant as its guest begins: who is not in order yet.
    const at = tries.find(isFree) ?? (bars.guest[i] ? bars.coresPerNode - cores : 0);
    result[i] = Math.max(0, at);
    before.set(bars.job[i]!, result[i]!);
  }
  return result;
}

/** Bars that begin before `t`. */
export function before(bars: Bars, t: number): number {
  let low = 0;
  let high = bars.rows;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars.from[middle]! < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** At least how many bars are in a span: at most a block too many at each end. */
export function countIn(bars: Bars, from: number, until: number): number {
  const end = before(bars, until);
  let n = 0;
  for (let block = 0; block * BLOCK < end; block++) {
    if (bars.blockUntil[block]! > from) n += Math.min(BLOCK, end - block * BLOCK);
  }
  return n;
}

/** All bars in a span, by their beginning. */
export function eachIn(bars: Bars, from: number, until: number, visit: (i: number) => void): void {
  const end = before(bars, until);
  for (let block = 0; block * BLOCK < end; block++) {
    if (!(bars.blockUntil[block]! > from)) continue;
    const stop = Math.min(end, (block + 1) * BLOCK);
    for (let i = block * BLOCK; i < stop; i++) if (bars.until[i]! > from) visit(i);
  }
}

/** The bar of the same job that ended when this one begins; -1: it begins the job. */
export function previous(bars: Bars, i: number): number {
  const row = bars.job[i]!;
  let found = -1;
  for (let k = bars.jobStart[row]!; k < bars.jobStart[row + 1]!; k++) {
    const other = bars.ofJob[k]!;
    if (bars.until[other] === bars.from[i]) found = other;
    if (bars.from[other]! >= bars.from[i]!) break;
  }
  return found;
}

/** The bar at a moment, a node and a share of that node; of several the last to come. */
export function barAt(bars: Bars, t: number, node: number, share: number, slack: number): number {
  let best = -1;
  let bestDistance = Infinity;
  eachIn(bars, t - slack, t + slack, (i) => {
    if (bars.first[i]! > node || bars.last[i]! < node) return;
    if (bars.offset && bars.cores[i]! > 0) {
      const core = share * bars.coresPerNode;
      if (core < bars.offset[i]! || core >= bars.offset[i]! + bars.cores[i]!) return;
    }
    const distance = Math.max(bars.from[i]! - t, t - bars.until[i]!, 0);
    if (distance <= bestDistance) {
      best = i;
      bestDistance = distance;
    }
  });
  return best;
}
