// QR codes are read back by an independent decoder.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";

import jsqr from "jsqr";

const { encode } = await import(join(process.env.CARILLON_MODULES, "qr.mjs"));

/** Bytes that fit versions 1 to 10 at level M, each version's least and most. */
const LENGTHS = [1, 14, 15, 26, 27, 42, 43, 62, 63, 84, 85, 106, 107, 122, 123, 152, 153, 180, 181, 213];

/** Pixels of a symbol with its quiet zone, four to a module. */
const pixels = (rows) => {
  const [scale, quiet] = [4, 4];
  const size = (rows.length + 2 * quiet) * scale;
  const data = new Uint8ClampedArray(size * size * 4).fill(255);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const isDark = rows[Math.floor(y / scale) - quiet]?.[Math.floor(x / scale) - quiet];
      if (isDark) data.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
    }
  }
  return { data, size };
};

const decode = (rows) => {
  const { data, size } = pixels(rows);
  return (jsqr.default ?? jsqr)(data, size, size);
};

test("every version is read back", () => {
  const versions = new Set();
  for (const length of LENGTHS) {
    const address = "https://radio.example.com/live/".padEnd(length, "0123456789/aBc~.").slice(0, length);
    const rows = encode(address);
    const read = decode(rows);
    assert.equal(read?.data, address, `${length} bytes`);
    assert.equal(rows.length, read.version * 4 + 17);
    versions.add(read.version);
  }
  assert.deepEqual([...versions], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("text beyond ASCII is UTF-8", () => {
  assert.equal(decode(encode("https://radio.example/Glöckchen/🔔"))?.data, "https://radio.example/Glöckchen/🔔");
});

test("a text that does not fit has no code", () => {
  assert.equal(encode("x".repeat(214)), null);
});
