// What a page is given to draw: `html_page` (src/report/page.cpp) writes it as JSON into the page,
// in the element #data. Times are in seconds where a name ends in `_s`; columns of packed tables say
// what they are in.

/** Rows of whole numbers, packed: docs/architecture.md, "The page". */
export interface Packed {
  rows: number;
  columns: string[];
  /**
   * Words that columns have numbers for: of column `reason` with `words.reason = ["in-order",
   * "backfilled"]` the number 1 is "backfilled".
   */
  words: Record<string, string[]>;
  /**
   * Base64 of zlib's format of all columns, one after the other. In a column each value is the
   * difference from the one above it (the first from 0), as a zigzag number (0, -1, 1, -2, ... are
   * 0, 1, 2, 3, ...), seven bits a byte, the lowest first, the highest bit set in all but the last.
   * Differences may have 53 bits: no bit operations of 32.
   */
  data: string;
}

/** A figure of the main table. */
export interface Column {
  key: string; // of summary.json, where it is one of its figures as it is; else a name of its own
  title: string;
  unit: string; // "s", "%", "" ...
  decimals: number;
  better: "less" | "more" | ""; // which values are better, where any are
}

/** One run: a policy on the workload of a seed. */
export interface Run {
  policy: string;
  seed: number;
  folder: string; // where its files are, as seen from the page; "": beside it
  files: string[]; // that are there
  values: (number | null)[]; // of the columns
  /** Of the first runs only: summary.json, whole. `run` in it says what was run. */
  figures?: Record<string, unknown>;
}

/** The runs of one policy: a line of the table, in order. */
export interface Group {
  policy: string;
  runs: number[]; // places in `runs`
  /** Of each column the mean over its runs and half the width of its 95 % interval (null: one run). */
  means: [number | null, number | null][];
}

/** What is drawn of one run of a policy, that of the first seed. */
export interface Drawn {
  group: number;
  run: number;
  nodes: number;
  makespan_s: number;
  /** Figures are of the jobs that were submitted in that time (null: from the beginning, to the end). */
  measured?: { from_s: number | null; until_s: number | null };
  /**
   * Columns job, submit, size (asked for), walltime, user, type, and where they are known runtime
   * (static run time: at the size asked for). By job. Times here and below are in microseconds from
   * the zero of submit times. Place in `workloads`.
   */
  workload: number;
  /** A row for each row of `workload`; columns start, end (-1: never ran), reason, state, start_nodes, end_nodes, held_back (so long other jobs that it depends on kept it back: it did not wait for nodes). */
  jobs: Packed;
  /**
   * What jobs held: a row for each job, time and interval of nodes, by time. Columns job (row in
   * `workload`), from, until, first, last (nodes), size (of the job on all its nodes), reason (why it
   * has had this since `from`), for (row in `workload` of the job that profits; -1: none), and on
   * nodes that it shares cores (of each, that it has; 0: they are its own), guest (1: another job
   * was there before it). No rows: nodes were not told apart.
   */
  allocations: Packed;
  cores_per_node: number; // 0: they differ
  /**
   * Resizes that were ordered, by time. Columns at, until (its answer), job (row in `workload`), before,
   * ordered, after (size), reason, for (as above), outcome (words: done, partly, refused, lost),
   * first_size (of the job, at its last start), cost (nodes times microseconds; -1: not known).
   */
  resizes?: Packed;
  /** Columns at, held, idle, claimed, out (of service), pending, running, adaptive, and where there is any power, power_cap (mW; -1: none). A row holds until the next one. */
  series?: Packed;
  /** Of power: from `at_s` on; null: none. */
  corridor?: { at_s: number; low_w: number | null; high_w: number | null }[];
  /** Times in which nothing may run on nodes but what has the reservation. */
  reservations?: { name: string; from_s: number; until_s: number; first: number; last: number }[];
  /** Nodes that were out of service. */
  outages?: { from_s: number; until_s: number; first: number; last: number; state: string }[];
  /** Who of a portfolio ruled, and why from then on. */
  choices?: {
    at_s: number;
    ruled: string;
    rules: string;
    occasion: string;
    scores: [string, number][];
  }[];
}

/** One policy against the baseline, in one figure. */
export interface Difference {
  group: number;
  key: string; // of a Column
  pairs: number; // of runs, or of jobs; 0: the runs have nothing in common
  baseline: number; // means
  value: number;
  difference: number; // value - baseline, with its 95 % interval (null: not known)
  low: number | null;
  high: number | null;
  ratio: number | null; // value / baseline, with its 95 % interval (null: the baseline is 0)
  ratio_low: number | null;
  ratio_high: number | null;
  p: number | null; // of no difference, corrected for the number of comparisons
  verdict: "better" | "worse" | "open" | "same"; // same: in all runs
}

/** Baseline, value, difference, its interval, ratio, its interval; null: not known. Seconds. */
export type Paired = [
  baseline: number | null,
  value: number | null,
  difference: number | null,
  low: number | null,
  high: number | null,
  ratio: number | null,
  ratio_low: number | null,
  ratio_high: number | null,
];

/** One policy against the baseline, in the means of a part of the jobs of all seeds. */
export interface Effect {
  group: number;
  jobs: number;
  wait: Paired;
  turnaround: Paired;
}

/** Classes of values: each but the last ends at a bound, which is in it. */
export interface Edges {
  bounds: number[];
  names: string[]; // one more
}

export interface Comparison {
  baseline: number; // group
  main: string | null; // key of the figure that decides what is better
  method: string; // a sentence: how the intervals were made
  rows: Difference[];
  /** By places in `classes` of the page. */
  classes: (Effect & { size: number; runtime: number })[];
  /** Those first whose jobs gain or lose most time together. */
  users: (Effect & { user: string })[];
}

export interface PageData {
  title: string;
  workload: string; // its name
  notes: string[]; // sentences that a reader must not miss (runs that were stopped, jobs killed by resizes)
  columns: Column[];
  runs: Run[];
  groups: Group[];
  /** By size asked for, and by run time in seconds: static, or where it is not known that of the baseline. */
  classes: { sizes: Edges; runtimes: Edges };
  workloads: Packed[];
  drawn: Drawn[]; // one for each group that has files
  comparison: Comparison | null;
}
