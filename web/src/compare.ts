// The answer first: which policy is better, by how much, how sure; and the same as a picture.
import type { Column, Comparison, Difference, PageData } from "./data";
import { details, el, folded, onWidth, svg, valueTable, type Child } from "./dom";
import { change, decimalsFor, fixed, niceStep, short, tick as mark, unitFor } from "./units";

const PICTURED = [
  "mean_wait_s",
  "mean_turnaround_s",
  "mean_bounded_slowdown",
  "mean_slowdown",
  "makespan_s",
  "p95_wait_s",
  "energy_j",
];
const MANY = 8;

interface Dot {
  group: number;
  value: number;
  low: number | null;
  high: number | null;
  verdict: Difference["verdict"] | "";
}

/** Of a figure that is 0 with the baseline there is no ratio. */
const hasRatio = (row: Difference): row is Difference & { ratio: number } => row.ratio !== null;

/** Clear if it were the only comparison. */
const isOnlyAlone = (row: Difference): boolean =>
  row.verdict === "open" && row.ratio_low !== null && (row.ratio_low > 1 || row.ratio_high! < 1);

/** None where runs could not be paired: then there are the means. */
const comparisonOf = (data: PageData): Comparison | null =>
  data.comparison?.rows.some(hasRatio) ? data.comparison : null;

const sure = (row: Difference): string =>
  row.ratio_low === null || row.ratio_high === null
    ? ""
    : ` (95\u00a0% interval ${percents(row.ratio_low, row.ratio_high)})`;

function percents(low: number, high: number): string {
  const text = (ratio: number) => {
    const percent = (ratio - 1) * 100;
    const digits = Math.abs(percent) < 10 ? 1 : 0;
    return `${percent > 0 ? "+" : ""}${fixed(percent, digits)}`;
  };
  return `${text(low)} to ${text(high)}\u00a0%`;
}

function has(data: PageData, key: string): boolean {
  return data.columns.some((column) => column.key === key);
}

function columnFor(data: PageData, key: string): Column {
  return data.columns.find((column) => column.key === key)!;
}

/** Key and place of the figures in the picture. */
function pictured(data: PageData): Column[] {
  const compared = comparisonOf(data)?.rows.map((row) => row.key);
  const useful = (column: Column) =>
    compared
      ? compared.includes(column.key)
      : column.better !== "" &&
        data.groups.some((group) => (group.means[data.columns.indexOf(column)]?.[0] ?? 0) !== 0);
  const first = PICTURED.filter((key) => has(data, key)).map((key) => columnFor(data, key));
  const others = data.columns.filter(
    (column) => !first.includes(column) && compared?.includes(column.key),
  );
  return [...first, ...others].filter(useful);
}

const name = (data: PageData, group: number) => el("strong", {}, data.groups[group]!.policy);

/** What decides which policy is better, and which one seems to be. */
function headline(data: PageData) {
  const comparison = comparisonOf(data);
  if (!comparison) return null;
  const ratios = comparison.rows.filter(hasRatio).filter((row) => row.pairs > 0);
  if (ratios.length === 0) return null;
  const key = ratios.find((row) => row.key === comparison.main)?.key ?? ratios[0]!.key;
  const column = columnFor(data, key);
  const rows = ratios.filter((row) => row.key === key);
  const sign = column.better === "more" ? -1 : 1;
  const better = rows.filter((row) => row.verdict === "better");
  // One that is clearly better goes before one that may only seem to be.
  const best = [...(better.length > 0 ? better : rows)].sort(
    (a, b) => sign * (a.value - b.value),
  )[0]!;
  return { comparison, ratios, key, column, rows, sign, better, best };
}

/** That of which the answer tells first; undefined: nothing is compared. */
export function bestGroup(data: PageData): number | undefined {
  return headline(data)?.best.group;
}

function sentence(data: PageData): Child[] {
  const found = headline(data);
  if (!found) return ["These runs cannot be compared; the notes say why."];
  const { comparison, ratios, key, column, rows, sign, best } = found;
  const parts: Child[] = [];
  const base = name(data, comparison.baseline);
  if (best.verdict === "better") {
    parts.push(
      name(data, best.group),
      ` is better than `,
      base,
      `: its ${column.title} is ${change(best.ratio)}${sure(best)}`,
    );
    const others = PICTURED.slice(0, 5).flatMap((other) => {
      const row = ratios.find((r) => r.key === other && r.group === best.group);
      if (!row || other === key) return [];
      const title = columnFor(data, other).title;
      return [
        row.difference === 0
          ? `${title} the same`
          : row.low === null
            ? `${title} ${change(row.ratio)} (how sure is not known)`
            : row.verdict === "open"
              ? `${title} not clearly different`
              : `${title} ${change(row.ratio)}`,
      ];
    });
    parts.push(others.length > 0 ? `; ${others.join(", ")}.` : ".");
    const count = (verdict: string) => rows.filter((row) => row.verdict === verdict).length;
    if (rows.length > 1) {
      const groups = [
        [count("better"), "better than the baseline"],
        [count("worse"), "worse"],
        [count("open"), "not clearly either"],
        [count("same"), "the same in all runs"],
      ] as const;
      parts.push(
        ` By ${column.title}, of ${rows.length} policies `,
        groups
          .filter(([n]) => n > 0)
          .map(([n, text], i) => `${n}${i === 0 ? (n === 1 ? " is" : " are") : ""} ${text}`)
          .join(", "),
        ".",
      );
    }
  } else if (rows.every((row) => row.verdict === "same")) {
    parts.push(
      rows.length === 1 ? name(data, best.group) : "No policy",
      rows.length === 1 ? " has the same " : " has another ",
      column.title,
      rows.length === 1 ? " as " : " than ",
      base,
      rows.length === 1 ? " in all runs." : ": it is the same in all runs.",
    );
  } else if (rows.every((row) => row.low === null || row.verdict === "same")) {
    // A difference, but nobody knows how much of it is chance.
    if (sign * best.ratio < sign) {
      parts.push(
        name(data, best.group),
        ` has the best ${column.title}: ${change(best.ratio)} than `,
        base,
      );
    } else {
      parts.push(
        base,
        ` has the best ${column.title}; the nearest is `,
        name(data, best.group),
        ` with ${change(best.ratio)}`,
      );
    }
    parts.push(". There are too few runs, or jobs in them, to say how sure that is.");
  } else if (rows.every((row) => row.verdict === "worse")) {
    parts.push(
      base,
      ` is clearly better than ${rows.length === 1 ? "" : "all others by "}`,
      rows.length === 1 ? name(data, best.group) : column.title,
      rows.length === 1 ? ` by ${column.title}, which has ` : ". The nearest is ",
      rows.length === 1 ? "" : name(data, best.group),
      `${rows.length === 1 ? "" : ": "}${change(best.ratio)}${sure(best)}.`,
    );
  } else {
    parts.push(
      "No policy is clearly better than ",
      base,
      ` by ${column.title}. The nearest is `,
      name(data, best.group),
      `: ${change(best.ratio)}${sure(best)}.`,
    );
  }
  return parts;
}

/** Places for values between `low` and `high`; by factors where they are ratios. */
interface Axis {
  x(v: number): number;
  ticks: number[];
}

/** Values so far apart that on a plain axis the small ones would lie on each other. */
const isWide = (low: number, high: number) => low > 0 && high / low > 8;

function axisFor(low: number, high: number, from: number, to: number, byFactors: boolean): Axis {
  if (byFactors) {
    const l = Math.log(low);
    const span = Math.log(high) - l || 1;
    const x = (v: number) => from + ((Math.log(Math.max(v, 1e-9)) - l) / span) * (to - from);
    const near = [0.25, 0.33, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 4];
    const fine = [0.9, 0.92, 0.94, 0.96, 0.98, 1, 1.02, 1.04, 1.06, 1.08, 1.1];
    const powers = Array.from({ length: 31 }, (_, i) => 10 ** (i - 15));
    const list =
      high / low > 2000
        ? powers
        : low > 5 || high / low > 8
          ? powers.flatMap((p) => [p, 2 * p, 5 * p])
          : high / low > 1.25
            ? near
            : fine;
    // Ticks that would stand on each other are left out, 1 never.
    const ticks: number[] = [];
    for (const v of list.filter((t) => t >= low && t <= high)) {
      const last = ticks[ticks.length - 1];
      if (last === undefined || x(v) - x(last) > 34) ticks.push(v);
      else if (v === 1) ticks[ticks.length - 1] = 1;
    }
    return { x, ticks };
  }
  const step = niceStep((high - low) / 4);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high * 1.0001; i++) ticks.push(i * step);
  return { x: (v) => from + ((v - low) / (high - low || 1)) * (to - from), ticks };
}

function panel(
  data: PageData,
  column: Column,
  dots: Dot[],
  width: number,
  groups: number[],
): SVGSVGElement {
  const ratios = comparisonOf(data) !== null;
  const rowHeight = 22;
  const top = 6;
  const bottom = top + groups.length * rowHeight;
  const longest = Math.max(...groups.map((g) => data.groups[g]!.policy.length));
  const left = Math.min(width * 0.42, 14 + longest * 6.6);
  const right = width - 74; // room for the value of each
  const unit = ratios
    ? { name: "", size: 1 }
    : unitFor(
        column.unit,
        dots.map((d) => d.value),
      );
  const values = dots
    .flatMap((d) => [d.value, d.low ?? d.value, d.high ?? d.value])
    .map((v) => v / unit.size);
  const isLog = ratios || isWide(Math.min(...values), Math.max(...values));
  let low = Math.min(...values, ratios ? 1 : isLog ? Infinity : 0);
  let high = Math.max(...values, ratios ? 1 : 0);
  // No figure here is ever negative; what an interval has below 0 says only that it is wide.
  if (!ratios) low = Math.max(0, low);
  if (ratios) {
    // Of intervals without a lower end only that it is far away matters.
    low = Math.max(low, Math.min(...dots.map((d) => d.value), 1) / 4, 1e-3);
    const pad = Math.max((high / low) ** 0.08, 1.02);
    low /= pad;
    high *= pad;
  } else {
    if (isLog) {
      low /= 1.25;
      high *= 1.25;
    } else {
      high += (high - low) * 0.06 || 1;
    }
  }
  const axis = axisFor(low, high, left, right, isLog);
  const decimals = decimalsFor(values);
  const picture = svg("svg", {
    width,
    height: bottom + 22,
    viewBox: `0 0 ${width} ${bottom + 22}`,
    role: "img",
    "aria-label": `${column.title}${ratios ? ": ratio to the baseline" : ""} by policy; its values are in the table below`,
  });
  for (const tick of axis.ticks) {
    const x = axis.x(tick);
    picture.append(
      svg("line", {
        x1: x,
        x2: x,
        y1: top,
        y2: bottom,
        class: ratios && tick === 1 ? "one" : "grid",
      }),
      svg("text", { x, y: bottom + 15, "text-anchor": "middle", class: "tick" }, mark(tick)),
    );
  }
  groups.forEach((group, i) => {
    const y = top + (i + 0.5) * rowHeight;
    const dot = dots.find((d) => d.group === group);
    const full = data.groups[group]!.policy;
    const room = Math.floor((left - 12) / 6.4);
    const shown = full.length > room ? full.slice(0, Math.max(3, room - 1)) + "…" : full;
    picture.append(
      svg(
        "text",
        { x: left - 10, y: y + 4, "text-anchor": "end", class: "name" },
        shown,
        svg("title", {}, full),
      ),
    );
    if (!dot) {
      if (ratios && group === comparisonOf(data)!.baseline) {
        picture.append(
          svg("circle", { cx: axis.x(1), cy: y, r: 3.5, class: "mark base" }),
          svg("text", { x: axis.x(1) + 8, y: y + 4, class: "tick" }, "baseline"),
        );
      }
      return;
    }
    const verdict = dot.verdict === "same" ? "open" : dot.verdict || "plain";
    if (dot.low !== null && dot.high !== null) {
      if (axis.x(dot.low / unit.size) < left - 0.5)
        picture.append(svg("path", { d: `M${left - 7},${y}l8,-4.5v9z`, class: `end ${verdict}` }));
      picture.append(
        svg("line", {
          x1: Math.max(left, axis.x(dot.low / unit.size)),
          x2: Math.min(right, axis.x(dot.high / unit.size)),
          y1: y,
          y2: y,
          class: `range ${verdict}`,
        }),
      );
    }
    const x = axis.x(dot.value / unit.size);
    // A form for each verdict, besides its colour.
    const sign =
      verdict === "worse"
        ? svg("rect", { x: x - 4, y: y - 4, width: 8, height: 8, class: "mark worse" })
        : svg("circle", { cx: x, cy: y, r: 4.5, class: `mark ${verdict}` });
    const text = ratios ? percentText(dot.value) : `${fixed(dot.value / unit.size, decimals)}`;
    sign.append(svg("title", {}, `${full}: ${text}`));
    picture.append(
      sign,
      svg("text", { x: width - 2, y: y + 4, "text-anchor": "end", class: "tick" }, text),
    );
  });
  return picture;
}

const percentText = (ratio: number) =>
  ratio > 3
    ? `${short(ratio, 2)} times`
    : `${ratio > 1 ? "+" : ""}${fixed((ratio - 1) * 100, Math.abs(ratio - 1) < 0.0995 ? 1 : 0)} %`;

function dotsOf(data: PageData, column: Column): Dot[] {
  if (comparisonOf(data)) {
    return comparisonOf(data)!
      .rows.filter(hasRatio)
      .filter((row) => row.key === column.key)
      .map((row) => ({
        group: row.group,
        value: row.ratio,
        low: row.ratio_low,
        high: row.ratio_high,
        verdict: row.verdict,
      }));
  }
  const place = data.columns.indexOf(column);
  return data.groups.flatMap((group, i): Dot[] => {
    const [mean, half] = group.means[place]!;
    if (mean === null) return [];
    return [
      {
        group: i,
        value: mean,
        low: half === null ? null : mean - half,
        high: half === null ? null : mean + half,
        verdict: "",
      },
    ];
  });
}

function picture(data: PageData): HTMLElement {
  const columns = pictured(data);
  const all = data.groups.map((_, i) => i);
  let groups = all.length <= MANY + 1 ? all : all.slice(0, MANY);
  const comparison = comparisonOf(data);
  if (comparison && !groups.includes(comparison.baseline)) groups.unshift(comparison.baseline);
  const draws: (() => void)[] = [];
  const make = (column: Column) => {
    const figure = el("figure", { class: "dots" });
    const head = el(
      "figcaption",
      {},
      el("strong", {}, column.title),
      " ",
      el(
        "span",
        { class: "soft" },
        comparison
          ? ""
          : unitFor(
              column.unit,
              dotsOf(data, column).map((d) => d.value),
            ).name,
        column.better === "more" ? " (right is better)" : "",
      ),
    );
    const holder = el("div", { class: "svg-box" });
    figure.append(head, holder);
    const draw = () => {
      const width = holder.clientWidth;
      if (width > 0)
        holder.replaceChildren(panel(data, column, dotsOf(data, column), width, groups));
    };
    draws.push(draw);
    onWidth(holder, draw);
    return figure;
  };
  const box = folded(columns, 4, make, "figures");
  box.classList.add("grid", "four");
  const parts: Child[] = [
    el(
      "p",
      { class: "soft" },
      comparison
        ? [
            "Ratio to ",
            el("strong", {}, data.groups[comparison.baseline]!.policy),
            ", with its 95\u00a0% interval; left of 1 is less.",
          ]
        : data.groups.some((group) => group.means.some(([, half]) => half !== null))
          ? "Means with their 95\u00a0% intervals; left is better, where nothing else is said."
          : "Left is better, where nothing else is said.",
    ),
    box,
  ];
  if (all.length > groups.length) {
    const more = el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: () => {
          groups = all;
          draws.forEach((draw) => draw());
          more.remove();
        },
      },
      `Show ${all.length - groups.length} more policies`,
    );
    parts.push(more);
  }
  if (comparison) {
    const key = (kind: string, text: string) =>
      el("span", { class: "key" }, el("i", { class: `dot ${kind}` }), text);
    parts.push(
      el(
        "p",
        { class: "legend" },
        key("better", "clearly better"),
        key("worse", "clearly worse"),
        key(
          "open",
          comparison.rows.some(isOnlyAlone)
            ? "not clearly different; where the interval excludes 1, not after correction for so many comparisons"
            : "not clearly different",
        ),
      ),
    );
  }
  return el("div", {}, parts);
}

function values(data: PageData): HTMLElement | null {
  const comparison = comparisonOf(data);
  if (!comparison) return null;
  const rows = comparison.rows.map((row): Child[] => {
    const column = columnFor(data, row.key);
    const unit = unitFor(column.unit, [row.baseline, row.value]);
    const in_unit = (v: number | null) => (v === null ? "–" : short(v / unit.size));
    return [
      data.groups[row.group]!.policy,
      column.title,
      `${in_unit(row.baseline)} → ${in_unit(row.value)} ${unit.name}`,
      `${in_unit(row.difference)} (${in_unit(row.low)} to ${in_unit(row.high)})`,
      row.ratio === null
        ? "–"
        : `${short(row.ratio)}` +
          (row.ratio_low === null ? "" : ` (${short(row.ratio_low)} to ${short(row.ratio_high!)})`),
      row.p === null ? "–" : row.p < 0.001 ? "< 0.001" : row.p.toFixed(3),
      row.verdict === "open" ? "not clear" : row.verdict === "same" ? "the same" : row.verdict,
    ];
  });
  return details(
    "All comparisons as a table",
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "All comparisons" },
      valueTable(
        "Each policy against the baseline",
        ["policy", "figure", "from → to", "difference (95 %)", "ratio (95 %)", "p", "verdict"],
        rows,
      ),
    ),
  );
}

function cards(data: PageData): HTMLElement {
  const group = data.groups[0]!;
  return el(
    "dl",
    { class: "cards" },
    data.columns.map((column, place) => {
      const [mean, half] = group.means[place]!;
      if (mean === null) return null;
      const unit = unitFor(column.unit, [mean]);
      const scaled = mean / unit.size;
      return el(
        "div",
        {},
        el("dt", {}, column.title),
        el(
          "dd",
          {},
          Number.isInteger(scaled) ? fixed(scaled, 0) : short(scaled, 4),
          " ",
          el("small", {}, unit.name, half ? ` ± ${short(half / unit.size)}` : ""),
        ),
      );
    }),
  );
}

export function answer(data: PageData): HTMLElement {
  const many = data.groups.length > 1;
  return el(
    "section",
    { id: "answer", "aria-label": "The answer" },
    many
      ? el("p", { class: "answer" }, sentence(data))
      : el(
          "p",
          { class: "answer" },
          "The run of ",
          el("strong", {}, data.groups[0]?.policy ?? "nothing"),
          ".",
        ),
    data.notes.length > 0 &&
      el(
        "ul",
        { class: "notes", "aria-label": "To be noted" },
        data.notes.map((note) => el("li", {}, note)),
      ),
    many ? picture(data) : cards(data),
    data.comparison && el("p", { class: "soft" }, data.comparison.method),
    values(data),
  );
}
