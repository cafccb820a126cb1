// Distributions over all jobs: shares of jobs below a value, and boxes by class.
import uPlot from "uplot";
import { details, el, onWidth, scroller, select, svg, valueTable } from "./dom";
import {
  classRuntimes,
  MEASURES,
  quantile,
  sortedValues,
  upperBound,
  value,
  type JobClasses,
  type Measure,
  type RunModel,
} from "./model";
import { colour, line, onTheme } from "./theme";
import { duration, roundDuration, short, tick } from "./units";

const POINTS = 700;
const MANY = 6;
const CURVES: Measure[] = ["wait", "slowdown", "turnaround"];

const nameOf = (measure: Measure, v: number) =>
  MEASURES[measure].unit === "s" ? duration(v) : short(v);

const tickText = (measure: Measure, v: number) =>
  MEASURES[measure].unit === "s" ? roundDuration(v) : tick(v);

/** Round values of a logarithmic axis, those first that are named before others. */
const TIME_TICKS = [1, 60, 3600, 86400, 864000, 8640000, 86400000, 10, 600, 36000];
const PLAIN_TICKS = [1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7, 1e8, 2, 5];

/** Those of which the labels have room, rising; `x` says where a value is. */
function logTicks(
  measure: Measure,
  low: number,
  high: number,
  x: (v: number) => number,
  room: number,
  most = Infinity,
): number[] {
  const kept: number[] = [];
  for (const v of MEASURES[measure].unit === "s" ? TIME_TICKS : PLAIN_TICKS) {
    if (v < low || v > high || x(v) > most) continue;
    if (kept.every((other) => Math.abs(x(other) - x(v)) >= room)) kept.push(v);
  }
  return kept.sort((a, b) => a - b);
}

/** Between them, without names. */
function minorTicks(measure: Measure, low: number, high: number): number[] {
  const list =
    MEASURES[measure].unit === "s"
      ? [1, 60, 3600].flatMap((u) => [1, 2, 3, 4, 5, 10, 20, 30, 40, 50].map((v) => v * u))
      : [];
  for (let power = MEASURES[measure].unit === "s" ? 86400 : 1; power <= high; power *= 10)
    for (let i = 1; i < 10; i++) list.push(i * power);
  return [...new Set(list)].filter((v) => v >= low && v <= high);
}

interface Curves {
  low: number;
  high: number;
  xs: number[];
  shares: number[][];
}

/** Shares of jobs with at most that value, exact at each point. */
function curves(lists: Float64Array[], measure: Measure): Curves {
  const most = Math.max(...lists.map((list) => list[list.length - 1] ?? 1));
  const low = 1;
  const high = Math.max(most, measure === "slowdown" ? 2 : 10);
  const factor = Math.log(high / low);
  const xs = Array.from({ length: POINTS }, (_, i) => low * Math.exp((factor * i) / (POINTS - 1)));
  xs[POINTS - 1] = high;
  const shares = lists.map((list) =>
    xs.map((x) => (100 * upperBound(list, x)) / Math.max(1, list.length)),
  );
  return { low, high, xs, shares };
}

export function legend(
  runs: RunModel[],
  isShown: (run: RunModel) => boolean,
  toggle: (run: RunModel) => void,
): HTMLElement {
  return el(
    "div",
    { class: "legend", role: "group", "aria-label": "Policies shown" },
    runs.map((run) => {
      const look = line(run.index);
      const button = el(
        "button",
        {
          type: "button",
          class: "key",
          "aria-pressed": String(isShown(run)),
          onclick: () => {
            toggle(run);
            button.setAttribute("aria-pressed", String(isShown(run)));
          },
        },
        svg(
          "svg",
          { width: 26, height: 8, "aria-hidden": "true" },
          svg("line", {
            x1: 0,
            x2: 26,
            y1: 4,
            y2: 4,
            style: `stroke: var(--${look.stroke})`,
            "stroke-width": 2.5,
            "stroke-dasharray": look.dash.join(" "),
          }),
        ),
        run.name,
      );
      return button;
    }),
  );
}

function cdf(runs: RunModel[], measure: Measure, shown: Set<RunModel>): [HTMLElement, () => void] {
  const lists = runs.map((run) => sortedValues(run, measure));
  const data = curves(lists, measure);
  const holder = el("div", {
    class: "plot",
    role: "img",
    "aria-label": `Share of jobs by ${MEASURES[measure].title}; values are in the table below`,
  });
  const readout = el("p", { class: "readout", "aria-hidden": "true" }, "\u00a0");
  let plot: uPlot | null = null;

  const draw = () => {
    const width = holder.clientWidth;
    if (width === 0) return;
    plot?.destroy();
    const x = (v: number) =>
      (Math.log(v / data.low) / Math.log(data.high / data.low)) * (width - 58);
    const named = logTicks(measure, data.low, data.high, x, 46, width - 74);
    const splits = [...new Set([...named, ...minorTicks(measure, data.low, data.high)])].sort(
      (a, b) => a - b,
    );
    const ink = colour("soft");
    const grid = { stroke: colour("grid"), width: 1 };
    plot = new uPlot(
      {
        width,
        height: 240,
        legend: { show: false },
        padding: [8, 14, 0, 0],
        cursor: { y: false, points: { size: 6 }, drag: { setScale: false, x: false } },
        scales: {
          x: { time: false, distr: 3, range: [data.low, data.high] },
          y: { range: [0, 100] },
        },
        axes: [
          {
            stroke: ink,
            grid: { ...grid, filter: (_, all) => all.map((v) => (named.includes(v) ? v : null)) },
            ticks: { ...grid, size: 5, filter: (_, all) => all },
            font: "12px system-ui, sans-serif",
            size: 30,
            splits: () => splits,
            values: (_, ticks) => ticks.map((v) => (named.includes(v) ? tickText(measure, v) : "")),
            filter: (_, splits) => splits,
          },
          {
            stroke: ink,
            grid,
            ticks: { show: false },
            font: "12px system-ui, sans-serif",
            size: 44,
            values: (_, ticks) => ticks.map((v) => `${v}%`),
          },
        ],
        series: [
          {},
          ...runs.map((run) => {
            const look = line(run.index);
            return {
              label: run.name,
              stroke: colour(look.stroke),
              width: 1.75,
              dash: look.dash,
              show: shown.has(run),
              points: { show: false },
            };
          }),
        ],
        hooks: {
          setCursor: [
            (u) => {
              const i = u.cursor.idx;
              readout.textContent =
                i == null || (u.cursor.left ?? -1) < 0
                  ? "\u00a0"
                  : `≤ ${nameOf(measure, data.xs[i]!)}: ` +
                    runs
                      .filter((run) => shown.has(run))
                      .map((run) => `${run.name} ${data.shares[run.index]![i]!.toFixed(1)} %`)
                      .join(", ");
            },
          ],
        },
      },
      [data.xs, ...data.shares],
      holder,
    );
  };
  onWidth(holder, draw);
  onTheme(draw);
  const shares = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];
  const table = details(
    "Values",
    scroller(
      `Quantiles of ${MEASURES[measure].title}`,
      valueTable(
        `${MEASURES[measure].title}: so large it is for at most so many of the jobs`,
        ["policy", ...shares.map((s) => (s === 1 ? "largest" : `${s * 100} %`))],
        runs.map((run) => [
          run.name,
          ...shares.map((s) => nameOf(measure, quantile(lists[run.index]!, s))),
        ]),
      ),
    ),
  );
  const none =
    measure === "wait"
      ? el(
          "p",
          { class: "soft" },
          "At once: " +
            runs
              .filter((run) => shown.has(run))
              .map(
                (run) =>
                  `${run.name} ${((100 * upperBound(lists[run.index]!, 0)) / Math.max(1, lists[run.index]!.length)).toFixed(0)}\u00a0%`,
              )
              .join(", ") +
            " of the jobs.",
        )
      : null;
  return [
    el(
      "figure",
      {},
      el(
        "figcaption",
        {},
        el("strong", {}, MEASURES[measure].title),
        " ",
        el("span", { class: "soft" }, "≤ x, share of jobs"),
      ),
      holder,
      readout,
      none,
      table,
    ),
    draw,
  ];
}

// ---- Boxes by class -----------------------------------------------------------------------------

interface Box {
  run: RunModel;
  n: number;
  at: [number, number, number, number, number]; // 5, 25, 50, 75, 95 %
}

const BOX_SHARES = [0.05, 0.25, 0.5, 0.75, 0.95] as const;

function boxes(
  runs: RunModel[],
  baseline: RunModel,
  { sizes, runtimes: times }: JobClasses,
  measure: Measure,
) {
  const cells: Box[][][] = times.names.map(() => sizes.names.map(() => []));
  for (const run of runs) {
    const runtimes = classRuntimes(run, baseline);
    const lists: number[][][] = times.names.map(() => sizes.names.map(() => []));
    for (let row = 0; row < run.workload.jobs; row++) {
      const v = value(run, row, measure);
      if (Number.isNaN(v) || runtimes[row]! < 0) continue;
      lists[times.of(runtimes[row]!)]![sizes.of(run.workload.size[row]!)]!.push(v);
    }
    lists.forEach((line_, t) =>
      line_.forEach((list, s) => {
        if (list.length === 0) return;
        const sorted = Float64Array.from(list).sort();
        const at = BOX_SHARES.map((share) => quantile(sorted, share)) as Box["at"];
        cells[t]![s]!.push({ run, n: list.length, at });
      }),
    );
  }
  return cells;
}

export function boxPlots(runs: RunModel[], baseline: RunModel, classes: JobClasses): HTMLElement {
  const { sizes, runtimes: times } = classes;
  let measure: Measure = "wait";
  let shownRuns = runs.slice(0, MANY);
  const holder = el("div", { class: "svg-box" });
  const table = el("div", {});
  const more = el(
    "button",
    {
      type: "button",
      class: "more",
      onclick: () => {
        shownRuns = runs;
        more.remove();
        draw();
      },
    },
    `Show ${runs.length - MANY} more policies`,
  );

  const draw = () => {
    const width = holder.clientWidth;
    if (width === 0) return;
    const cells = boxes(shownRuns, baseline, classes, measure);
    const usedSizes = sizes.names
      .map((_, s) => s)
      .filter((s) => cells.some((row) => row[s]!.length > 0));
    const left = 112;
    const cell = (width - left - 8) / usedSizes.length;
    const rowHeight = Math.max(40, shownRuns.length * 11 + 14);
    const top = 20;
    const height = top + times.names.length * rowHeight + 34;
    const least = 1;
    const most = Math.max(10, ...cells.flat(2).map((box) => box.at[4]));
    const x = (s: number, v: number) =>
      left +
      s * cell +
      6 +
      (Math.log(Math.max(v, least) / least) / Math.log(most / least)) * (cell - 16);
    const picture = svg("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Boxes of ${MEASURES[measure].title} by size and run time; values are in the table below`,
    });
    // Labels do not touch those of the next class.
    const ticks = logTicks(measure, least, most, (v) => x(0, v), 54, left + cell - 46);
    usedSizes.forEach((s, i) => {
      picture.append(
        svg(
          "text",
          { x: left + (i + 0.5) * cell, y: 13, "text-anchor": "middle", class: "name" },
          `${sizes.names[s]} node${sizes.names[s] === "1" ? "" : "s"}`,
        ),
      );
      for (const at of ticks) {
        picture.append(
          svg("line", { x1: x(i, at), x2: x(i, at), y1: top, y2: height - 34, class: "grid" }),
          svg(
            "text",
            { x: x(i, at), y: height - 18, "text-anchor": "middle", class: "tick" },
            tickText(measure, at),
          ),
        );
      }
    });
    times.names.forEach((text, t) => {
      const y0 = top + t * rowHeight;
      picture.append(
        svg("line", { x1: 0, x2: width, y1: y0, y2: y0, class: "grid" }),
        svg(
          "text",
          { x: left - 10, y: y0 + rowHeight / 2 + 4, "text-anchor": "end", class: "name" },
          text,
        ),
      );
      usedSizes.forEach((s, i) => {
        for (const box of cells[t]![s]!) {
          const y = y0 + 12 + shownRuns.indexOf(box.run) * 11;
          const stroke = `stroke: var(--${line(box.run.index).stroke})`;
          const [a, b, c, d, e] = box.at.map((v) => x(i, v)) as [
            number,
            number,
            number,
            number,
            number,
          ];
          picture.append(
            svg(
              "g",
              { style: stroke, class: "box" },
              svg(
                "title",
                {},
                `${box.run.name}, ${box.n} jobs: half of them ${nameOf(measure, box.at[1])} to ${nameOf(measure, box.at[3])}, median ${nameOf(measure, box.at[2])}`,
              ),
              svg("line", { x1: a, x2: e, y1: y, y2: y }),
              svg("rect", {
                x: b,
                y: y - 3.5,
                width: Math.max(1.5, d - b),
                height: 7,
                style: `fill: var(--${line(box.run.index).stroke})`,
              }),
              svg("line", { x1: c, x2: c, y1: y - 4.5, y2: y + 4.5, class: "median" }),
            ),
          );
        }
      });
    });
    picture.append(
      svg(
        "text",
        { x: width - 8, y: height - 2, "text-anchor": "end", class: "tick" },
        `${MEASURES[measure].title}, logarithmic`,
      ),
    );
    holder.replaceChildren(picture);
    table.replaceChildren(
      details(
        "Values",
        scroller(
          "Values of the boxes",
          valueTable(
            `${MEASURES[measure].title} by class`,
            [
              "run time",
              "nodes",
              "policy",
              "jobs",
              ...BOX_SHARES.map((share) => (share === 0.5 ? "median" : `${share * 100} %`)),
            ],
            cells.flatMap((row, t) =>
              row.flatMap((list, s) =>
                list.map((box) => [
                  times.names[t]!,
                  sizes.names[s]!,
                  box.run.name,
                  box.n,
                  ...box.at.map((v) => nameOf(measure, v)),
                ]),
              ),
            ),
          ),
        ),
      ),
    );
  };
  onWidth(holder, draw);
  const keys = el(
    "p",
    { class: "legend" },
    runs.map((run) =>
      el(
        "span",
        { class: "key" },
        el("i", { style: `background: var(--${line(run.index).stroke})` }),
        run.name,
      ),
    ),
  );
  return el(
    "div",
    {},
    el(
      "div",
      { class: "toolbar" },
      select(
        "Boxes of",
        CURVES.map((m) => [m, MEASURES[m].title]),
        measure,
        (v) => {
          measure = v as Measure;
          draw();
        },
      ),
      el("span", { class: "soft" }, "line: 5 to 95 % of the jobs, box: 25 to 75 %, notch: median"),
    ),
    keys,
    holder,
    runs.length > MANY && more,
    table,
  );
}

export function distributions(
  runs: RunModel[],
  baseline: RunModel,
  classes: JobClasses,
): HTMLElement {
  const shown = new Set(runs.slice(0, MANY));
  const plots = CURVES.map((measure) => cdf(runs, measure, shown));
  const redraw = () => plots.forEach(([, draw]) => draw());
  return el(
    "section",
    { id: "distributions" },
    el("h2", {}, "How it is spread over jobs"),
    legend(
      runs,
      (run) => shown.has(run),
      (run) => {
        if (shown.has(run)) shown.delete(run);
        else shown.add(run);
        redraw();
      },
    ),
    runs.length > MANY &&
      el(
        "p",
        { class: "soft" },
        `${MANY} of ${runs.length} policies are drawn; choose others above.`,
      ),
    el(
      "div",
      { class: "grid three" },
      plots.map(([figure]) => figure),
    ),
    el("h3", {}, "By size and run time"),
    boxPlots(runs, baseline, classes),
  );
}
