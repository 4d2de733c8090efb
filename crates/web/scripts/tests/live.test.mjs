// How a player comes back to live.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";

const { Governor, JUMP_S } = await import(join(process.env.CARILLON_MODULES, "live.mjs"));
const { Words, seconds } = await import(join(process.env.CARILLON_MODULES, "words.mjs"));

test("a small drift is left alone, a larger one made up, a large one jumped over", () => {
  const governor = new Governor();
  const target = governor.target();
  assert.deepEqual(governor.step(target + 0.1), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + 0.1), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + 2), { rate: 1.1, jump: null });
  // It goes on until live is reached.
  assert.deepEqual(governor.step(target + 0.1), { rate: 1.05, jump: null });
  assert.deepEqual(governor.step(target), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + 0.1), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + JUMP_S + 1), { rate: 1, jump: target });
});

test("a player begins live, whatever was sent before", () => {
  const governor = new Governor();
  const target = governor.target();
  assert.deepEqual(governor.step(target + 1), { rate: 1, jump: target });
  assert.deepEqual(governor.step(target + 1), { rate: 1, jump: target });
  assert.deepEqual(governor.step(target + 1), { rate: 1.05, jump: null });
});

/** A player whose looks are off by up to `jitter`; it keeps what the governor has it do. */
class Player {
  rates = [];
  seconds = 0;

  constructor(delay, jitter = 0) {
    [this.delay, this.jitter, this.governor] = [delay, jitter, new Governor()];
  }

  /** Plays for so long. Each second brings `more` than a second of media. */
  play(seconds, more = 0) {
    for (let second = 0; second < seconds; second += 1) {
      this.seconds += 1;
      // Spread evenly, and never the same way twice.
      const off = ((this.seconds * 0.618) % 1) * 2 - 1;
      const { rate, jump } = this.governor.step(this.delay + off * this.jitter);
      if (jump !== null) this.delay = jump;
      this.delay += 1 - rate + more;
      this.rates.push(rate);
    }
    return this;
  }

  /** How often playback was made faster or slower, and for how many seconds in all. */
  changes() {
    const changed = this.rates.filter((rate, index) => rate !== 1 && (this.rates[index - 1] ?? 1) === 1);
    return [changed.length, this.rates.filter((rate) => rate !== 1).length];
  }

  isAtTarget(within) {
    return Math.abs(this.delay - TARGET) < within;
  }
}

const TARGET = new Governor().target();

test("a player soon has the same delay wherever it begins", () => {
  for (const begin of [0.05, 0.2, 0.33, 0.38, 0.42, 0.55, 0.59, 0.61, 2]) {
    const player = new Player(begin, 0.02).play(20);
    assert.ok(player.isAtTarget(0.02), `${begin}: ${player.delay}`);
    assert.ok(player.rates.every((rate) => rate >= 0.949 && rate <= 1.051), `${begin}: ${player.rates}`);
    assert.ok(player.changes()[0] <= 1, `${begin}: ${player.rates}`);
  }
});

test("what a slow moment leaves is made up after a calm minute, and nothing after that", () => {
  for (const drift of [0.04, 0.1, 0.15, 0.19, 0.3, 3]) {
    const player = new Player(TARGET, 0.02).play(20);
    player.delay += drift;
    const before = player.changes()[0];
    player.play(200);
    assert.ok(player.isAtTarget(0.04), `${drift}: ${player.delay}`);
    const after = player.changes();
    assert.ok(after[0] - before <= 2, `${drift}: ${after}`);
    assert.deepEqual(player.play(3_600).changes(), after, `${drift}`);
  }
});

test("a player that has run dry is where it was two minutes later", () => {
  for (const left of [0.05, 0.3, 0.5, 0.7, 0.9, 1.5]) {
    const player = new Player(TARGET, 0.02).play(100);
    player.governor.stalled();
    player.delay = left;
    player.play(60);
    assert.ok(player.governor.target() > TARGET);
    player.play(90);
    assert.ok(player.isAtTarget(0.04), `${left}: ${player.delay}`);
  }
});

test("a player that has run dry and plays with less than it would keep is not made slower", () => {
  const player = new Player(TARGET, 0.02).play(20);
  player.governor.stalled();
  player.governor.stalled();
  player.delay = TARGET + 0.2;
  const before = player.changes();
  assert.deepEqual(player.play(100).changes(), before);
});

test("a player that runs dry while it comes closer stays where it is", () => {
  const player = new Player(0.55).play(8);
  assert.ok(player.rates[7] > 1);
  player.governor.stalled();
  assert.deepEqual(player.governor.step(0.1), { rate: 1, jump: null });
});

test("clocks that differ are followed in seconds of a small rate", () => {
  for (const more of [0.000_1, -0.000_1]) {
    const player = new Player(TARGET, 0.02).play(20);
    const before = player.changes();
    player.play(3_600, more);
    assert.ok(player.isAtTarget(0.05), `${player.delay}`);
    const [times, seconds] = player.changes().map((count, index) => count - before[index]);
    assert.ok(times > 5 && times < 15 && seconds === times, `${times} times, ${seconds} s`);
  }
});

test("media that comes in bursts is not followed", () => {
  for (const jitter of [0.1, 0.15, 0.25, 0.3]) {
    const player = new Player(TARGET, jitter).play(300);
    const before = player.changes();
    player.play(3_600);
    assert.deepEqual(player.changes(), before, `${jitter}`);
  }
});

test("a player that runs dry keeps more, within a bound", () => {
  const governor = new Governor();
  const before = governor.target();
  governor.stalled();
  assert.ok(governor.target() > before);
  for (let stall = 0; stall < 100; stall += 1) governor.stalled();
  assert.ok(governor.target() < JUMP_S);
});

test("a player that has not run dry for long keeps less again", () => {
  const governor = new Governor();
  const before = governor.target();
  governor.stalled();
  for (let second = 0; second < 55; second += 1) governor.step(governor.target());
  assert.ok(governor.target() > before);
  for (let second = 0; second < 10; second += 1) governor.step(governor.target());
  assert.equal(governor.target(), before);
});

test("the delay is said again when it has changed, and not each second", () => {
  const words = new Words();
  const playing = (delay) => ({ state: "playing", delay: () => delay });
  assert.equal(words.of(playing(1.84), 0), "Playing, 1.8 s behind.");
  assert.equal(words.of(playing(3), 1_000), "Playing, 1.8 s behind.");
  assert.equal(words.of(playing(1.9), 9_000), "Playing, 1.8 s behind.");
  assert.equal(words.of(playing(3), 9_000), "Playing, 3.0 s behind.");
  assert.equal(words.of(playing(null), 9_000), "Playing.");
  assert.equal(words.of({ state: "offline", delay: () => null }, 9_000), "Not live. Waiting for the broadcaster.");
  assert.equal(seconds(12.3), "12 s");
  assert.equal(seconds(0.02), "under 0.1 s");
});
