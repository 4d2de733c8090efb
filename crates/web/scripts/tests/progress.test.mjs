// When a player is taken to be stuck, and what is tried next.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";

const { Attempts } = await import(join(process.env.CARILLON_MODULES, "attempts.mjs"));
const { PictureWatch, Watchdog } = await import(join(process.env.CARILLON_MODULES, "watchdog.mjs"));

const way = (name) => ({ name, label: name, path: name, picture: true, sound: true });
const ALL = [way("webrtc"), way("flv"), way("hls")];
const names = (ways) => ways.map(({ name }) => name);

test("media that arrives is waited for, media that does not is not", () => {
  const dog = new Watchdog(0, 0, 0);
  assert.deepEqual(dog.look(1_000, 0, 10), { hasMoved: false, stillMs: 1_000, idleMs: 0 });
  assert.deepEqual(dog.look(3_000, 0, 10), { hasMoved: false, stillMs: 3_000, idleMs: 2_000 });
  assert.deepEqual(dog.look(4_000, 0.5, 10), { hasMoved: true, stillMs: 0, idleMs: 0 });
});

test("a page that was frozen has missed nothing", () => {
  const dog = new Watchdog(0, 1, 1);
  assert.equal(dog.look(4_000, 1, 1).stillMs, 4_000);
  assert.deepEqual(dog.look(60_000, 1, 1), { hasMoved: false, stillMs: 0, idleMs: 0 });
});

test("a picture that is lost does not come, one that pauses does", () => {
  // The sound arrives all the time.
  const looks = (watch, looks) => looks.map(([now, frames, losses]) => watch.look(now, frames, losses, now + 1));
  assert.deepEqual(
    looks(new PictureWatch(0), [[1_000, 5, 0], [2_000, 9, 40], [5_000, 9, 90], [7_000, 9, 90], [7_001, 9, 90], [8_000, 10, 95], [8_100, 11, 95]]),
    [false, false, false, false, true, true, false],
  );
  assert.deepEqual(looks(new PictureWatch(0), [[1_000, 9, 4], [4_000, 9, 4], [8_000, 9, 4]]), [false, false, false]);
  // A second between two pictures is no pause.
  assert.deepEqual(
    looks(new PictureWatch(0), Array.from({ length: 12 }, (_, second) => [1_000 * second, second, second])),
    Array.from({ length: 12 }, () => false),
  );
  // It never begins.
  assert.deepEqual(looks(new PictureWatch(0), [[3_000, 0, 40], [5_001, 0, 80]]), [false, true]);
  // The page was frozen.
  assert.deepEqual(looks(new PictureWatch(0), [[1_000, 9, 4], [60_000, 9, 8], [62_000, 9, 9]]), [false, false, false]);
  // The publisher is away, and its last picture was asked for in vain.
  const away = new PictureWatch(0);
  for (let second = 1; second < 30; second += 1) {
    assert.equal(away.look(1_000 * second, Math.min(second, 3) * 25, second > 3 ? 1 : 0, Math.min(second, 3)), false);
  }
});

test("ways that were too slow come back with more time, ways that failed do not", () => {
  const attempts = new Attempts();
  attempts.fail("webrtc", "refused");
  attempts.tire("flv", "slow");
  assert.deepEqual(names(attempts.left(ALL)), ["hls"]);
  assert.equal(attempts.reason("flv"), "slow");
  assert.equal(attempts.reason("hls"), undefined);
  attempts.tire("hls", "slow");
  assert.deepEqual(names(attempts.left(ALL)), []);
  assert.ok(attempts.forgiveSlow());
  assert.equal(attempts.patience, 2);
  assert.deepEqual(names(attempts.left(ALL)), ["flv", "hls"]);
  assert.ok(!attempts.forgiveSlow());
  attempts.clear();
  assert.deepEqual(names(attempts.left(ALL)), ["webrtc", "flv", "hls"]);
});

test("pauses grow up to a limit, and a decoder gets a second try", () => {
  const attempts = new Attempts();
  const pauses = Array.from({ length: 8 }, () => attempts.pauseMs());
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000]);
  attempts.succeed("flv");
  assert.equal(attempts.pauseMs(), 1_000);
  assert.ok(attempts.mayDecodeAgain());
  assert.ok(!attempts.mayDecodeAgain());
  attempts.settle();
  assert.ok(attempts.mayDecodeAgain());
});
