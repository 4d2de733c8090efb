// FLV over HTTP, by mpegts.js.

import type Mpegts from "mpegts.js";

import { Governor } from "../live";
import { ElementSource, Trouble, library, type Task } from "./source";

type Library = typeof Mpegts;

/** Played media is kept for this long at most, and then cut to the shorter time. */
const BEHIND_MAX_S = 40;
const BEHIND_MIN_S = 20;

const load = library<Library>("mpegts.js", () => (globalThis as { mpegts?: Library }).mpegts);

export class FlvSource extends ElementSource {
  private player: Mpegts.Player | null = null;
  private readonly governor = new Governor();
  private statistics = 0;
  private hasPlayed = false;
  /** It also waits for its first media, and after each jump. */
  private readonly onWaiting = (): void => {
    if (!this.hasPlayed || this.element.seeking) return;
    this.governor.stalled();
    this.element.playbackRate = 1;
  };
  private readonly onPlaying = (): void => {
    this.hasPlayed = true;
    this.catchUp();
  };

  constructor(task: Task) {
    super(task);
  }

  override async open(): Promise<void> {
    const mpegts = await load();
    if (this.isClosed) return;
    mpegts.LoggingControl.applyConfig({ enableVerbose: false, enableDebug: false, enableInfo: false });
    if (!mpegts.getFeatureList().mseLivePlayback) {
      throw new Trouble("This browser cannot play a live stream from a script.", true);
    }
    const { way, owner } = this.task;
    const player = mpegts.createPlayer(
      {
        type: "flv",
        isLive: true,
        url: new URL(this.path(), document.baseURI).href,
        hasAudio: way.sound,
        hasVideo: way.picture,
      },
      {
        isLive: true,
        lazyLoad: false,
        enableStashBuffer: false,
        // The governor does it, with a rate that is not heard.
        liveSync: false,
        liveBufferLatencyChasing: false,
        fixAudioTimestampGap: true,
        autoCleanupSourceBuffer: true,
        autoCleanupMaxBackwardDuration: BEHIND_MAX_S,
        autoCleanupMinBackwardDuration: BEHIND_MIN_S,
      },
    );
    this.player = player;
    const listen = (event: string, act: (...all: unknown[]) => void): void => {
      player.on(event, (...all: unknown[]) => { if (!this.isClosed) act(...all); });
    };
    listen(mpegts.Events.ERROR, (type, detail) => this.fail(mpegts, String(type), String(detail)));
    listen(mpegts.Events.METADATA_ARRIVED, () => owner.described());
    listen(mpegts.Events.LOADING_COMPLETE, () => owner.lost());
    listen(mpegts.Events.STATISTICS_INFO, (report) => {
      // The media behind a hole may come when playback has stopped in front of it.
      this.skipHole();
      if ((report as { speed?: number }).speed) this.statistics += 1;
    });
    this.element.addEventListener("waiting", this.onWaiting);
    this.element.addEventListener("timeupdate", this.skipHole);
    this.element.addEventListener("playing", this.onPlaying, { once: true });
    player.attachMediaElement(this.element);
    player.load();
  }

  override close(): void {
    this.element.removeEventListener("waiting", this.onWaiting);
    this.element.removeEventListener("timeupdate", this.skipHole);
    this.element.removeEventListener("playing", this.onPlaying);
    this.isClosed = true;
    this.player?.destroy();
    super.close();
  }

  override received(): number {
    return super.received() + this.statistics;
  }

  override catchUp(): boolean {
    const delay = this.delay();
    if (delay === null) return true;
    const { rate, jump } = this.governor.step(delay);
    if (jump !== null) this.jump(jump);
    if (this.element.playbackRate !== rate) this.element.playbackRate = rate;
    return true;
  }

  override toLive(): boolean {
    return this.jump(this.governor.target());
  }

  private jump(delay: number): boolean {
    const end = this.end();
    if (end === null) return false;
    if (end - this.element.currentTime > delay) this.element.currentTime = end - delay;
    return true;
  }

  private fail({ ErrorTypes, ErrorDetails }: Library, type: string, detail: string): void {
    const { owner } = this.task;
    const foreign: string[] = [ErrorDetails.MEDIA_CODEC_UNSUPPORTED, ErrorDetails.MEDIA_FORMAT_UNSUPPORTED];
    if (foreign.includes(detail)) owner.fails("This browser does not decode what the publisher sends.");
    else if (type === ErrorTypes.MEDIA_ERROR) owner.undecoded();
    else owner.lost();
  }
}
