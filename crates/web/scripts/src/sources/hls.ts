// HLS and low-latency HLS by hls.js, and HLS by the browser's own player.

import type Hls from "hls.js";
import type { LevelDetails } from "hls.js";

import { CALM_STEPS, JUMP_S } from "../live";
import { ElementSource, Trouble, library, type Levels, type Task } from "./source";

type Library = typeof Hls;

/** Seconds; the light build of hls.js keeps everything it has played unless told otherwise. */
const BACK_BUFFER_S = 30;
/** A stall makes the player stay this much further behind, in seconds, and it never comes back. */
const STALL_INCREASE_S = 0.25;
/** Faster playback is noticed. */
const RATE_MAX = 1.1;
/** A media error that comes back within this time is no passing one, such as another publisher's other tracks. */
const RECOVERY_MS = 10_000;
/** Two requests that the same part answers are answered within this time. */
const ANSWERED_MS = 100;
/** The browser's own player does not say how late it wants to be. Half of it is usual. */
const NATIVE_DELAY_S = 6;

/** Loads hls.js, once. */
export const loadHls = library<Library>("hls.js", () => (globalThis as { Hls?: Library }).Hls);

export class HlsSource extends ElementSource {
  private hls: Hls | null = null;
  private parts = 0;
  /** When it last recovered from a media error. */
  private recovered = -Infinity;
  /** The delay that hls.js aims at, and for how many steps it has not grown. */
  private target = 0;
  private calm = 0;

  constructor(task: Task) {
    super(task);
  }

  override async open(): Promise<void> {
    const Library = await loadHls();
    if (this.isClosed) return;
    if (!Library.isSupported()) throw new Trouble("This browser cannot play HLS from a script.", true);
    const hls = new Library({
      lowLatencyMode: true,
      liveSyncOnStallIncrease: STALL_INCREASE_S,
      maxLiveSyncPlaybackRate: RATE_MAX,
      backBufferLength: BACK_BUFFER_S,
      // Fragmented MP4 passes through unchanged: a worker would only copy it.
      enableWorker: false,
    });
    this.hls = hls;
    const { Events, ErrorTypes } = Library;
    hls.on(Events.FRAG_LOADED, () => { this.parts += 1; });
    hls.on(Events.LEVEL_LOADED, () => { this.parts += 1; });
    hls.on(Events.BUFFER_APPENDED, this.skipHole);
    this.element.addEventListener("timeupdate", this.skipHole);
    hls.on(Events.ERROR, (_, { fatal, type, details }) => {
      if (!fatal || this.isClosed) return;
      const { owner } = this.task;
      if (details === Library.ErrorDetails.MANIFEST_INCOMPATIBLE_CODECS_ERROR) {
        owner.fails("This browser does not decode what the publisher sends.");
      } else if (type !== ErrorTypes.MEDIA_ERROR) {
        owner.lost();
      } else if (performance.now() - this.recovered < RECOVERY_MS) {
        owner.undecoded();
      } else {
        this.recovered = performance.now();
        hls.recoverMediaError();
      }
    });
    hls.loadSource(new URL(this.task.way.path, document.baseURI).href);
    hls.attachMedia(this.element);
  }

  override close(): void {
    this.isClosed = true;
    this.element.removeEventListener("timeupdate", this.skipHole);
    this.hls?.destroy();
    super.close();
  }

  override received(): number {
    return super.received() + this.parts;
  }

  override delay(): number | null {
    // Zero until a playlist is known.
    return this.hls?.latency || null;
  }

  /** hls.js plays faster by itself; it jumps only where media is missing. */
  override catchUp(): boolean {
    this.comeCloser();
    const late = this.lag() - (this.hls?.targetLatency ?? 0);
    return late < JUMP_S || this.toLive();
  }

  /** hls.js stays further behind after each stall, for as long as it plays; here only while there are more. */
  private comeCloser(): void {
    const { hls } = this;
    const [details, target] = [hls?.latestLevelDetails, hls?.targetLatency];
    if (!hls || !details || !target) return;
    this.calm = target > this.target ? 0 : this.calm + 1;
    this.target = target;
    const least = details.partHoldBack || details.holdBack;
    if (this.calm <= CALM_STEPS || target <= least) return;
    [this.target, this.calm] = [Math.max(least, target - STALL_INCREASE_S), 0];
    hls.targetLatency = this.target;
  }

  override toLive(): boolean {
    const position = this.hls?.liveSyncPosition;
    if (position === null || position === undefined) return false;
    if (position > this.element.currentTime) this.element.currentTime = position;
    return true;
  }

  /**
   * hls.js gives up a reload that waits after 10 s, and then asks every few seconds without waiting. So the return's
   * first part is waited for here, and if hls.js has not heard of it by itself, it loads again at once.
   */
  override revive(): void {
    const details = this.hls?.latestLevelDetails;
    if (details?.canBlockReload) void this.reloadAfter(details);
  }

  private async reloadAfter(details: LevelDetails): Promise<void> {
    const next = new URL(details.url);
    next.searchParams.set("_HLS_msn", `${details.lastPartSn}`);
    next.searchParams.set("_HLS_part", `${details.lastPartIndex + 1}`);
    const hasCome = await fetch(next).then((answer) => answer.ok, () => false);
    // The same part answers the request of hls.js, if there is one.
    await new Promise((resolve) => { setTimeout(resolve, ANSWERED_MS); });
    const { hls } = this;
    if (!hasCome || this.isClosed || hls?.latestLevelDetails !== details) return;
    details.requestScheduled = 0;
    hls.stopLoad();
    hls.startLoad();
  }

  override levels(): Levels {
    const levels = this.hls?.levels ?? [];
    const name = ({ height, bitrate }: { height: number; bitrate: number }): string =>
      height ? `${height}p` : `${Math.round(bitrate / 1000)} kb/s`;
    const isAutomatic = this.hls?.autoLevelEnabled ?? true;
    return {
      names: levels.length > 1 ? levels.map(name) : [],
      chosen: isAutomatic ? -1 : this.hls?.nextLevel ?? -1,
    };
  }

  override choose(level: number): void {
    if (this.hls) this.hls.nextLevel = level;
  }
}

/** For browsers that give scripts no Media Source Extensions. */
export class NativeHlsSource extends ElementSource {
  constructor(task: Task) {
    super(task);
  }

  override async open(): Promise<void> {
    this.element.src = this.task.way.path;
  }

  override delay(): number | null {
    const { seekable, currentTime } = this.element;
    return seekable.length > 0 ? Math.max(0, seekable.end(seekable.length - 1) - currentTime) : null;
  }

  override catchUp(): boolean {
    return this.lag() < NATIVE_DELAY_S + JUMP_S || this.toLive();
  }

  override toLive(): boolean {
    const { seekable } = this.element;
    if (seekable.length === 0) return false;
    const position = seekable.end(seekable.length - 1) - NATIVE_DELAY_S / 2;
    if (position > this.element.currentTime) this.element.currentTime = position;
    return true;
  }
}
