// The span of time that all pictures over time show; who moves it moves them all.
export const GUTTER = 58; // on the left of each picture over time, for the labels of its y axis
export const MARGIN = 14; // on its right

/** Finer than this nothing is told apart. */
const LEAST_S = 1e-3;

export class TimeView {
  from: number;
  until: number;
  private listeners: (() => void)[] = [];
  private frame = 0;

  constructor(
    readonly begin: number,
    readonly end: number,
  ) {
    this.from = begin;
    this.until = end;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  get span(): number {
    return this.until - this.from;
  }

  set(from: number, until: number): void {
    const whole = this.end - this.begin;
    const span = Math.min(whole, Math.max(LEAST_S, until - from));
    // A span that became smaller or larger than asked for stays where it was.
    const middle = (from + until) / 2;
    this.from = Math.max(this.begin, Math.min(middle - span / 2, this.end - span));
    this.until = this.from + span;
    this.changed();
  }

  reset(): void {
    this.set(this.begin, this.end);
  }

  zoom(factor: number, around = (this.from + this.until) / 2): void {
    const span = Math.min(this.end - this.begin, Math.max(LEAST_S, this.span / factor));
    const share = (around - this.from) / this.span;
    this.set(around - share * span, around + (1 - share) * span);
  }

  pan(share: number): void {
    this.set(this.from + share * this.span, this.until + share * this.span);
  }

  /** Drawn once a frame, however often it has moved meanwhile. */
  changed(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const start = performance.now();
      for (const listener of this.listeners) listener();
      performance.measure("ductile:step", { start, end: performance.now() });
    });
  }
}
