// QR codes (ISO/IEC 18004): bytes, versions 1 to 10, error correction level M.

/** Error correction codewords per block, by version. */
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26];
/** Blocks, by version. */
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5];
/** All codewords, by version. */
const CODEWORDS = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346];
/** Centres of the alignment patterns beside the first, 6; by version. */
const ALIGNMENT = [[], [18], [22], [26], [30], [34], [22, 38], [24, 42], [26, 46], [28, 50]];
const VERSION_MAX = 10;
/** From this version on the length has 16 bits, before it 8. */
const LONG_COUNT_VERSION = 10;
/** The mode of bytes. */
const BYTES = 0b0100;
/** The two bits of level M in the format information. */
const LEVEL_M = 0b00;
/** Generator polynomials of format and version information, and the format's mask. */
const FORMAT_POLYNOMIAL = 0x537;
const FORMAT_MASK = 0x5412;
const VERSION_POLYNOMIAL = 0x1f25;
/** The field's polynomial: x⁸ + x⁴ + x³ + x² + 1. */
const FIELD = 0x11d;

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (x, y) => (x * y) % 2 + (x * y) % 3 === 0,
  (x, y) => ((x * y) % 2 + (x * y) % 3) % 2 === 0,
  (x, y) => ((x + y) % 2 + (x * y) % 3) % 2 === 0,
];

/** A table's entry for a version; all of them have one for each. */
const of = <T>(table: readonly T[], version: number): T => table[version - 1] as T;

/** Rows of modules, `true` for dark ones, without the quiet zone. `null` if the text is too long. */
export const encode = (text: string): boolean[][] | null => {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= VERSION_MAX; version += 1) {
    const data = dataOf(bytes, version);
    if (data) return draw(version, interleave(data, version));
  }
  return null;
};

/** Mode, length, bytes and padding; `null` if they need a larger version. */
const dataOf = (bytes: Uint8Array, version: number): number[] | null => {
  const capacity = of(CODEWORDS, version) - of(CORRECTION, version) * of(BLOCKS, version);
  const bits: number[] = [];
  const put = (value: number, count: number): void => {
    for (let at = count - 1; at >= 0; at -= 1) bits.push((value >> at) & 1);
  };
  put(BYTES, 4);
  put(bytes.length, version < LONG_COUNT_VERSION ? 8 : 16);
  for (const byte of bytes) put(byte, 8);
  if (bits.length > capacity * 8) return null;
  put(0, Math.min(4, capacity * 8 - bits.length));
  while (bits.length % 8 !== 0) bits.push(0);
  const data: number[] = [];
  for (let at = 0; at < bits.length; at += 8) {
    data.push(bits.slice(at, at + 8).reduce((byte, bit) => (byte << 1) | bit, 0));
  }
  for (let pad = 0xec; data.length < capacity; pad ^= 0xec ^ 0x11) data.push(pad);
  return data;
};

/** Product in the field. */
const times = (one: number, other: number): number => {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * FIELD);
    product ^= ((other >> bit) & 1) * one;
  }
  return product;
};

/** The Reed-Solomon generator of this degree, without its leading coefficient. */
const generator = (degree: number): number[] => {
  const out: number[] = Array<number>(degree).fill(0);
  out[degree - 1] = 1;
  let root = 1;
  for (let factor = 0; factor < degree; factor += 1) {
    for (let at = 0; at < degree; at += 1) {
      out[at] = times(out[at] ?? 0, root) ^ (out[at + 1] ?? 0);
    }
    root = times(root, 2);
  }
  return out;
};

const remainder = (data: number[], divisor: number[]): number[] => {
  const out: number[] = divisor.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (out.shift() ?? 0);
    out.push(0);
    divisor.forEach((coefficient, at) => { out[at] = (out[at] ?? 0) ^ times(coefficient, factor); });
  }
  return out;
};

/** Splits data into blocks, adds their correction, and takes a codeword of each block in turn. */
const interleave = (data: number[], version: number): number[] => {
  const [count, degree] = [of(BLOCKS, version), of(CORRECTION, version)];
  const shortLength = Math.floor(data.length / count);
  const shortCount = count - data.length % count;
  const divisor = generator(degree);
  const blocks: number[][] = [];
  for (let at = 0, block = 0; block < count; block += 1) {
    const length = shortLength + Number(block >= shortCount);
    blocks.push(data.slice(at, at + length));
    at += length;
  }
  const corrections = blocks.map((block) => remainder(block, divisor));
  const out: number[] = [];
  for (const [parts, length] of [[blocks, shortLength + 1], [corrections, degree]] as const) {
    for (let at = 0; at < length; at += 1) {
      for (const part of parts) {
        const codeword = part[at];
        if (codeword !== undefined) out.push(codeword);
      }
    }
  }
  return out;
};

/** A symbol in the making: its modules, and which of them are no data. */
class Canvas {
  readonly size: number;
  readonly modules: boolean[][];
  readonly isFixed: boolean[][];

  constructor(readonly version: number) {
    this.size = version * 4 + 17;
    const blank = (): boolean[][] => Array.from({ length: this.size }, () => Array<boolean>(this.size).fill(false));
    [this.modules, this.isFixed] = [blank(), blank()];
  }

  isDark(x: number, y: number): boolean {
    return this.modules[y]?.[x] ?? false;
  }

  set(x: number, y: number, isDark: boolean): void {
    const row = this.modules[y];
    if (row && x >= 0 && x < this.size) row[x] = isDark;
  }

  /** Sets a module of a pattern; what is outside is left out. */
  fix(x: number, y: number, isDark: boolean): void {
    this.set(x, y, isDark);
    const row = this.isFixed[y];
    if (row && x >= 0 && x < this.size) row[x] = true;
  }

  patterns(): void {
    const { size } = this;
    for (let at = 0; at < size; at += 1) {
      this.fix(6, at, at % 2 === 0);
      this.fix(at, 6, at % 2 === 0);
    }
    for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) this.finder(x, y);
    const centres = [6, ...of(ALIGNMENT, this.version)];
    const last = centres[centres.length - 1];
    for (const x of centres) {
      for (const y of centres) {
        const isCorner = (x === 6 && (y === 6 || y === last)) || (x === last && y === 6);
        if (!isCorner && this.version > 1) this.square(x, y, 2, (ring) => ring !== 1);
      }
    }
    this.format(0);
    this.versionInformation();
  }

  /** Fifteen bits, twice: the level and the mask, with their own correction. */
  format(mask: number): void {
    const data = (LEVEL_M << 3) | mask;
    const bits = ((data << 10) | checked(data, 10, FORMAT_POLYNOMIAL)) ^ FORMAT_MASK;
    const bit = (at: number): boolean => ((bits >> at) & 1) === 1;
    const { size } = this;
    for (let at = 0; at <= 5; at += 1) this.fix(8, at, bit(at));
    this.fix(8, 7, bit(6));
    this.fix(8, 8, bit(7));
    this.fix(7, 8, bit(8));
    for (let at = 9; at < 15; at += 1) this.fix(14 - at, 8, bit(at));
    for (let at = 0; at < 8; at += 1) this.fix(size - 1 - at, 8, bit(at));
    for (let at = 8; at < 15; at += 1) this.fix(8, size - 15 + at, bit(at));
    this.fix(8, size - 8, true);
  }

  /** Data in columns of two from the right, upwards and downwards in turn, around the timing column. */
  data(codewords: number[]): void {
    let at = 0;
    for (let right = this.size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      const isUp = ((right + 1) & 2) === 0;
      for (let step = 0; step < this.size; step += 1) {
        const y = isUp ? this.size - 1 - step : step;
        for (const x of [right, right - 1]) {
          if (this.isFixed[y]?.[x]) continue;
          this.set(x, y, (((codewords[at >> 3] ?? 0) >> (7 - (at & 7))) & 1) === 1);
          at += 1;
        }
      }
    }
  }

  /** Inverts the data where the mask says so; a second time undoes it. */
  mask(mask: number): void {
    const inverts = MASKS[mask];
    this.modules.forEach((row, y) => row.forEach((isDark, x) => {
      if (!this.isFixed[y]?.[x] && inverts?.(x, y)) row[x] = !isDark;
    }));
  }

  /** How hard the symbol is to read: runs, squares, patterns like a finder's, and imbalance. */
  penalty(): number {
    const { size } = this;
    const finder = /(?=10111010000|00001011101)/g;
    let penalty = 0;
    let dark = 0;
    for (let one = 0; one < size; one += 1) {
      for (const isRow of [true, false]) {
        let line = "";
        for (let at = 0; at < size; at += 1) line += Number(isRow ? this.isDark(at, one) : this.isDark(one, at));
        for (const run of line.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2;
        penalty += 40 * (line.match(finder) ?? []).length;
        if (isRow) dark += line.split("1").length - 1;
      }
    }
    for (let y = 1; y < size; y += 1) {
      for (let x = 1; x < size; x += 1) {
        const isDark = this.isDark(x, y);
        const others = [this.isDark(x - 1, y), this.isDark(x, y - 1), this.isDark(x - 1, y - 1)];
        if (others.every((other) => other === isDark)) penalty += 3;
      }
    }
    return penalty + 10 * Math.floor(Math.abs(dark * 20 - size * size * 10) / (size * size));
  }

  private finder(x: number, y: number): void {
    this.square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
  }

  /** Rings around a centre. */
  private square(x: number, y: number, radius: number, isDark: (ring: number) => boolean): void {
    for (let dy = -radius; dy <= radius; dy += 1) {
      for (let dx = -radius; dx <= radius; dx += 1) {
        const [column, row] = [x + dx, y + dy];
        const isInside = Math.min(column, row) >= 0 && Math.max(column, row) < this.size;
        if (isInside) this.fix(column, row, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
      }
    }
  }

  private versionInformation(): void {
    if (this.version < 7) return;
    const bits = (this.version << 12) | checked(this.version, 12, VERSION_POLYNOMIAL);
    for (let at = 0; at < 18; at += 1) {
      const isDark = ((bits >> at) & 1) === 1;
      const [far, near] = [this.size - 11 + at % 3, Math.floor(at / 3)];
      this.fix(far, near, isDark);
      this.fix(near, far, isDark);
    }
  }
}

/** The check bits of a value. */
const checked = (value: number, bits: number, polynomial: number): number => {
  let rest = value;
  for (let at = 0; at < bits; at += 1) rest = (rest << 1) ^ ((rest >> (bits - 1)) * polynomial);
  return rest;
};

const draw = (version: number, codewords: number[]): boolean[][] => {
  const canvas = new Canvas(version);
  canvas.patterns();
  canvas.data(codewords);
  let best = 0;
  let least = Infinity;
  for (let mask = 0; mask < MASKS.length; mask += 1) {
    canvas.format(mask);
    canvas.mask(mask);
    const penalty = canvas.penalty();
    if (penalty < least) [best, least] = [mask, penalty];
    canvas.mask(mask);
  }
  canvas.format(best);
  canvas.mask(best);
  return canvas.modules;
};
