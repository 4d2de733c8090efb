// Keeping up with live: how a player that loads by itself comes back after a drift.

/** Kept loaded to cover late packets. A player that runs dry soon keeps more. */
const TARGET_S = 0.4;
/** The drift from which on playback is faster; smaller ones come and go. */
const MARGIN_S = 0.2;
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
/** Each time the player runs dry it keeps this much more, up to a limit. */
const STALL_STEP_S = 0.4;
const STALLS_MAX = 5;
/** After so many steps without running dry, of a second each, it keeps that much less again. */
export const CALM_STEPS = 60;

/** What to do now. */
export interface Step {
  rate: number;
  /** The delay to jump to; `null` to play on. */
  jump: number | null;
}

/** Decides for one source; reads no clock. */
export class Governor {
  private stalls = 0;
  private rate = 1;
  private steps = 0;
  private calm = 0;

  /** The player ran dry. */
  stalled(): void {
    this.stalls = Math.min(this.stalls + 1, STALLS_MAX);
    this.calm = 0;
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
    if (drift > (this.steps > BEGIN_STEPS ? JUMP_S : MARGIN_S)) {
      this.rate = 1;
      return { rate: 1, jump: this.target() };
    }
    const isFaster = this.rate > 1;
    if (drift <= 0 || (!isFaster && drift < MARGIN_S)) this.rate = 1;
    else this.rate = drift < SMALL_DRIFT_S ? SMALL_RATE : LARGE_RATE;
    return { rate: this.rate, jump: null };
  }
}
