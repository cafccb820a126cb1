// Values that hold from one moment to the next.

export class Steps {
  private readonly sums: Float64Array; // of value times time, up to each moment

  /** `values[i]` holds from `times[i]` until the next one; the last one until `end`. */
  constructor(
    readonly times: Float64Array,
    readonly values: Float64Array,
    readonly end: number,
  ) {
    this.sums = new Float64Array(times.length);
    for (let i = 1; i < times.length; i++) {
      // Where there is no value, as where there is no power cap, nothing is added.
      this.sums[i] = this.sums[i - 1]! + (values[i - 1]! || 0) * (times[i]! - times[i - 1]!);
    }
  }

  private sum(t: number, i: number): number {
    return i < 0 ? 0 : this.sums[i]! + (this.values[i]! || 0) * (t - this.times[i]!);
  }

  /** Means over `n` equal parts of a span; null where it holds nothing. */
  means(from: number, until: number, n: number): (number | null)[] {
    const result: (number | null)[] = new Array(n);
    const width = (until - from) / n;
    const { times } = this;
    let i = place(times, from);
    let before = this.sum(from, i);
    for (let k = 0; k < n; k++) {
      const begin = from + k * width;
      const t = from + (k + 1) * width;
      const startedIn = i;
      while (i + 1 < times.length && times[i + 1]! <= t) i++;
      const now = this.sum(t, i);
      const isOver = begin >= this.end || t < (times[0] ?? Infinity);
      // Within one step its value itself: sums of long runs have few digits for short spans.
      if (isOver || i < 0) result[k] = null;
      else if (startedIn === i) result[k] = this.values[i]!;
      else result[k] = (now - before) / width;
      before = now;
    }
    return result;
  }

  /** At `n` moments in the middle of equal parts of a span. */
  samples(from: number, until: number, n: number): (number | null)[] {
    const width = (until - from) / n;
    return Array.from({ length: n }, (_, k) => {
      const t = from + (k + 0.5) * width;
      const i = t > this.end ? -1 : place(this.times, t);
      return i < 0 || Number.isNaN(this.values[i]) ? null : this.values[i]!;
    });
  }

  mean(from: number, until: number): number {
    const a = place(this.times, from);
    const b = place(this.times, until);
    return (this.sum(until, b) - this.sum(from, a)) / (until - from);
  }

  most(): number {
    let most = 0;
    for (const v of this.values) if (v > most) most = v;
    return most;
  }
}

/** The last moment that is at most `t`; -1: none. */
function place(times: Float64Array, t: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** How much is held at each moment, where things are held from (in rising order) until. */
export function heldSteps(
  from: Float64Array,
  until: Float64Array,
  weight: Float64Array,
  begin: number,
  end: number,
): Steps {
  const n = from.length;
  const order = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  order.sort((a, b) => until[a]! - until[b]!);
  const times = new Float64Array(2 * n + 1);
  const values = new Float64Array(2 * n + 1);
  times[0] = begin;
  let last = 0;
  let held = 0;
  let i = 0;
  let j = 0;
  while (i < n || j < n) {
    const isStart = i < n && from[i]! < until[order[j]!]!;
    const t = isStart ? from[i]! : until[order[j]!]!;
    if (isStart) held += weight[i++]!;
    else held -= weight[order[j++]!]!;
    if (times[last] !== t) last++;
    times[last] = t;
    values[last] = Math.abs(held) < 1e-9 ? 0 : held;
  }
  return new Steps(times.slice(0, last + 1), values.slice(0, last + 1), end);
}
