// The dashboard of a controller: what is and what was in the last hours, drawn anew whenever
// something happens. It asks /api/v1 and knows no more than that says.
import { append, details, el, onWidth, select, svg, type Child } from "./dom";
import {
  Live,
  Refused,
  type Allocations,
  type Cluster,
  type Happening,
  type Job,
  type Node,
  type Power,
  type WaitingJob,
  type Why,
} from "./live";
import { clock, NodesChart } from "./nodes";
import { themeButton } from "./theme";
import { fixed } from "./units";

const KEY = "ductile-token";
const PAUSE_MS = 1000; // from one look to the next, when much happens
const SILENCE_MS = 10000; // and when nothing does
const MOST_ROWS = 200;
const MOST_EVENTS = 100;

const page = document.getElementById("page")!;

interface Page {
  rows: Happening[];
}

function kept(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

function keep(token: string): void {
  try {
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
  } catch {
    // It has to be typed again then.
  }
}

function span(value_s: number): string {
  const s = Math.max(0, Math.round(value_s));
  const two = (n: number) => String(n).padStart(2, "0");
  const days = Math.floor(s / 86400);
  const time = `${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  return days > 0 ? `${days} d ${time}` : time.replace(/^00:/, "");
}

function day(time_s: number, now_s: number): string {
  const date = new Date(time_s * 1000);
  const isToday = date.toDateString() === new Date(now_s * 1000).toDateString();
  return isToday
    ? clock(time_s, true)
    : `${date.toLocaleDateString([], { month: "short", day: "numeric" })} ${clock(time_s)}`;
}

const watts = (value: number) =>
  value >= 20000 ? `${fixed(value / 1000, 1)} kW` : `${fixed(value, 0)} W`;

/** 12, or 12_3: as the controller is asked for it, and people call it. */
function nameOf(job: Job): string {
  return job.array_job === null ? String(job.job) : `${job.array_job}_${job.array_task}`;
}

/** A table whose rows stand below one another, with their names, where there is little room. */
class Rows {
  readonly element: HTMLElement;
  private readonly body = el("tbody", { role: "rowgroup" });
  private readonly none: HTMLElement;
  private readonly table: HTMLElement;
  private before = "";

  constructor(
    caption: string,
    private readonly head: string[],
    none: string,
  ) {
    this.none = el("p", { class: "soft" }, none);
    this.table = el(
      "table",
      { class: "rows", role: "table" },
      el("caption", { class: "unseen" }, caption),
      el(
        "thead",
        { role: "rowgroup" },
        el(
          "tr",
          { role: "row" },
          head.map((text) => el("th", { scope: "col", role: "columnheader" }, text)),
        ),
      ),
      this.body,
    );
    this.element = el("div", {}, this.none, this.table);
  }

  /** `key`: two of the same are equal; then nothing is touched, nor the place of the keyboard lost. */
  show(rows: { key: string; cells: () => Child[] }[]): void {
    this.none.hidden = rows.length > 0;
    this.table.hidden = rows.length === 0;
    const key = rows.map((row) => row.key).join("\n");
    if (key === this.before) return;
    this.before = key;
    const active = (document.activeElement as HTMLElement | null)?.dataset?.job;
    const had = active !== undefined && this.body.contains(document.activeElement);
    this.body.replaceChildren(
      ...rows.map((row) =>
        el(
          "tr",
          { role: "row" },
          row.cells().map((cell, i) => el("td", { role: "cell", "data-name": this.head[i] }, cell)),
        ),
      ),
    );
    if (had) this.body.querySelector<HTMLElement>(`[data-job="${active}"]`)?.focus();
  }
}

/** What was drawn while this page looked. */
class PowerLine {
  readonly element = el("div", { class: "svg-box" });
  private readonly samples: { time_s: number; power: Power }[] = [];
  private width = 0;

  constructor() {
    onWidth(this.element, (width) => {
      this.width = width;
      this.draw();
    });
  }

  add(time_s: number, power: Power): void {
    if (this.samples[this.samples.length - 1]?.time_s === time_s) this.samples.pop();
    this.samples.push({ time_s, power });
    if (this.samples.length > 2000) this.samples.splice(0, 1000);
    this.draw();
  }

  private draw(): void {
    if (this.samples.length < 2 || this.width < 80) return;
    const height = 110;
    const left = 62;
    const first = this.samples[0]!.time_s;
    const last = this.samples[this.samples.length - 1]!;
    const bound = last.power.corridor?.high_w ?? last.power.cap_w;
    const top = 1.08 * Math.max(1, bound ?? 0, ...this.samples.map((its) => its.power.drawn_w));
    const x = (t: number) => left + ((t - first) / (last.time_s - first)) * (this.width - left - 8);
    const y = (w: number) => height - (w / top) * (height - 14);
    let path = "";
    for (const { time_s, power } of this.samples)
      path += path
        ? `H${x(time_s).toFixed(1)}V${y(power.drawn_w).toFixed(1)}`
        : `M${x(time_s).toFixed(1)} ${y(power.drawn_w).toFixed(1)}`;
    const line = (w: number, kind: string, name: string) => [
      svg("line", { x1: left, x2: this.width - 8, y1: y(w), y2: y(w), class: kind }),
      svg("text", { x: left - 6, y: y(w) + 4, "text-anchor": "end", class: "tick" }, name),
    ];
    const picture = svg(
      "svg",
      {
        width: this.width,
        height: height + 20,
        role: "img",
        "aria-label": `Power since ${clock(first, true)}: now ${watts(last.power.drawn_w)}`,
      },
      line(0, "grid", "0 W"),
      bound ? line(bound, "bound", watts(bound)) : null,
      svg("path", { d: path, class: "power-line" }),
      svg("text", { x: left, y: height + 15, class: "tick" }, clock(first, true)),
      this.width > 260
        ? svg(
            "text",
            { x: this.width - 8, y: height + 15, "text-anchor": "end", class: "tick" },
            clock(last.time_s, true),
          )
        : null,
    );
    this.element.replaceChildren(picture);
  }
}

function sentence(event: Happening): string {
  const nodes = (count: number | null | undefined) => `${count} node${count === 1 ? "" : "s"}`;
  const on = event.nodelist ? ` (${event.nodelist})` : "";
  switch (event.what) {
    case "submitted":
      return `submitted, ${nodes(event.nodes)}`;
    case "started":
      return event.nodelist ? `started on ${nodes(event.nodes)}${on}` : "started";
    case "resized":
      return `has ${nodes(event.nodes)} now${on}`;
    case "ended":
      return `ended: ${event.state}`;
    case "nodes":
      return `nodes ${event.nodelist}: ${event.health}`;
    case "policy":
      return `the policy is ${event.policy}`;
    case "decision":
      return event.decision === "resize"
        ? `is to have ${nodes(event.nodes)}${on}: ${event.reason}`
        : `decided: ${event.decision}${event.nodes ? ` on ${nodes(event.nodes)}${on}` : ""}`;
    default:
      return event.what;
  }
}

function isResize(event: Happening): boolean {
  return event.what === "resized" || (event.what === "decision" && event.decision === "resize");
}

class Dashboard {
  private readonly live: Live;
  private readonly ended = new AbortController();
  private readonly status = el("p", { class: "status", role: "status" }, "Asking …");
  private readonly subtitle = el("p", { class: "soft" });
  private readonly figures = el("dl", { class: "cards" });
  private readonly chart = new NodesChart((job) => this.open(String(job)));
  private readonly nodeRows = new Rows(
    "Nodes as they are now",
    ["Node", "State", "Cores", "Job", "Why"],
    "There are no nodes.",
  );
  private readonly running = new Rows(
    "Jobs that run",
    ["Job", "Name", "User", "Type", "State", "Nodes", "On", "Time", "Limit", "Resizes"],
    "No job runs.",
  );
  private readonly waiting = new Rows(
    "Jobs that wait, in their order",
    ["Job", "Name", "User", "Nodes", "Waits for", "Start as believed", "Reason"],
    "No job waits.",
  );
  private readonly resizes = new Rows(
    "Resizes, the newest first",
    ["Time", "Job", "What"],
    "There were none.",
  );
  private readonly happened = new Rows(
    "What happened, the newest first",
    ["Time", "Job", "What"],
    "Nothing has happened.",
  );
  private readonly more = el("p", { class: "soft" });
  private readonly moreWaiting = el("p", { class: "soft" });
  private readonly power = el("dl", { class: "cards" });
  private readonly powerWarning = el("p", { class: "notes", hidden: true });
  private readonly powerLine = new PowerLine();
  private readonly story = el("section", { id: "job", tabindex: -1, hidden: true });
  private opener: HTMLElement | null = null;
  private hours = "6";
  private events: Happening[] = [];
  private lately: Happening[] = [];
  private now_s = 0;
  private isLooking = false;
  private wants = false;
  private timer = 0;
  private isHeard = false;
  private isKnown = false; // what happened before

  constructor(
    token: string,
    private readonly refused: (why: string) => void,
  ) {
    this.live = new Live(token);
    const section = (id: string, title: string, ...children: Child[]) =>
      el("section", { id }, el("h2", {}, title), children);
    const sections = [
      section(
        "nodes",
        "Nodes",
        el(
          "div",
          { class: "toolbar" },
          select(
            "The last",
            ["0.25", "1", "3", "6", "12", "24", "72"].map((h) => [
              h,
              h === "0.25" ? "15 minutes" : h === "1" ? "hour" : `${h} hours`,
            ]),
            this.hours,
            (hours) => {
              this.hours = hours;
              this.soon(0);
            },
          ),
        ),
        this.chart.element,
        details("Each node as it is now", this.nodeRows.element),
      ),
      section("queue", "Waiting", this.waiting.element, this.moreWaiting),
      section("running", "Running", this.running.element, this.more),
      section("resizes", "Resizes", this.resizes.element),
      section("power", "Power", this.powerWarning, this.power, this.powerLine.element),
      section("events", "Events", this.happened.element),
    ];
    page.replaceChildren(
      el(
        "header",
        { class: "head" },
        el("div", {}, el("h1", {}, "Ductile"), this.subtitle),
        el(
          "div",
          { class: "buttons" },
          themeButton(),
          el(
            "button",
            { type: "button", class: "quiet", onclick: () => this.refused("") },
            "Forget the token",
          ),
        ),
      ),
      this.status,
      el(
        "nav",
        { "aria-label": "Contents", class: "contents" },
        sections.map((its) =>
          el("a", { href: `#${its.id}` }, its.querySelector("h2")!.textContent),
        ),
      ),
      this.figures,
      this.story,
      ...sections,
    );
    this.listen();
    this.look();
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && !this.ended.signal.aborted) this.soon(0);
    });
  }

  end(): void {
    this.ended.abort();
    clearTimeout(this.timer);
  }

  private soon(pause_ms: number): void {
    if (this.ended.signal.aborted) return;
    if (this.isLooking) {
      this.wants = true;
      return;
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.look(), pause_ms);
  }

  private async look(): Promise<void> {
    this.isLooking = true;
    this.wants = false;
    try {
      const cluster = await this.live.get<Cluster>("/cluster");
      const ofJournal = <T>(path: string, none: T) =>
        cluster.can_see_journal ? this.live.get<T>(path) : Promise.resolve(none);
      const [queue, jobs, nodes, power, allocations, resizes, gone, happened] = await Promise.all([
        this.live.get<{ jobs: WaitingJob[]; next: number | null }>(`/queue?limit=${MOST_ROWS}`),
        this.live.get<{ jobs: Job[]; next: number | null }>(`/jobs?limit=${MOST_ROWS}`),
        this.live.get<{ nodes: Node[] }>("/nodes"),
        this.live.get<Power>("/power"),
        ofJournal<Allocations>(`/allocations?hours=${this.hours}`, {
          now_s: cluster.now_s,
          since_s: cluster.now_s - 3600 * Number(this.hours),
          allocations: [],
        }),
        ofJournal<Page>("/resizes?limit=40", { rows: [] }),
        ofJournal<Page>("/outages?limit=500", { rows: [] }),
        ofJournal<Page>(`/happenings?limit=${this.isKnown ? 1 : MOST_EVENTS}`, { rows: [] }),
      ]);
      if (this.ended.signal.aborted) return;
      this.now_s = cluster.now_s;
      this.showCluster(cluster, power);
      this.chart.show(allocations, nodes.nodes, gone.rows);
      this.showNodes(nodes.nodes);
      this.showJobs(jobs, queue, cluster);
      if (!this.isKnown) this.take(happened.rows);
      this.isKnown = true;
      this.lately = resizes.rows;
      this.showEvents();
      this.showPower(power);
      document.documentElement.dataset.ready = "yes";
      this.say(this.isHeard ? "Live." : "As it was at " + clock(this.now_s, true) + ".");
    } catch (error) {
      this.fail(error);
    }
    this.isLooking = false;
    // A page that nobody sees asks seldom.
    const pause = document.hidden ? 6 * SILENCE_MS : this.wants ? PAUSE_MS : SILENCE_MS;
    this.soon(pause);
  }

  /** They may be known, and come in any order. */
  private take(events: Happening[]): void {
    const known = new Set(this.events.map((its) => its.record));
    this.events = [...events.filter((its) => !known.has(its.record)), ...this.events]
      .sort((a, b) => b.record - a.record)
      .slice(0, MOST_EVENTS);
  }

  private async listen(): Promise<void> {
    for (let pause = 1000; !this.ended.signal.aborted; pause = Math.min(2 * pause, 30000)) {
      try {
        await this.live.listen(
          this.ended.signal,
          (event) => {
            this.take([event]);
            this.showEvents();
            this.soon(PAUSE_MS / 4);
          },
          () => {
            pause = 500;
            this.isHeard = true;
          },
          () => {
            // Another journal, whose records have the same numbers.
            this.events = [];
            this.isKnown = false;
            this.soon(0);
          },
        );
      } catch (error) {
        this.fail(error);
      }
      this.isHeard = false;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  private fail(error: unknown): void {
    if (this.ended.signal.aborted) return;
    if (error instanceof Refused && error.status === 401) return this.refused(error.message);
    const since = this.now_s > 0 ? ` What is shown is of ${day(this.now_s, this.now_s)}.` : "";
    this.say(
      error instanceof Refused
        ? `${error.message}; ${error.remedy}.${since}`
        : `Nobody answers; it is tried again.${since}`,
      true,
    );
  }

  private say(text: string, isBad = false): void {
    this.status.classList.toggle("bad", isBad);
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  private showCluster(its: Cluster, power: Power): void {
    this.subtitle.textContent = `${its.policy}, ${day(its.now_s, its.now_s)}`;
    const trouble = its.lost_since_s
      ? `What runs the jobs is out of reach since ${day(its.lost_since_s, its.now_s)}.`
      : its.lacks
        ? `Nothing is decided: the cluster lacks what the policy needs, ${its.lacks}.`
        : "";
    document.title = `Ductile: ${its.jobs.running} run, ${its.jobs.waiting} wait`;
    const card = (name: string, value: string, small = "") =>
      el(
        "div",
        {},
        el("dt", {}, name),
        el("dd", {}, value, small ? el("small", {}, ` ${small}`) : null),
      );
    const { total, idle, allocated, other } = its.nodes;
    this.figures.replaceChildren(
      card(
        "Nodes in use",
        `${allocated} of ${total}`,
        `${idle} idle${other ? `, ${other} other` : ""}`,
      ),
      card("Running", String(its.jobs.running), "jobs"),
      card("Waiting", String(its.jobs.waiting), "jobs"),
      ...(power.drawn_w > 0
        ? [card("Drawn", watts(power.drawn_w), power.cap_w ? `of ${watts(power.cap_w)}` : "")]
        : []),
      ...(trouble ? [card("Trouble", trouble)] : []),
    );
  }

  private showNodes(nodes: Node[]): void {
    this.nodeRows.show(
      nodes.map((node) => ({
        key: JSON.stringify(node),
        cells: () => [
          node.node,
          node.state,
          node.cores,
          node.job === null ? "" : this.button(String(node.job), `node${node.node}`),
          node.reason ?? "",
        ],
      })),
    );
  }

  private button(job: string, place: string): HTMLElement {
    const button: HTMLElement = el(
      "button",
      {
        type: "button",
        class: "link",
        "data-job": `${place}-${job}`,
        "aria-label": `What became of job ${job}`,
        onclick: () => this.open(job, button),
      },
      job,
    );
    return button;
  }

  private showJobs(
    all: { jobs: Job[]; next: number | null },
    queue: { jobs: WaitingJob[]; next: number | null },
    cluster: Cluster,
  ): void {
    const running = all.jobs.filter((job) => job.state !== "PENDING" && job.state !== "SUSPENDED");
    this.running.show(
      running.map((job) => ({
        key: JSON.stringify(job),
        cells: () => [
          this.button(nameOf(job), "run"),
          job.name,
          job.user,
          job.type,
          job.state.toLowerCase(),
          job.min_nodes < job.max_nodes
            ? `${job.nodes} (${job.min_nodes} to ${job.max_nodes})`
            : job.nodes,
          job.nodelist,
          span(job.elapsed_s),
          span(job.time_limit_s),
          job.resizes,
        ],
      })),
    );
    this.more.textContent =
      running.length < cluster.jobs.running
        ? `These are the first ${running.length} of ${cluster.jobs.running}; ductile queue shows all.`
        : "";
    this.waiting.show(
      queue.jobs.map((job) => ({
        key: JSON.stringify([job, Math.floor(this.now_s / 10)]),
        cells: () => [
          this.button(nameOf(job), "wait"),
          job.name,
          job.user,
          job.nodes,
          span(this.now_s - job.submit_s),
          job.predicted_start_s === null
            ? "not known"
            : `${job.planned ? "about " : ""}${day(job.predicted_start_s, this.now_s)}, in ${span(job.predicted_start_s - this.now_s)}`,
          [job.reason, job.note ? `: ${job.note}` : ""],
        ],
      })),
    );
    this.moreWaiting.textContent =
      queue.next !== null
        ? `These are the first ${queue.jobs.length} of ${cluster.jobs.waiting}; ductile queue shows all.`
        : "";
  }

  private showEvents(): void {
    const row = (event: Happening, place: string) => ({
      key: String(event.record),
      cells: () => [
        day(event.time_s, this.now_s || event.time_s),
        event.job === null ? "" : this.button(String(event.job), `${place}${event.record}`),
        sentence(event),
      ],
    });
    const known = new Set(this.lately.map((its) => its.record));
    const fresh = this.events.filter((its) => isResize(its) && !known.has(its.record));
    this.resizes.show(
      [...fresh, ...this.lately]
        .sort((a, b) => b.record - a.record)
        .slice(0, 40)
        .map((its) => row(its, "resize")),
    );
    this.happened.show(this.events.map((its) => row(its, "event")));
  }

  private showPower(power: Power): void {
    const card = (name: string, value: string) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, value));
    const cards = [card("Drawn, as believed", watts(power.drawn_w))];
    cards.push(card("Idle nodes", watts(power.idle_w)), card("Jobs", watts(power.jobs_w)));
    if (power.cap_w !== null) cards.push(card("Cap", watts(power.cap_w)));
    if (power.free_w !== null) cards.push(card("Free", watts(power.free_w)));
    if (power.corridor) {
      const { low_w, high_w, is_outside } = power.corridor;
      cards.push(
        card("Corridor", `${watts(low_w)} to ${high_w === null ? "any" : watts(high_w)}`),
        card("Is it kept?", is_outside ? "no, outside" : "yes"),
      );
    }
    if (power.measured_jobs.length > 0)
      cards.push(card(`Measured, ${power.measured_jobs.length} jobs`, watts(power.measured_w)));
    this.power.replaceChildren(...cards);
    this.powerWarning.hidden = !power.warning;
    this.powerWarning.textContent = power.warning ?? "";
    this.powerLine.add(this.now_s, power);
  }

  /** What became of a job, and why it waits. */
  private async open(job: string, opener: HTMLElement | null = null): Promise<void> {
    this.opener = opener;
    const title = el("h2", {}, `Job ${job}`);
    const close = el(
      "button",
      {
        type: "button",
        onclick: () => {
          this.story.hidden = true;
          const back = this.opener?.dataset.job;
          document.querySelector<HTMLElement>(`[data-job="${back}"]`)?.focus();
        },
      },
      "Close",
    );
    const waits = el("p", { class: "soft", role: "status" }, "Asking …");
    this.story.replaceChildren(title, waits, close);
    this.story.hidden = false;
    this.story.focus();
    this.story.scrollIntoView({ block: "start" });
    try {
      const why = await this.live.get<Why>(`/jobs/${encodeURIComponent(job)}/why`);
      const list = (name: string, lines: { time_s: number; text: string }[], hasTimes: boolean) =>
        lines.length === 0
          ? null
          : [
              el("h3", {}, name),
              el(
                "ul",
                { class: "told" },
                lines.map((line) =>
                  el(
                    "li",
                    {},
                    hasTimes ? el("time", {}, day(line.time_s, this.now_s)) : null,
                    line.text,
                  ),
                ),
              ),
            ];
      const box = el("div", { class: "why" });
      append(box, [
        el("p", {}, why.asked),
        list(why.state === "waiting" ? "Why it waits" : "How it stands", why.now ?? [], false),
        list("What was decided", why.history, true),
      ]);
      waits.replaceWith(box);
    } catch (error) {
      waits.textContent =
        error instanceof Refused ? `${error.message}; ${error.remedy}` : "Nobody answers.";
    }
  }
}

/** Asks for the token. */
function enter(why: string, next: (token: string) => void): void {
  const field = el("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
  });
  page.replaceChildren(
    el(
      "header",
      { class: "head" },
      el(
        "div",
        {},
        el("h1", {}, "Ductile"),
        el("p", { class: "soft" }, "The dashboard of a controller."),
      ),
      themeButton(),
    ),
    el(
      "form",
      {
        class: "enter",
        onsubmit: (event: Event) => {
          event.preventDefault();
          if (field.value.trim()) next(field.value.trim());
        },
      },
      el("label", { for: "token" }, "Token"),
      field,
      el("button", { type: "submit" }, "Show"),
      el(
        "p",
        { class: "soft" },
        "It is in the file that the controller's log names. This page keeps it until it is closed.",
      ),
      why ? el("p", { class: "notes", role: "alert" }, why) : null,
    ),
  );
  field.focus();
  document.documentElement.dataset.ready = "token";
}

function begin(why = ""): void {
  const token = kept();
  const open = (its: string) => {
    keep(its);
    delete document.documentElement.dataset.ready;
    const dashboard = new Dashboard(its, (reason) => {
      dashboard.end();
      keep("");
      begin(reason);
    });
  };
  if (token) open(token);
  else enter(why, open);
}

begin();
