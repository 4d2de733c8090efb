// A body that the browser's own player follows live: sound in its own container, WebM.

import { ElementSource, type Task } from "./source";

/** A larger drift is not made up by playing music faster; the body is loaded again. */
const RELOAD_S = 10;

export class HttpSource extends ElementSource {
  /** The clock when the element's time was zero, if it had played without a break. */
  private clockZero: number | null = null;
  private readonly onPlaying = (): void => {
    this.clockZero ??= now() - this.element.currentTime;
  };

  constructor(task: Task) {
    super(task);
  }

  override async open(): Promise<void> {
    // Nothing is loaded before playback is allowed, so that it does not start late.
    this.element.preload = "none";
    this.element.addEventListener("playing", this.onPlaying);
    this.element.src = this.path();
  }

  override close(): void {
    this.element.removeEventListener("playing", this.onPlaying);
    super.close();
  }

  /** The server's burst is of unknown length, so only changes of the delay are known. */
  override delay(): number | null {
    return null;
  }

  override lag(): number {
    return this.clockZero === null ? 0 : Math.max(0, now() - this.clockZero - this.element.currentTime);
  }

  override catchUp(): boolean {
    return this.lag() < RELOAD_S;
  }
}

const now = (): number => performance.now() / 1000;
