// Plays one stream: picks a way, goes on to the next when one fails, and starts again, with growing pauses, when the
// stream stops. Knows no element but the two that play.

import { Attempts } from "./attempts";
import type { Browser } from "./browser";
import { ask, codecsOf, IS_MULTIPLEXED, type Offer, type Title } from "./offer";
import { sourceOf } from "./sources/make";
import { Trouble, type Levels, type Source } from "./sources/source";
import type { Stage, State } from "./state";
import { Watchdog } from "./watchdog";
import { fitting, missing, refused, waysOf, type Rendition, type Way, type WayName } from "./ways";

/** How often the server is asked whether the publisher is back, where it cannot be left to answer then. */
const ASK_MS = 1_000;
const ASK_HIDDEN_MS = 3_000;
/** A server that answers when the publisher is back, and has answered before, is not asked sooner again. */
const ASK_PAUSE_MS = 500;
const WATCH_MS = 1_000;
/** Without media for this long, a way that has not played yet is left, and one that has played is started again. */
const STALL_MS = 4_000;
/** Media arrives but nothing plays: longer than a keyframe interval of common encoders. */
const DECODE_MS = 12_000;
/** The next publisher announces its tracks one after the other, within this time. */
const TRACKS_MS = 1_000;
/** After a longer pause, playback continues live and not where it was. */
const PAUSE_MS = 2_000;
/** A longer pause gives up the connection, and the memory of what it brings. */
const PAUSE_MAX_MS = 60_000;
/** A decoder that has worked for this long works. */
const STEADY_MS = 10_000;

/** Why a way is left that brings no picture any more. */
const STUCK_WORDS = "The network loses too much of it: no picture was shown for 5 s.";

/** Whether there is something to play. */
const isThere = ({ live, tracks, addresses }: Offer): boolean => live && (tracks.length > 0 || addresses.length > 0);

export class Playback {
  state: State = "connecting";
  way: Way | null = null;
  /** The element that plays; `null` while none does. */
  element: HTMLMediaElement | null = null;
  /** The browser allowed no sound without a click. */
  isSilenced = false;
  /** What the listener should know beside the state, in sentences. */
  note = "";

  /** The title that was told since the offer. */
  private title: Title | null = null;
  /** Why the only way there is does not work now. */
  private problem = "";
  /** Which way was left for a slower one, and why. */
  private left = "";
  private source: Source | null = null;
  private wish: WayName | null = null;
  /** The stream of the chosen rendition, for ways that play one at a time; `null` leaves it to the page. */
  private quality: string | null = null;
  /** Another rendition was chosen and has not played yet. */
  private isSwitching = false;
  /** Nothing is loaded before the first click. */
  private isHeld = false;
  private pausedAt: number | null = null;
  /** The browser paused what cannot be seen. */
  private wasSuspended = false;
  private frozenAt: number | null = null;
  private hasPlayed = false;
  private hasEverPlayed = false;
  private readonly attempts = new Attempts();
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private watchTimer: ReturnType<typeof setInterval> | undefined;
  private tracksTimer: ReturnType<typeof setTimeout> | undefined;
  private isAsking = false;
  /** It has stopped because the publisher is away. */
  private isAway = false;
  /** Ends the wait for the publisher, which would keep a connection. */
  private waiting = new AbortController();
  private watchdog = new Watchdog(0, 0, 0);
  private playingSince = 0;
  /** Counts starts, so that what belongs to an earlier one can tell that it is out of date. */
  private turn = 0;

  /** `changed` is called after each change of what can be read here, and each second while something plays. */
  constructor(
    private readonly stage: Stage,
    public offer: Offer,
    private readonly browser: Browser,
    private readonly changed: () => void,
  ) {
    for (const media of [stage.video, stage.audio]) this.listen(media);
  }

  /** Begins. With `isHeld` it waits for the first click. */
  begin(wish: WayName | null, isHeld = false): void {
    this.wish = wish;
    this.isHeld = isHeld;
    this.start();
  }

  /** All ways of this stream in this browser, best first. */
  ways(): Way[] {
    return waysOf(this.offer, this.browser, this.wish);
  }

  wished(): WayName | null {
    return this.wish;
  }

  /** Takes this way if it works; `null` leaves the choice to the page. */
  choose(wish: WayName | null): void {
    this.wish = wish;
    this.attempts.clear();
    this.left = "";
    this.hasEverPlayed = false;
    this.start();
  }

  play(): void {
    this.isHeld = false;
    if (this.state === "playing") return;
    if (this.source && this.element) {
      this.element.play().catch(() => {});
      if (this.state !== "blocked") return;
      this.resume();
      this.set("connecting");
    } else if (["paused", "blocked"].includes(this.state)) {
      this.pausedAt = null;
      this.start();
    }
  }

  /** What has not played yet is not begun before the next click. */
  pause(): void {
    if (this.hasPlayed) {
      this.element?.pause();
      this.paused(false);
    } else {
      this.stop();
      this.isHeld = true;
      this.set("blocked");
    }
  }

  /** Seconds between what plays and live, where that is known. */
  delay(): number | null {
    return this.hasPlayed ? this.source?.delay() ?? null : null;
  }

  /** The same as far as it can be estimated. */
  lag(): number {
    return this.hasPlayed ? this.source?.lag() ?? 0 : 0;
  }

  levels(): Levels {
    return this.source?.levels() ?? { names: [], chosen: -1 };
  }

  chooseLevel(level: number): void {
    this.source?.choose(level);
  }

  /** Continues live, and plays if it was paused. */
  goLive(): void {
    if (!this.source?.toLive()) {
      this.start();
      return;
    }
    this.pausedAt = null;
    this.element?.play().catch(() => {});
  }

  /** The browser freezes the page, and with it what plays. */
  sleep(): void {
    if (this.source && this.pausedAt === null) this.frozenAt = performance.now();
  }

  /** The page can be seen again, or is no longer frozen. */
  wake(): void {
    const { wasSuspended, element } = this;
    const frozenMs = this.frozenAt === null ? 0 : performance.now() - this.frozenAt;
    [this.wasSuspended, this.frozenAt] = [false, null];
    // What the server sent meanwhile is lost, and so may be the connection.
    if (frozenMs > PAUSE_MS) this.start();
    else if (wasSuspended && element?.paused) element.play().catch(() => {});
    else if (wasSuspended && this.state === "paused") this.start();
    this.look();
  }

  /** The page goes; `begin` or `choose` starts again. */
  leave(): void {
    this.stop();
  }

  /** Asks the server for the present state. */
  async refresh(untilLive?: AbortSignal): Promise<boolean> {
    const fresh = await ask(untilLive);
    if (fresh) {
      // An answer may have been under way while the title changed.
      this.offer = { ...fresh, ...this.title };
      this.changed();
    }
    return Boolean(fresh);
  }

  /** The title is told as it changes; `null` from when on it is not. */
  titled(title: Title | null): void {
    this.title = title;
    this.offer = { ...this.offer, ...title };
    this.changed();
  }

  /**
   * Starts again when the tracks are no longer those that play: neither a MediaSource nor a session can be given
   * another track, and an element waits for ever for one that has ended.
   */
  async followTracks(): Promise<void> {
    const before = codecsOf(this.offer);
    if (!await this.refresh() || !this.offer.live || codecsOf(this.offer) === before) return;
    // A stream that no way could play may be playable now.
    const [best] = this.ways();
    const { way } = this;
    const isPlayed = way && best && best.picture === way.picture && best.sound === way.sound;
    if (isPlayed) return;
    if (this.pausedAt === null) this.choose(this.wish);
    else this.release();
  }

  /** At once, and not when the element says so: until then it would count as playing. */
  private paused(isSuspended: boolean): void {
    this.wasSuspended = isSuspended;
    this.pausedAt = performance.now();
    this.set("paused");
  }

  private set(state: State): void {
    this.state = state;
    this.changed();
  }

  private stop(): void {
    this.turn += 1;
    this.waiting.abort();
    this.waiting = new AbortController();
    clearTimeout(this.retryTimer);
    clearInterval(this.watchTimer);
    clearTimeout(this.tracksTimer);
    this.source?.close();
    this.source = null;
    this.element = null;
    this.way = null;
    this.hasPlayed = false;
    [this.isAsking, this.isAway] = [false, false];
    this.isSwitching = false;
  }

  /** Makes the connection again after a pause, which grows. */
  private retry(state: State): void {
    this.stop();
    this.set(state);
    this.retryTimer = setTimeout(async () => {
      const { turn } = this;
      const isKnown = await this.refresh();
      if (turn !== this.turn) return;
      if (isKnown) this.start();
      else this.retry("unreachable");
    }, this.attempts.pauseMs());
  }

  /** Asks the server, which is known to have no publisher, whether it has one now. */
  private async askAgain(): Promise<boolean> {
    const { waiting: { signal } } = this;
    const pause = IS_MULTIPLEXED ? ASK_PAUSE_MS : document.hidden ? ASK_HIDDEN_MS : ASK_MS;
    await new Promise((resolve) => { setTimeout(resolve, pause); });
    return signal.aborted ? false : this.refresh(IS_MULTIPLEXED ? signal : undefined);
  }

  /** Starts as soon as the stream is live and has tracks. Nothing is connected before. */
  private async awaitLive(): Promise<void> {
    this.stop();
    const { turn, attempts } = this;
    const isOver = (): boolean => turn !== this.turn;
    this.set(this.offer.away ? "away" : "offline");
    while (!isThere(this.offer)) {
      const isKnown = await this.askAgain();
      if (isOver()) return;
      if (!isKnown) {
        this.retry("unreachable");
        return;
      }
      if (!isThere(this.offer)) this.set(this.offer.away ? "away" : "offline");
    }
    attempts.hurry();
    this.start();
  }

  private start(): void {
    this.stop();
    const { offer } = this;
    // Tracks are announced one after the other; there may be none yet.
    if (!isThere(offer)) {
      void this.awaitLive();
      return;
    }
    const way = this.attempts.left(this.ways())[0] ?? null;
    this.note = this.noteOn(way);
    if (way) this.open(way);
    else if (this.attempts.forgiveSlow()) this.retry("reconnecting");
    else this.set("failed");
  }

  private open(way: Way): void {
    const { turn } = this;
    const isOver = (): boolean => turn !== this.turn;
    const unlessOver = <T extends unknown[]>(act: (...all: T) => void) => (...all: T): void => {
      if (!isOver()) act(...all);
    };
    this.pausedAt = null;
    this.way = way;
    this.element = way.picture ? this.stage.video : this.stage.audio;
    if (this.isHeld) {
      this.set("blocked");
      this.element = null;
      return;
    }
    const rendition = this.renditionOf(way, this.element);
    this.source = sourceOf({
      way,
      rendition,
      isAutomatic: rendition?.stream !== this.quality,
      element: this.element,
      owner: {
        lost: unlessOver(() => this.lost()),
        fails: unlessOver((words) => this.giveUp(words)),
        undecoded: unlessOver(() => this.undecoded()),
        described: unlessOver(() => this.described()),
        chosen: unlessOver((stream) => this.switchTo(stream)),
      },
    });
    this.set(this.hasEverPlayed && !this.isSwitching ? "reconnecting" : "connecting");
    this.resume();
    this.source.open().then(
      () => { if (!isOver()) void this.autoplay(); },
      (error: unknown) => { if (!isOver()) this.troubled(error); },
    );
  }

  /** The chosen rendition while there is such a stream, else what fits the size at which it is shown. */
  private renditionOf({ renditions }: Way, element: HTMLMediaElement): Rendition | null {
    const chosen = renditions.find(({ stream }) => stream === this.quality);
    // An element that is not shown yet has no height.
    const pixels = Math.ceil((element.clientHeight || innerHeight) * devicePixelRatio);
    return chosen ?? fitting(renditions, pixels);
  }

  /** Plays another rendition by the same way. */
  private switchTo(stream: string | null): void {
    const { way } = this;
    if (!way) return;
    this.quality = stream;
    if (this.pausedAt !== null) {
      this.release();
      return;
    }
    this.stop();
    this.isSwitching = true;
    this.open(way);
  }

  /** A chosen rendition that does not begin is left for the page's own choice, before another way is tried. */
  private switchesBack(): boolean {
    if (!this.isSwitching || this.quality === null) return false;
    void this.refresh();
    this.switchTo(null);
    return true;
  }

  /** Without a click, browsers let a page play only muted, and some not even that. */
  private async autoplay(): Promise<void> {
    const { turn, element } = this;
    if (!element) return;
    const isOver = (): boolean => turn !== this.turn;
    const play = (): Promise<string> => element.play().then(() => "", (error: Error) => error.name);
    const problem = await play();
    if (isOver() || problem !== "NotAllowedError") return;
    if (element === this.stage.video && !element.muted) {
      element.muted = true;
      const isPlaying = await play() === "";
      if (isOver()) return;
      if (isPlaying) {
        this.isSilenced = true;
        this.changed();
        return;
      }
    }
    this.pausedAt = performance.now();
    clearInterval(this.watchTimer);
    this.set("blocked");
  }

  private troubled(error: unknown): void {
    if (this.switchesBack()) return;
    const trouble = error instanceof Trouble ? error : new Trouble(String(error), true);
    if (trouble.isFinal) this.giveUp(trouble.message);
    else if (this.attempts.left(this.ways()).length > 1) this.tooSlow(trouble.message);
    else {
      this.problem = trouble.message;
      this.retry("reconnecting");
    }
  }

  /** This way does not work here. */
  private giveUp(words: string): void {
    if (this.switchesBack()) return;
    if (this.way) this.attempts.fail(this.way.name, words);
    this.start();
  }

  /** This way does not work now. */
  private tooSlow(words: string): void {
    if (this.switchesBack()) return;
    if (this.way) this.attempts.tire(this.way.name, words);
    this.start();
  }

  /** Leaves a way that brings no picture any more, if there is another one that has pictures. */
  private leavesStuck(): boolean {
    const { way } = this;
    const others = this.attempts.left(this.ways()).filter(({ name, picture }) => picture && name !== way?.name);
    if (!way || others.length === 0) return false;
    this.left = `${way.label} does not work now. ${STUCK_WORDS}`;
    this.tooSlow(STUCK_WORDS);
    return true;
  }

  private undecoded(): void {
    if (this.attempts.mayDecodeAgain()) this.lost();
    else this.giveUp("This browser does not decode what the publisher sends.");
  }

  /** A listener who paused is not brought back before pressing Play. */
  private lost(): void {
    if (this.switchesBack()) return;
    if (this.pausedAt !== null && this.hasPlayed) this.release();
    else if (!this.hasPlayed && this.attempts.left(this.ways()).length > 1) {
      this.tooSlow("It was interrupted before it began.");
    } else this.retry("reconnecting");
  }

  private release(): void {
    this.stop();
    this.set("paused");
  }

  private described(): void {
    if (!this.hasPlayed) return;
    clearTimeout(this.tracksTimer);
    this.tracksTimer = setTimeout(() => void this.followTracks(), TRACKS_MS);
  }

  private noteOn(way: Way | null): string {
    const wish = refused(this.offer, this.browser, this.ways(), this.wish) || this.wishFailed() || this.left;
    const words = [wish, way ? missing(this.offer, way) : "", this.problem];
    return words.filter(Boolean).join(" ");
  }

  private wishFailed(): string {
    const { wish } = this;
    if (!wish) return "";
    const reason = this.attempts.reason(wish);
    const label = this.ways().find(({ name }) => name === wish)?.label ?? wish;
    return reason === undefined ? "" : `${label} does not work here. ${reason}`;
  }

  /** Begins to watch, or begins anew. */
  private resume(): void {
    clearInterval(this.watchTimer);
    const { source } = this;
    this.watchdog = new Watchdog(performance.now(), source?.played() ?? 0, source?.received() ?? 0);
    this.watchTimer = setInterval(() => this.look(), WATCH_MS);
  }

  private look(): void {
    const { source, element, attempts } = this;
    if (!source || !element || this.state === "blocked") return;
    const now = performance.now();
    if (this.pausedAt !== null) {
      if (now - this.pausedAt > PAUSE_MAX_MS) this.release();
      else this.changed();
      return;
    }
    if (source.isStuck() && this.leavesStuck()) return;
    const { hasMoved, stillMs, idleMs } = this.watchdog.look(now, source.played(), source.received());
    if (this.hasPlayed) {
      if (stillMs > STALL_MS) void this.stalled(stillMs);
      else this.lookAtPlaying(source, hasMoved, now);
    } else if (idleMs > STALL_MS * attempts.patience) {
      this.tooSlow("No media has arrived.");
    } else if (stillMs > DECODE_MS * attempts.patience) {
      this.tooSlow("The media that arrives does not play.");
    }
  }

  private lookAtPlaying(source: Source, hasMoved: boolean, now: number): void {
    if (hasMoved) this.isAway = false;
    if (hasMoved && this.state !== "playing") this.set("playing");
    if (now - this.playingSince > STEADY_MS) this.attempts.settle();
    if (source.catchUp()) this.changed();
    else this.start();
  }

  /**
   * It has played and does not any more. While the publisher is away the connection is kept, and when it is back the
   * connection has the time of a stall to bring its media.
   */
  private async stalled(stillMs: number): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const { turn } = this;
    const isKnown = await this.refresh();
    if (turn !== this.turn) return;
    if (isKnown && this.offer.away) {
      this.isAway = true;
      this.set("away");
      let isAnswered = true;
      while (isAnswered && this.offer.away && this.isAway) {
        isAnswered = await this.askAgain();
        if (turn !== this.turn) return;
      }
      const isStill = this.isAway;
      [this.isAsking, this.isAway] = [false, false];
      if (isAnswered && this.offer.live && isStill) {
        this.source?.revive();
        this.watchdog.reset(performance.now());
      }
      return;
    }
    this.isAsking = false;
    if (isKnown || stillMs > 2 * STALL_MS) this.retry(isKnown ? "reconnecting" : "unreachable");
    else this.set("buffering");
  }

  private listen(media: HTMLMediaElement): void {
    const on = (name: string, act: () => void): void => media.addEventListener(name, () => {
      if (media === this.element) act();
    });
    on("playing", () => {
      // Said before it was paused.
      if (media.paused) return;
      if (this.way) this.attempts.succeed(this.way.name);
      [this.isSwitching, this.isAway] = [false, false];
      [this.hasPlayed, this.hasEverPlayed, this.pausedAt, this.problem] = [true, true, null, ""];
      this.note = this.noteOn(this.way);
      this.playingSince = performance.now();
      this.watchdog.reset(this.playingSince);
      this.set("playing");
    });
    on("waiting", () => { if (this.hasPlayed && !media.paused) this.set(this.isAway ? "away" : "buffering"); });
    on("pause", () => {
      if (!this.hasPlayed || !media.paused || this.pausedAt !== null) return;
      this.paused(document.hidden || this.frozenAt !== null);
    });
    on("play", () => {
      const isLate = this.pausedAt !== null && performance.now() - this.pausedAt > PAUSE_MS;
      this.pausedAt = null;
      this.watchdog.reset(performance.now());
      // Without loaded data there is no lag.
      if (isLate && media.readyState > HTMLMediaElement.HAVE_NOTHING) this.goLive();
    });
    on("ended", () => this.lost());
    on("error", () => {
      // Libraries report their own errors.
      if (this.way?.name === "flv" || this.way?.name === "hls") return;
      if (media.error?.code === MediaError.MEDIA_ERR_DECODE) this.undecoded();
      else this.lost();
    });
    // The listener's own choice.
    on("volumechange", () => {
      if (!media.muted) this.isSilenced = false;
      this.changed();
    });
  }
}
