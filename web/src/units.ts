// Numbers and units as people read them: the unit follows the size, and is the same down a column.

export interface Unit {
  name: string;
  /** In the unit that the value is given in. */
  size: number;
}

const TIMES: Unit[] = [
  { name: "s", size: 1 },
  { name: "min", size: 60 },
  { name: "h", size: 3600 },
  { name: "days", size: 86400 },
];
const FROM = [0, 180, 2 * 3600, 3 * 86400];

const PREFIXES: Unit[] = [
  { name: "", size: 1 },
  { name: "k", size: 1e3 },
  { name: "M", size: 1e6 },
  { name: "G", size: 1e9 },
  { name: "T", size: 1e12 },
];

function largest(values: Iterable<number | null>): number {
  let most = 0;
  for (const value of values) {
    if (value !== null && Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  }
  return most;
}

/** A unit in which the largest of these values, given in `unit`, is easy to read. */
export function unitFor(unit: string, values: Iterable<number | null>): Unit {
  const most = largest(values);
  if (unit === "s" || unit === "node s") {
    const prefix = unit === "s" ? "" : "node ";
    let best = TIMES[0]!;
    TIMES.forEach((time, i) => {
      if (most >= FROM[i]!) best = time;
    });
    return { name: prefix + best.name, size: best.size };
  }
  if (unit === "h" || unit === "node h") {
    const inner = unitFor(unit === "h" ? "s" : "node s", [most * 3600]);
    return { name: inner.name, size: inner.size / 3600 };
  }
  if (unit === "J" || unit === "W" || unit === "Ws") {
    let best = PREFIXES[0]!;
    for (const prefix of PREFIXES) if (most >= 2 * prefix.size) best = prefix;
    return { name: best.name + unit, size: best.size };
  }
  return { name: unit, size: 1 };
}

/**
 * Decimals that show the largest of them with three digits that count, and one more where the
 * smallest needs it.
 */
export function decimalsFor(values: Iterable<number | null>): number {
  const list = [...values].filter((v): v is number => v !== null && Number.isFinite(v) && v !== 0);
  if (list.every((v) => Number.isInteger(v))) return 0;
  const most = largest(list);
  const least = Math.min(...list.map(Math.abs));
  const forMost = 2 - Math.floor(Math.log10(most));
  const forLeast = 1 - Math.floor(Math.log10(least));
  return Math.max(0, Math.min(3, Math.max(forMost, Math.min(forLeast, forMost + 1))));
}

const formats = new Map<number, Intl.NumberFormat>();

/** With thin spaces between thousands, and a minus sign that is one. */
export function fixed(value: number, decimals: number): string {
  let format = formats.get(decimals);
  if (!format) {
    format = new Intl.NumberFormat("en", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    });
    formats.set(decimals, format);
  }
  return format
    .format(value)
    .replace(/,/g, "\u2009")
    .replace(/^-(?=[0.]*$)/, "")
    .replace("-", "\u2212");
}

/** With `digits` digits that count. */
export function short(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
  return fixed(value, Math.max(0, Math.min(6, decimals)));
}

/** A round value of an axis: no more digits than it has. */
export function tick(value: number): string {
  const decimals = Number.isInteger(value)
    ? 0
    : Math.min(6, (String(Number(value.toPrecision(6))).split(".")[1] ?? "").length);
  return fixed(value, decimals);
}

/** A round length of time: in the largest unit that has it whole. */
export function roundDuration(value_s: number): string {
  for (const unit of [...TIMES].reverse()) {
    const value = value_s / unit.size;
    if (value >= 1 && Number.isInteger(value)) {
      return `${fixed(value, 0)}\u00a0${unit.name === "days" ? (value === 1 ? "day" : "days") : unit.name}`;
    }
  }
  return `${tick(value_s)}\u00a0s`;
}

/** A length of time by itself: "2.6 h". */
export function duration(value_s: number): string {
  if (!Number.isFinite(value_s)) return "–";
  const unit = unitFor("s", [value_s]);
  const value = value_s / unit.size;
  const text = Number.isInteger(value) ? fixed(value, 0) : short(value);
  return `${text}\u00a0${unit.name === "days" && value === 1 ? "day" : unit.name}`;
}

/** A difference of times: "+2.6 h". */
export function signed(value_s: number): string {
  return `${value_s > 0 ? "+" : ""}${duration(value_s)}`;
}

/** Seconds as the files have them, to the microsecond. */
export function exact(value_s: number): string {
  return String(Math.round(value_s * 1e6) / 1e6);
}

/** Times after ten years are those of a clock that began in 1970: of a controller. */
const CLOCK_FROM_S = 10 * 365 * 86400;

function clock(value_s: number, step_s: number): string {
  const text = new Date(value_s * 1000).toISOString(); // "2026-11-27T23:39:38.304Z", UTC
  if (step_s >= 86400) return text.slice(0, 10);
  if (step_s >= 60) return text.slice(5, 16).replace("T", " ");
  return step_s >= 1 ? text.slice(11, 19) : text.slice(11, 23);
}

/** A moment since the zero of submit times, as finely as `step_s` asks for. */
export function moment(value_s: number, step_s: number, end_s: number): string {
  if (end_s > CLOCK_FROM_S) return clock(value_s, step_s);
  const sign = value_s < 0 ? "\u2212" : "";
  const value = Math.abs(value_s);
  if (end_s < 7200) {
    if (step_s >= 60) return `${sign}${tick(value / 60)}\u2009min`;
    const decimals = step_s >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step_s)));
    return `${sign}${fixed(value, decimals)}\u2009s`;
  }
  const rounded = Math.round(value * 1e6) / 1e6;
  const days = Math.floor(rounded / 86400);
  const rest = rounded - days * 86400;
  if (step_s >= 86400 || (rest < 1e-6 && days > 0)) return `day\u2009${sign}${fixed(days, 0)}`;
  const hours = Math.floor(rest / 3600);
  const minutes = Math.floor((rest % 3600) / 60);
  const two = (n: number) => String(n).padStart(2, "0");
  let text = `${two(hours)}:${two(minutes)}`;
  if (step_s < 60) {
    const s = rest % 60;
    const decimals = step_s >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step_s)));
    text += `:${s < 10 - 0.5 * 10 ** -decimals ? "0" : ""}${s.toFixed(decimals)}`;
  }
  return sign + (days > 0 ? `${days}d\u2009${text}` : text);
}

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  432000, 864000, 1728000, 4320000, 8640000, 17280000, 43200000, 86400000,
];

/** Round moments within a span, at most `count` of them. */
export function momentTicks(t0: number, t1: number, count: number): { step: number; at: number[] } {
  const raw = (t1 - t0) / Math.max(1, count);
  let step = STEPS.find((s) => s >= raw);
  if (raw < 1) step = niceStep(raw);
  step ??= niceStep(raw);
  const at: number[] = [];
  for (let i = Math.ceil(t0 / step - 1e-9) + 0; i * step <= t1 * (1 + 1e-12); i++)
    at.push(i * step);
  return { step, at };
}

/** The next of 1, 2, 5 times a power of ten. */
export function niceStep(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= raw * 0.9999) return factor * power;
  return 10 * power;
}

/** "29 % less", "2.1 times as much", "the same". */
export function change(ratio: number): string {
  if (!Number.isFinite(ratio)) return "not comparable";
  if (ratio > 2) return `${short(ratio, 2)} times as much`;
  const percent = (ratio - 1) * 100;
  if (Math.abs(percent) < 0.05) return "the same";
  const text = Math.abs(percent) < 10 ? fixed(Math.abs(percent), 1) : fixed(Math.abs(percent), 0);
  return `${text}\u00a0% ${percent < 0 ? "less" : "more"}`;
}
