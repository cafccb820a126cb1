/*! This page has uPlot in it. Copyright (c) 2022 Leon Sorokin, MIT License. */
// The report: takes the place of the plain page and draws it part by part, so that the answer is
// there at once and nothing waits for the largest picture.
import { barsOf, type Bars } from "./bars";
import { answer, bestGroup } from "./compare";
import type { PageData } from "./data";
import { perDay } from "./days";
import { distributions } from "./distributions";
import { append, el, type Child } from "./dom";
import { fairness } from "./fairness";
import { figuresSection } from "./figures";
import { ganttSection, timeButtons, type Gantt } from "./gantt";
import { heatmaps } from "./heatmap";
import { baselineOf, beginOf, jobClasses, runsOf, type RunModel } from "./model";
import { resizeSection, resizesOf, type Resizes } from "./resizes";
import { seriesOf, seriesSection, type SeriesOfRun } from "./series";
import { storyPanel } from "./story";
import { mainTable } from "./table";
import { themeButton } from "./theme";
import { fixed } from "./units";
import { breath } from "./unpack";
import { TimeView } from "./view";

function mark(name: string): void {
  performance.mark(`ductile:${name}`);
}

/** The data of each run, or null and a line in the page where it cannot be read. */
async function each<T>(
  runs: RunModel[],
  what: string,
  problems: Element,
  read: (run: RunModel) => Promise<T | null>,
): Promise<(T | null)[]> {
  const result: (T | null)[] = [];
  for (const run of runs) {
    try {
      result.push(await read(run));
    } catch (error) {
      result.push(null);
      append(problems, [el("li", {}, `${what} of ${run.name} cannot be read: ${String(error)}`)]);
    }
    await breath();
  }
  return result;
}

async function draw(page: HTMLElement, data: PageData): Promise<void> {
  const contents = el("nav", { "aria-label": "Contents", class: "contents" });
  const problems = el("ul", { class: "notes problems", role: "status" });
  const waiting = el("p", { class: "soft waiting", role: "status" }, "Unpacking the runs …");
  page.replaceChildren(
    el(
      "header",
      { class: "head" },
      el("div", {}, el("h1", {}, data.title), el("p", { class: "soft" }, subtitle(data))),
      themeButton(),
    ),
    contents,
    problems,
    answer(data),
    // Of one policy the cards above say it all.
    data.groups.length > 1
      ? el("section", { id: "table" }, el("h2", {}, "Main figures"), mainTable(data))
      : "",
    waiting,
  );
  mark("answer");
  requestAnimationFrame(() => mark("first-paint"));
  await breath();

  const show = (section: HTMLElement | null) => {
    if (section) waiting.before(section);
    return breath();
  };
  if (data.drawn.length > 0) await drawRuns(data, show, problems);
  await show(figuresSection(data));
  waiting.remove();
  const sections: Child[] = [...page.querySelectorAll("section")]
    .filter((section) => section.querySelector("h2"))
    .map((section) =>
      el("a", { href: `#${section.id}` }, section.querySelector("h2")!.textContent),
    );
  append(contents, sections);
  mark("ready");
  document.documentElement.dataset.ready = "yes";
}

async function drawRuns(
  data: PageData,
  show: (section: HTMLElement | null) => Promise<void>,
  problems: Element,
): Promise<void> {
  const runs = await runsOf(data);
  const baseline = baselineOf(data, runs);
  mark("jobs");
  const classes = jobClasses(data);
  await show(distributions(runs, runs[baseline]!, classes));
  if (runs.length > 1) await show(heatmaps(runs, baseline, classes, data.comparison));

  const series: (SeriesOfRun | null)[] = await each(runs, "The series", problems, seriesOf);
  const bars: (Bars | null)[] = await each(runs, "What jobs held", problems, barsOf);
  const resizes: (Resizes | null)[] = await each(runs, "The resizes", problems, (run) =>
    resizesOf(run, bars[run.index] ?? null),
  );
  mark("unpacked");
  await show(perDay(runs, bars));
  // From the first submission on: what was before it is nobody's time.
  let begin = Infinity;
  for (const run of runs) begin = Math.min(begin, beginOf(run));
  if (!Number.isFinite(begin)) begin = 0;
  let end = begin + 1e-3;
  for (const run of runs)
    end = Math.max(
      end,
      begin + run.drawn.makespan_s,
      bars[run.index]?.blockUntil.reduce((a, b) => Math.max(a, b), 0) ?? 0,
    );
  for (const its of bars) if (its && its.rows > 0) begin = Math.min(begin, its.from[0]!);
  const view = new TimeView(begin, end);
  if (series.some((its) => its))
    await show(
      seriesSection(
        runs,
        series,
        bars,
        view,
        timeButtons(view, () => view.reset()),
      ),
    );
  mark("series");
  const open = (job: number, move = true) => {
    gantt.mark(story.show(job) ? job : -1, move);
  };
  const story = storyPanel(
    runs,
    bars,
    resizes,
    (job) => open(job),
    () => gantt.mark(-1, false),
  );
  const gantt: Gantt = ganttSection(runs, bars, view, (job) => open(job), story.element);
  await show(gantt.element);
  mark("gantt");
  const best = runs.findIndex((run) => run.drawn.group === bestGroup(data));
  await show(fairness(runs, baseline, best, data.comparison));
  await show(resizeSection(runs, resizes, classes));
}

function subtitle(data: PageData): string {
  const seeds = new Set(data.runs.map((run) => run.seed)).size;
  const figure = (key: string) => {
    const known = data.runs.filter((run) => run.figures);
    const values = new Set(known.map((run) => run.figures![key]));
    const value = [...values][0];
    return values.size === 1 && typeof value === "number" ? value : null;
  };
  const [jobs, nodes] = [figure("jobs"), figure("nodes")];
  const parts: string[] = [];
  if (jobs !== null) parts.push(`${fixed(jobs, 0)} jobs`);
  if (nodes !== null) parts.push(`${fixed(nodes, 0)} nodes`);
  parts.push(
    seeds > 1
      ? `${seeds} seeds; pictures of single jobs are of the first`
      : `seed ${data.runs[0]?.seed}`,
  );
  const text = parts.join(", ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

const source = document.getElementById("data");
const page = document.getElementById("page");
if (source && page) {
  draw(page, JSON.parse(source.textContent ?? "") as PageData).catch((error: unknown) => {
    // What is there stays, and nobody wonders why there is no more.
    append(page, [
      el(
        "p",
        { class: "notes", role: "alert" },
        `The page could not be drawn whole: ${String(error)}`,
      ),
    ]);
    console.error(error);
  });
}
