// What became of a job, and why, under each policy.
import type { Bars } from "./bars";
import { details, el, type Child } from "./dom";
import type { RunModel } from "./model";
import type { Resizes } from "./resizes";
import { line } from "./theme";
import { duration, exact, short } from "./units";

const STARTED: Record<string, string> = {
  "in-order": "it was its turn",
  backfilled: "it fitted in before jobs that were ahead of it, and delayed no reservation",
  "shrunk-for": "running jobs were shrunk for it",
  guest: "it could go inside of a running job, as its guest",
  ordered: "an operator ordered it",
  corridor: "it keeps the power in its corridor",
};

const RESIZED: Record<string, string> = {
  "shrunk-for": "its nodes went to",
  "dependency-expand": "so that this one can start earlier:",
  "hand-out": "nobody waited for these nodes",
  evolving: "the application asked for it",
  corridor: "to keep the power in its corridor",
  ordered: "an operator ordered it",
  draining: "to leave nodes that drain",
  booked: "to leave nodes that are booked",
  guest: "cores of its nodes went to a guest, or came back:",
  fairness: "more would delay others too much",
};

const STATES: Record<string, string> = {
  COMPLETED_SUCCESSFULLY: "completed",
  COMPLETED: "completed",
  COMPLETED_FAILED: "failed",
  COMPLETED_WALLTIME_REACHED: "killed at its limit",
  TIMEOUT: "killed at its limit",
  COMPLETED_KILLED: "killed",
  CANCELLED: "cancelled",
  REJECTED: "rejected: never ran",
  NODE_FAIL: "lost a node",
};

const MOST_EVENTS = 14;

export type OpenJob = (job: number) => void;

function jobLink(run: RunModel, row: number, open: OpenJob): HTMLElement {
  const job = run.workload.job[row]!;
  return el("button", { type: "button", class: "link", onclick: () => open(job) }, `job ${job}`);
}

const time = (t: number) => `${exact(t)} s`;

function nodesText(bars: Bars, places: number[]): string {
  const parts = places.map((i) =>
    bars.first[i] === bars.last[i] ? `${bars.first[i]}` : `${bars.first[i]}–${bars.last[i]}`,
  );
  return parts.length > 6 ? `${parts.slice(0, 6).join(", ")} and more` : parts.join(", ");
}

interface Held {
  from: number;
  until: number;
  size: number;
  places: number[]; // of its bars
}

/** What a job held, one entry for each time that it changed. */
function held(bars: Bars, row: number): Held[] {
  const list: Held[] = [];
  for (let k = bars.jobStart[row]!; k < bars.jobStart[row + 1]!; k++) {
    const i = bars.ofJob[k]!;
    const last = list[list.length - 1];
    if (last && last.from === bars.from[i]!) last.places.push(i);
    else
      list.push({ from: bars.from[i]!, until: bars.until[i]!, size: bars.size[i]!, places: [i] });
  }
  return list;
}

/** Rows of other jobs that shared nodes with this one. */
function mates(bars: Bars, row: number): { guests: Set<number>; hosts: Set<number> } {
  const guests = new Set<number>();
  const hosts = new Set<number>();
  if (!bars.offset) return { guests, hosts };
  for (const entry of held(bars, row)) {
    for (const i of entry.places) {
      if (bars.cores[i] === 0) continue;
      // Sorted by their beginning: those after its end are all behind.
      for (let k = 0; k < bars.rows && bars.from[k]! < bars.until[i]!; k++) {
        if (bars.cores[k] === 0 || bars.until[k]! <= bars.from[i]! || bars.job[k] === row) continue;
        if (bars.last[k]! < bars.first[i]! || bars.first[k]! > bars.last[i]!) continue;
        if (bars.guest[i] && !bars.guest[k]) hosts.add(bars.job[k]!);
        else if (!bars.guest[i] && bars.guest[k]) guests.add(bars.job[k]!);
      }
    }
  }
  return { guests, hosts };
}

function events(
  run: RunModel,
  bars: Bars | null,
  resizes: Resizes | null,
  row: number,
  open: OpenJob,
): Child[] {
  const start = run.start[row]!;
  const end = run.end[row]!;
  const submit = run.workload.submit[row]!;
  const items: [number, number, Child[]][] = [];
  const add = (t: number, rank: number, ...what: Child[]) => items.push([t, rank, what]);
  const state = run.states[run.state[row]!] ?? "";
  // Of a job that still runs at the end the files have only what it held.
  const isKnown = run.workload.walltime[row]! > 0 || state !== "RUNNING";
  if (isKnown) add(submit, 0, "Submitted.");
  const list = bars ? held(bars, row) : [];
  if (start >= 0) {
    const reason = run.reasons[run.reason[row]!] ?? "";
    const now = list.find((entry) => entry.from === start);
    const nodes = run.startNodes[row]!;
    add(
      start,
      1,
      isKnown
        ? [
            el("strong", {}, `Waited ${duration(start - submit)}`),
            ` (${exact(start - submit)} s), then started`,
          ]
        : "Started (when it was submitted is not known)",
      ` on ${nodes} node${nodes === 1 ? "" : "s"}`,
      bars && now ? ` (${nodesText(bars, now.places)})` : "",
      reason ? ` because ${STARTED[reason] ?? reason}.` : ".",
    );
  }
  if (bars) {
    list.forEach((entry, i) => {
      if (entry.from === start) return;
      const last = list[i - 1];
      const place = entry.places[0]!;
      const reason = bars.reasons[bars.reason[place]!] ?? "";
      const other = bars.forJob[place]!;
      const why: Child[] = [
        reason && `: ${RESIZED[reason] ?? reason}`,
        other >= 0 && [" ", jobLink(run, other, open)],
      ];
      if (!last || last.until < entry.from) {
        // It ended otherwise than well: what the last start says is told of jobs.csv.
        let last = i;
        while (
          list[last + 1] &&
          list[last + 1]!.from === list[last]!.until &&
          list[last + 1]!.from !== start
        )
          last++;
        add(
          entry.from,
          2,
          `Started on ${entry.size} node${entry.size === 1 ? "" : "s"} (${nodesText(bars, entry.places)})`,
          entry.from < start
            ? `, but had to leave them at ${time(list[last]!.until)}.`
            : ", again.",
        );
      } else if (entry.size !== last.size) {
        const grown = entry.size > last.size;
        add(
          entry.from,
          2,
          el("strong", {}, `${grown ? "▲ Grew" : "▼ Shrank"} from ${last.size} to ${entry.size}`),
          ` nodes (${nodesText(bars, entry.places)})`,
          ...why,
          ".",
        );
      } else if (bars.cores[place] !== bars.cores[last.places[0]!]) {
        const cores = bars.cores[place]!;
        add(
          entry.from,
          2,
          cores > 0
            ? `Has ${cores} of ${bars.coresPerNode} cores of its nodes from now on`
            : "Has all cores of its nodes again",
          reason === "guest" &&
            other >= 0 && [cores > 0 ? ", for " : ", after ", jobLink(run, other, open)],
          ".",
        );
      } else {
        add(entry.from, 2, `Moved to nodes ${nodesText(bars, entry.places)}`, ...why, ".");
      }
    });
    const { guests, hosts } = mates(bars, row);
    const names = (rows: Set<number>) =>
      [...rows].slice(0, 8).map((r, i) => [i > 0 && ", ", jobLink(run, r, open)]);
    if (hosts.size > 0)
      add(
        start,
        3,
        "Guest on nodes of ",
        names(hosts),
        hosts.size > 8 && ` and ${hosts.size - 8} more`,
        ".",
      );
    if (guests.size > 0)
      add(
        start,
        3,
        "Shared its nodes with ",
        names(guests),
        guests.size > 8 && ` and ${guests.size - 8} more`,
        ".",
      );
  }
  for (const i of resizes?.isOrdered ? resizes.ofJob(row) : []) {
    const outcome = resizes!.outcomes[resizes!.outcome[i]!] ?? "";
    if (outcome === "done" && list.length > 0) continue; // told above
    const reason = resizes!.reasons[resizes!.reason[i]!] ?? "";
    add(
      resizes!.at[i]!,
      2,
      `Was to have ${resizes!.ordered[i]} nodes instead of ${resizes!.before[i]} (${RESIZED[reason] ?? reason}): ${outcome}.`,
    );
  }
  if (end >= 0) {
    const ran = end - Math.max(start, 0);
    const nodes = run.endNodes[row]!;
    add(
      end,
      9,
      el("strong", {}, `${capital(STATES[state] ?? state.toLowerCase())}`),
      start >= 0
        ? ` after ${duration(ran)} (${exact(ran)} s) on ${nodes} node${nodes === 1 ? "" : "s"} at last; turnaround ${duration(end - submit)} (${exact(end - submit)} s), ${short((end - submit) / Math.max(ran, 1e-6))} times its run time.`
        : ".",
    );
  } else if (start < 0) {
    add(
      Math.max(submit, 0),
      9,
      el("strong", {}, STATES[state] ? capital(STATES[state]!) : "Never ran."),
    );
  }
  items.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const lines = items.map(([t, , what]) =>
    el("li", {}, el("time", {}, time(t)), el("span", {}, what)),
  );
  if (lines.length <= MOST_EVENTS) return lines;
  // A job that was resized often: how it began and how it ended, the others on request.
  const rest = lines.slice(MOST_EVENTS - 3, -2);
  return [
    ...lines.slice(0, MOST_EVENTS - 3),
    el("li", {}, details(`${rest.length} more`, el("ol", {}, rest))),
    ...lines.slice(-2),
  ];
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export interface Story {
  element: HTMLElement;
  /** False where no run has such a job. */
  show(job: number): boolean;
}

export function storyPanel(
  runs: RunModel[],
  bars: (Bars | null)[],
  resizes: (Resizes | null)[],
  open: OpenJob,
  close: () => void,
): Story {
  const element = el("div", {
    id: "story",
    class: "story",
    tabindex: -1,
    hidden: true,
    role: "region",
    "aria-label": "The story of a job",
  });
  return {
    element,
    show: (job) => {
      const there = runs.filter((run) => run.workload.row(job) !== undefined);
      element.hidden = false;
      if (there.length === 0) {
        element.replaceChildren(
          el("p", { role: "status" }, `There is no job ${job} in these runs.`),
        );
        return false;
      }
      const first = there[0]!;
      const { workload } = first;
      const row = workload.row(job)!;
      const neighbour = (by: number, text: string) => {
        const other = row + by;
        if (other < 0 || other >= workload.jobs) return null;
        return el("button", { type: "button", onclick: () => open(workload.job[other]!) }, text);
      };
      element.replaceChildren(
        el(
          "div",
          { class: "story-head" },
          el("h3", {}, `Job ${job}`),
          el(
            "p",
            {},
            workload.walltime[row] === 0
              ? "It still ran at the end: only what it held is known."
              : `${capital(workload.types[workload.type[row]!]!)}, user ${workload.user[row]}, asked for ${workload.size[row]} node${workload.size[row] === 1 ? "" : "s"} for ${duration(workload.walltime[row]!)}; submitted at ${time(workload.submit[row]!)}.`,
          ),
          el(
            "div",
            { class: "buttons" },
            neighbour(-1, "◀ submitted before"),
            neighbour(1, "submitted after ▶"),
            el(
              "button",
              {
                type: "button",
                onclick: () => {
                  element.hidden = true;
                  close();
                },
              },
              "Close",
            ),
          ),
        ),
        el(
          "div",
          { class: "grid stories" },
          there.map((run) =>
            el(
              "article",
              {
                "data-policy": run.name,
                style: `border-top-color: var(--${line(run.index).stroke})`,
              },
              el("h4", {}, run.name),
              el(
                "ol",
                {},
                events(
                  run,
                  bars[run.index] ?? null,
                  resizes[run.index] ?? null,
                  run.workload.row(job)!,
                  open,
                ),
              ),
            ),
          ),
        ),
      );
      element.focus({ preventScroll: true });
      element.scrollIntoView({ block: "nearest" });
      return true;
    },
  };
}
