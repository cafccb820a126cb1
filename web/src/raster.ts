// Many bars as a picture of so many columns and rows: each cell has the mean colour of what is in
// it, and is as opaque as it is full. So nothing is lost of bars that are narrower than a pixel,
// and a machine that is half empty looks half empty.
import { eachIn, type Bars } from "./bars";
import type { Rgb } from "./theme";

export class Raster {
  /** Of each cell red, green, blue (times how full it is) and how full it is. */
  readonly cells: Float32Array;

  constructor(
    readonly columns: number,
    readonly rows: number,
  ) {
    this.cells = new Float32Array(columns * rows * 4);
  }

  /**
   * Adds the bars of a span of time and of nodes (`until` and `end` exclusive). `colours` has a
   * colour for each number of `key`.
   */
  add(
    bars: Bars,
    from: number,
    until: number,
    begin: number,
    end: number,
    key: ArrayLike<number>,
    colours: Rgb[],
  ): void {
    const { cells, columns, rows } = this;
    const perSecond = columns / (until - from);
    const perNode = rows / (end - begin);
    eachIn(bars, from, until, (i) => {
      let x0 = (bars.from[i]! - from) * perSecond;
      let x1 = (bars.until[i]! - from) * perSecond;
      let y0 = (bars.first[i]! - begin) * perNode;
      let y1 = (bars.last[i]! + 1 - begin) * perNode;
      if (x0 < 0) x0 = 0;
      if (x1 > columns) x1 = columns;
      if (y0 < 0) y0 = 0;
      if (y1 > rows) y1 = rows;
      if (x1 <= x0 || y1 <= y0) return;
      const part = bars.cores[i]! > 0 ? bars.part(i) : 1;
      const [r, g, b] = colours[key[i]!]!;
      const firstX = Math.floor(x0);
      // A bar that ends where a cell begins has nothing of it.
      const lastX = Math.min(columns - 1, Math.ceil(x1) - 1);
      const lastY = Math.min(rows - 1, Math.ceil(y1) - 1);
      for (let y = Math.floor(y0); y <= lastY; y++) {
        const high = (Math.min(y + 1, y1) - Math.max(y, y0)) * part;
        let at = (y * columns + firstX) * 4;
        for (let x = firstX; x <= lastX; x++, at += 4) {
          // Whole cells between the first and the last one.
          const wide = x > firstX && x < lastX ? 1 : Math.min(x + 1, x1) - Math.max(x, x0);
          const area = wide * high;
          cells[at] += r * area;
          cells[at + 1] += g * area;
          cells[at + 2] += b * area;
          cells[at + 3] += area;
        }
      }
    });
  }

  /** As pixels, as opaque as they are full. */
  pixels(): ImageData {
    const image = new ImageData(this.columns, this.rows);
    const { data } = image;
    const { cells } = this;
    for (let at = 0; at < cells.length; at += 4) {
      const full = cells[at + 3]!;
      if (full === 0) continue;
      data[at] = cells[at]! / full;
      data[at + 1] = cells[at + 1]! / full;
      data[at + 2] = cells[at + 2]! / full;
      data[at + 3] = full * 255;
    }
    return image;
  }

  /** A part of the columns, `from` to `until` (as shares of all), in fewer of them. */
  narrowed(from: number, until: number, columns: number): Raster {
    const result = new Raster(columns, this.rows);
    const wide = ((until - from) * this.columns) / columns;
    const start = from * this.columns;
    const target = result.cells;
    // Row by row, as they lie in memory.
    for (let y = 0; y < this.rows; y++) {
      for (let x = 0; x < columns; x++) {
        const a = Math.max(0, Math.floor(start + x * wide));
        const b = Math.min(this.columns, Math.max(a + 1, Math.floor(start + (x + 1) * wide)));
        let [red, green, blue, full] = [0, 0, 0, 0];
        for (let k = a, at = (y * this.columns + a) * 4; k < b; k++, at += 4) {
          red += this.cells[at]!;
          green += this.cells[at + 1]!;
          blue += this.cells[at + 2]!;
          full += this.cells[at + 3]!;
        }
        const share = 1 / Math.max(1, b - a);
        const out = (y * columns + x) * 4;
        target[out] = red * share;
        target[out + 1] = green * share;
        target[out + 2] = blue * share;
        target[out + 3] = full * share;
      }
    }
    return result;
  }
}
