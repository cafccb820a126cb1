// The controller by HTTP, as docs/formats/http.md says it: what it answers, and its stream of events.

export interface Job {
  job: number;
  array_job: number | null;
  array_task: number | null;
  name: string;
  user: string;
  state: string;
  reason: string;
  type: string;
  nodes: number;
  min_nodes: number;
  max_nodes: number;
  nodelist: string;
  submit_s: number;
  start_s: number | null;
  elapsed_s: number;
  time_limit_s: number;
  resizes: number;
  note: string;
}
export interface WaitingJob extends Job {
  predicted_nodes: number | null;
  predicted_start_s: number | null;
  planned: boolean;
}
export interface Node {
  node: number;
  state: string;
  cores: number;
  job: number | null;
  reason: string | null;
}
export interface Cluster {
  now_s: number;
  policy: string;
  lost_since_s: number | null;
  lacks: string | null;
  can_see_journal: boolean;
  nodes: { total: number; idle: number; allocated: number; other: number };
  jobs: { running: number; waiting: number };
}
export interface Allocation {
  job: number;
  name: string;
  user: string;
  type: string;
  state: string;
  nodelist: string;
  from_s: number;
  to_s: number | null;
}
export interface Allocations {
  now_s: number;
  since_s: number;
  allocations: Allocation[];
}
export interface Power {
  cap_w: number | null;
  idle_w: number;
  jobs_w: number;
  drawn_w: number;
  free_w: number | null;
  measured_w: number;
  measured_jobs: unknown[];
  corridor: { low_w: number; high_w: number | null; is_outside: boolean } | null;
  warning?: string;
}
export interface Happening {
  record: number;
  time_s: number;
  job: number | null;
  what: string;
  nodes?: number | null;
  nodelist?: string;
  decision?: string;
  reason?: string;
  state?: string;
  health?: string;
  policy?: string;
  paused_s?: number;
}
export interface Explained {
  time_s: number;
  what: string;
  text: string;
}
export interface Why {
  job: number;
  asked: string;
  state: string;
  history: Explained[];
  now?: Explained[];
}

/** What is wrong, and what to do. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    what: string,
    readonly remedy: string,
  ) {
    super(what);
  }
}

export class Live {
  private last = "";

  constructor(private readonly token: string) {}

  private async ask(path: string, more: Record<string, string>, signal?: AbortSignal) {
    const response = await fetch(`/api/v1${path}`, {
      headers: { Authorization: `Bearer ${this.token}`, ...more },
      cache: "no-store",
      signal,
    });
    if (response.ok) return response;
    const said = (await response.json().catch(() => ({}))) as { error?: string; remedy?: string };
    throw new Refused(response.status, said.error ?? response.statusText, said.remedy ?? "");
  }

  async get<T>(path: string): Promise<T> {
    return (await (await this.ask(path, {})).json()) as T;
  }

  /** All events from now on, until the stream ends; called again it goes on behind the last one. */
  async listen(
    signal: AbortSignal,
    heard: (event: Happening) => void,
    open: () => void,
    reset: () => void,
  ) {
    const response = await this.ask(
      "/events",
      this.last ? { "Last-Event-ID": this.last } : {},
      signal,
    );
    open();
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let come = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      come += decoder.decode(value, { stream: true });
      for (let end = come.indexOf("\n\n"); end >= 0; end = come.indexOf("\n\n")) {
        const event = parseEvent(come.slice(0, end));
        come = come.slice(end + 2);
        if (event.id) this.last = event.id;
        if (event.kind === "reset") reset();
        if (event.data && !event.kind) heard(JSON.parse(event.data) as Happening);
      }
    }
  }
}

/** One event of a stream, without the empty line behind it. */
export function parseEvent(text: string): { id: string; kind: string; data: string } {
  const event = { id: "", kind: "", data: "" };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon <= 0) continue;
    const [name, value] = [line.slice(0, colon), line.slice(colon + 2)];
    if (name === "id") event.id = value;
    if (name === "event") event.kind = value;
    if (name === "data") event.data += value;
  }
  return event;
}

/** "0-3 7": the first and the last one of each row of neighbours. */
export function parts(nodelist: string): [number, number][] {
  return nodelist
    .split(/[ ,]+/)
    .filter((text) => text !== "")
    .map((text) => {
      const [first, last] = text.split("-").map(Number);
      return [first!, last ?? first!];
    });
}

/** Which nodes were out of service from when to when, of rows with the newest first. */
export function outages(
  rows: Happening[],
  begin_s: number,
  now_s: number,
): { first: number; last: number; from_s: number; to_s: number }[] {
  const since = new Map<number, number>();
  const found: { first: number; last: number; from_s: number; to_s: number }[] = [];
  const end = (node: number, to_s: number) => {
    const from_s = Math.max(since.get(node)!, begin_s);
    since.delete(node);
    if (to_s <= from_s) return;
    const before = found[found.length - 1];
    if (before && before.last === node - 1 && before.from_s === from_s && before.to_s === to_s)
      before.last = node;
    else found.push({ first: node, last: node, from_s, to_s });
  };
  for (const row of [...rows].reverse()) {
    for (const [first, last] of parts(row.nodelist ?? "")) {
      for (let node = first; node <= last; node++) {
        const isOut = row.health === "down" || row.health === "off";
        if (isOut && !since.has(node)) since.set(node, row.time_s);
        if (!isOut && since.has(node)) end(node, row.time_s);
      }
    }
  }
  for (const node of [...since.keys()].sort((a, b) => a - b)) end(node, now_s);
  return found;
}
