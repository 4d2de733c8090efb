// Keeping up with live: how a player that loads by itself comes back after a drift, and to the same delay each time.

/** Kept loaded to cover late packets. A player that runs dry soon keeps more. */
const TARGET_S = 0.4;
/** The drift from which on playback is faster at once; smaller ones come and go, and count by their mean. */
const MARGIN_S = 0.2;
/**
 * A mean drift up to this is left to a player that has settled: pictures arrive so far apart, and a look tells no
 * better. Clocks that differ by 100 millionths take five minutes for it.
 */
const SETTLED_S = 0.03;
/** One that has not settled leaves only this: it is less than two looks differ by. */
const EXACT_S = 0.01;
/** Where a look is this much above the mean, media comes in bursts, and more than they take is kept already. */
const BURST_S = MARGIN_S / 2;
/** Playback is faster by the small rate up to this drift, and by the large one beyond. Neither is noticed. */
const SMALL_DRIFT_S = 1.5;
const SMALL_RATE = 1.05;
const LARGE_RATE = 1.1;
/** A larger drift would take minutes to make up, so playback jumps. */
export const JUMP_S = 4;
/**
 * A player begins with what was sent since the last keyframe, and jumps over it in these first steps: when it begins to
 * play, and when all of that has arrived.
 */
const BEGIN_STEPS = 2;
/** So many steps after that tell where it has begun: up to the margin above the target, or anywhere below it. */
const BEGUN_STEPS = 5;
/** Each time the player runs dry it keeps this much more, up to a limit. */
const STALL_STEP_S = 0.4;
const STALLS_MAX = 5;
/**
 * After so many steps without running dry, of a second each, it keeps that much less again. As many without any change
 * tell its mean drift.
 */
export const CALM_STEPS = 60;

/** What to do now. */
export interface Step {
  rate: number;
  /** The delay to jump to; `null` to play on. */
  jump: number | null;
}

/** Decides for one source; reads no clock. */
export class Governor {
  private readonly settler = new Settler();
  private stalls = 0;
  private isLate = false;
  private steps = 0;
  private calm = 0;

  /** The player ran dry, and plays on at its normal rate. */
  stalled(): void {
    this.stalls = Math.min(this.stalls + 1, STALLS_MAX);
    this.calm = 0;
    this.isLate = false;
    this.settler.forget();
  }

  /** The delay that is aimed at, in seconds. */
  target(): number {
    return TARGET_S + this.stalls * STALL_STEP_S;
  }

  /** For a player this many seconds behind live. */
  step(delay: number): Step {
    this.steps += 1;
    this.calm += 1;
    if (this.calm > CALM_STEPS && this.stalls > 0) [this.stalls, this.calm] = [this.stalls - 1, 0];
    const drift = delay - this.target();
    const isBeginning = this.steps <= BEGIN_STEPS;
    const isFar = drift > (isBeginning ? MARGIN_S : JUMP_S);
    this.isLate = !isFar && (drift >= MARGIN_S || (this.isLate && drift > 0));
    if (isFar || isBeginning || this.isLate) this.settler.forget();
    if (isFar) return { rate: 1, jump: this.target() };
    if (this.isLate) return { rate: drift < SMALL_DRIFT_S ? SMALL_RATE : LARGE_RATE, jump: null };
    return { rate: isBeginning ? 1 : this.settler.rate(delay, this.target()), jump: null };
  }
}

/**
 * Makes up a drift within the margin: its mean, which is steady where single looks are not, in as many steps as that
 * takes, none beyond the small rate. A player that has less than the least target plays slower for it.
 */
class Settler {
  /** Of steps at the normal rate. */
  private delays: number[] = [];
  private enough = BEGUN_STEPS;
  private isSettled = false;
  /** The rate of so many steps that are left until the drift is made up. */
  private settlingRate = 1;
  private left = 0;

  /** The delay changes by other means. */
  forget(): void {
    [this.delays, this.left, this.isSettled] = [[], 0, false];
  }

  rate(delay: number, target: number): number {
    if (this.left === 0) this.look(delay, target);
    if (this.left === 0) return 1;
    this.left -= 1;
    return this.settlingRate;
  }

  private look(delay: number, target: number): void {
    const { delays } = this;
    delays.push(delay);
    if (delays.length < this.enough) return;
    const mean = delays.reduce((sum, one) => sum + one, 0) / delays.length;
    const isBursty = Math.max(...delays) - mean > BURST_S;
    const drift = mean > target ? mean - target : isBursty ? 0 : Math.min(0, mean - TARGET_S);
    if (Math.abs(drift) > (this.isSettled ? SETTLED_S : EXACT_S)) {
      this.left = Math.ceil(Math.abs(drift) / (SMALL_RATE - 1));
      this.settlingRate = 1 + drift / this.left;
    }
    [this.delays, this.enough, this.isSettled] = [[], CALM_STEPS, true];
  }
}
