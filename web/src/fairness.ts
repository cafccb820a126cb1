// Which users gain and which lose, against the baseline.
import type { Comparison } from "./data";
import { details, el, scroller, select, valueTable, type Child } from "./dom";
import { MEASURES, value, type Measure, type RunModel } from "./model";
import { duration, short, signed } from "./units";

const SHOWN = 8;

interface Means {
  jobs: number;
  mean: number;
}

function byUser(run: RunModel, measure: Measure): Map<number, Means> {
  const users = new Map<number, Means>();
  for (let row = 0; row < run.workload.jobs; row++) {
    const v = value(run, row, measure);
    if (Number.isNaN(v)) continue;
    const user = run.workload.user[row]!;
    const its = users.get(user);
    if (its) {
      its.jobs++;
      its.mean += (v - its.mean) / its.jobs;
    } else {
      users.set(user, { jobs: 1, mean: v });
    }
  }
  return users;
}

/** Of Jain: 1 if all users have the same mean, 1/n if one has it all. */
function jain(users: Map<number, Means>): number {
  let [sum, squares] = [0, 0];
  for (const { mean } of users.values()) {
    sum += mean;
    squares += mean * mean;
  }
  return squares === 0 ? 1 : (sum * sum) / (users.size * squares);
}

interface Row {
  user: string;
  jobs: number;
  before: number;
  after: number;
  /** Of the difference; null: not known. */
  low: number | null;
  high: number | null;
  total: number; // of all its jobs
}

/** Of all seeds, from the comparison, where it compares these; else of the seed that is drawn. */
function rowsOf(
  run: RunModel,
  baseline: RunModel,
  measure: Measure,
  comparison: Comparison | null,
): Row[] {
  const effects =
    comparison?.baseline === baseline.drawn.group &&
    (measure === "wait" || measure === "turnaround")
      ? comparison.users.filter((effect) => effect.group === run.drawn.group)
      : [];
  const rows: Row[] = [];
  for (const effect of effects) {
    const [before, after, , low, high] = effect[measure as "wait" | "turnaround"];
    if (before === null || after === null) continue;
    const total = (after - before) * effect.jobs;
    rows.push({ user: effect.user, jobs: effect.jobs, before, after, low, high, total });
  }
  if (rows.length === 0) {
    const after = byUser(run, measure);
    for (const [user, { jobs, mean }] of byUser(baseline, measure)) {
      const its = after.get(user);
      if (!its) continue;
      const total = (its.mean - mean) * jobs;
      rows.push({
        user: String(user),
        jobs,
        before: mean,
        after: its.mean,
        low: null,
        high: null,
        total,
      });
    }
  }
  return rows.sort((a, b) => a.total - b.total);
}

/** The sign of what is clear: its interval excludes 0. */
const clearly = (row: Row) =>
  row.low === null || row.high === null ? 0 : row.high < 0 ? -1 : row.low > 0 ? 1 : 0;

/** Of one policy alone: without what it was before. */
function bars(title: string, rows: Row[], measure: Measure, isAlone = false): HTMLElement {
  const text = (v: number) => (MEASURES[measure].unit === "s" ? duration(v) : short(v));
  const most = Math.max(1e-9, ...rows.flatMap((row) => [row.before, row.after]));
  const bar = (v: number, kind: string) =>
    el("i", { class: `bar ${kind}`, style: `width: ${((100 * v) / most).toFixed(2)}%` });
  const isTime = MEASURES[measure].unit === "s";
  const change = (v: number) => (isTime ? signed(v) : `${v > 0 ? "+" : ""}${short(v)}`);
  const hasIntervals = rows.some((row) => row.low !== null);
  const heads = ["user", "jobs", ...(isAlone ? ["mean"] : ["from", "to", "difference"])];
  if (hasIntervals) heads.push("95\u00a0% interval");
  const sign = (row: Row) => ["better", "open", "worse"][clearly(row) + 1]!;
  return el(
    "table",
    { class: "users" },
    el("caption", {}, title),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        heads.map((h) => el("th", { scope: "col" }, h)),
        el("th", { scope: "col" }, el("span", { class: "unseen" }, "picture")),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map((row) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, row.user),
          el("td", {}, row.jobs),
          !isAlone && el("td", {}, text(row.before)),
          el("td", {}, text(row.after)),
          !isAlone &&
            el(
              "td",
              {},
              hasIntervals && el("i", { class: `sign ${sign(row)}`, "aria-hidden": "true" }),
              change(row.after - row.before),
              clearly(row) !== 0 && el("span", { class: "unseen" }, ", clearly"),
            ),
          hasIntervals &&
            el(
              "td",
              { class: "soft" },
              row.low === null ? "–" : `${change(row.low)} to ${change(row.high!)}`,
            ),
          el(
            "td",
            { class: "bars", "aria-hidden": "true" },
            !isAlone && bar(row.before, "before"),
            bar(row.after, row.after > row.before ? "worse" : "better"),
          ),
        ),
      ),
    ),
  );
}

/** `best`: the policy that is shown at first; -1: any. */
export function fairness(
  runs: RunModel[],
  first: number,
  best: number,
  comparison: Comparison | null,
): HTMLElement | null {
  const base = runs[first]!;
  if (byUser(base, "wait").size < 2) return null;
  let measure: Measure = "wait";
  let baseline = first;
  let chosen =
    best >= 0 && best !== first ? best : (runs.find((run) => run.index !== first)?.index ?? first);
  const box = el("div", {});
  const draw = () => {
    const before = byUser(runs[baseline]!, measure);
    const rows = rowsOf(runs[chosen]!, runs[baseline]!, measure, comparison);
    const gain = rows.filter((row) => row.after < row.before);
    const lose = rows.filter((row) => row.after > row.before).reverse();
    const clear = (list: Row[]) => {
      const n = list.filter((row) => clearly(row) !== 0).length;
      return list.some((row) => row.low !== null) ? ` (${n} clearly)` : "";
    };
    const text = (v: number) => (MEASURES[measure].unit === "s" ? duration(v) : short(v));
    const parts: Child[] = [];
    if (baseline !== chosen) {
      parts.push(
        el(
          "p",
          {},
          `Of ${rows.length} users ${gain.length}${clear(gain)} have a lower mean ${MEASURES[measure].title} under `,
          el("strong", {}, runs[chosen]!.name),
          ` than under `,
          el("strong", {}, runs[baseline]!.name),
          `, ${lose.length}${clear(lose)} a higher one. `,
          el(
            "span",
            { class: "soft" },
            rows.some((row) => row.low !== null)
              ? "Clearly: the 95\u00a0% interval of the difference excludes 0."
              : comparison?.baseline === runs[baseline]!.drawn.group && measure !== "slowdown"
                ? "Nobody has jobs enough for an interval."
                : "",
          ),
        ),
      );
      parts.push(
        el(
          "div",
          { class: rows.some((row) => row.low !== null) ? "grid wider" : "grid wide" },
          gain.length > 0 &&
            bars("Those whose jobs gain most together", gain.slice(0, SHOWN), measure),
          lose.length > 0 &&
            bars("Those whose jobs lose most together", lose.slice(0, SHOWN), measure),
        ),
        index,
      );
    } else {
      const highest = [...rows].sort((a, b) => b.after - a.after).slice(0, SHOWN);
      parts.push(
        el(
          "div",
          { class: "grid" },
          bars(`Those with the highest mean ${MEASURES[measure].title}`, highest, measure, true),
          index,
        ),
      );
    }
    parts.push(
      details(
        "All users",
        scroller(
          "All users",
          valueTable(
            `Mean ${MEASURES[measure].title} by user`,
            ["user", "jobs", ...runs.map((run) => run.name)],
            [...before]
              .sort((a, b) => b[1].jobs - a[1].jobs)
              .map(([user, { jobs }]) => [
                String(user),
                String(jobs),
                ...runs.map((run) => {
                  const its = tables.get(run)!.get(user);
                  return its ? text(its.mean) : "–";
                }),
              ]),
          ),
        ),
      ),
    );
    box.replaceChildren(...(parts as Node[]));
  };
  let tables = new Map<RunModel, Map<number, Means>>();
  const measured = () => {
    tables = new Map(runs.map((run) => [run, byUser(run, measure)]));
    index.replaceChildren(
      valueTable(
        `How even users fare: Jain's index of ${MEASURES[measure].title}, 1 if all have the same`,
        ["policy", "index", "users"],
        runs.map((run) => [
          run.name,
          jain(tables.get(run)!).toFixed(3),
          String(tables.get(run)!.size),
        ]),
      ),
    );
    draw();
  };
  const index = el("div", { class: "even" });
  measured();
  const names = runs.map((run, i): [string, string] => [String(i), run.name]);
  return el(
    "section",
    { id: "users" },
    el("h2", {}, "Users"),
    el(
      "div",
      { class: "toolbar" },
      select(
        "Mean",
        (["wait", "slowdown", "turnaround"] as Measure[]).map((m) => [m, MEASURES[m].title]),
        measure,
        (v) => {
          measure = v as Measure;
          measured();
        },
      ),
      runs.length > 1 &&
        select("under", names, String(chosen), (v) => {
          chosen = Number(v);
          draw();
        }),
      runs.length > 1 &&
        select("against", names, String(baseline), (v) => {
          baseline = Number(v);
          draw();
        }),
    ),
    box,
  );
}
