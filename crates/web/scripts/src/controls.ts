// The player's own controls: buttons, volume, choices, and keys.

import { byId, drawing, element, say } from "./dom";
import { ICONS } from "./icons";
import type { Playback } from "./playback";
import { rememberVolume, rememberWay } from "./settings";
import type { Stage } from "./state";
import { seconds } from "./words";
import type { WayName } from "./ways";

/** The lag from which on a button back to live is offered. */
const BEHIND_S = 5;
/** Without a movement for this long, the controls leave the picture. */
const IDLE_MS = 3_000;
const VOLUME_STEP = 0.05;
/** The arrows move by this much within what is loaded. */
const SEEK_S = 5;
/** The choice that leaves the way to the page. */
const AUTOMATIC = "auto";

type Icon = keyof typeof ICONS;

const ICON_UNITS = 24;

/** Gives a button its sign and its name. */
const sign = (button: HTMLElement, icon: Icon, name: string): void => {
  if (button.dataset["icon"] !== icon) {
    button.dataset["icon"] = icon;
    button.replaceChildren(drawing(ICONS[icon], ICON_UNITS));
  }
  if (button.title === name) return;
  button.title = name;
  button.setAttribute("aria-label", name);
};

/** Fills a list of choices; one that has not changed is left alone, so that it stays open and keeps the focus. */
const fill = (select: HTMLSelectElement, rows: [string, string][], chosen: string): void => {
  const shown = [...select.options].map(({ value, text }) => [value, text]);
  if (JSON.stringify(shown) !== JSON.stringify(rows)) {
    select.replaceChildren(...rows.map(([value, text]) => Object.assign(element("option", text), { value })));
  }
  if (select.value !== chosen) select.value = chosen;
};

/** What Safari has beside the standard. */
interface Webkit {
  webkitEnterFullscreen?(): void;
}

const buttonOf = (id: string): HTMLButtonElement => byId(id);
const selectOf = (id: string): HTMLSelectElement => byId(id);

export class Controls {
  private readonly player = byId("player");
  private readonly bar = byId("controls");
  private readonly playButton = buttonOf("play");
  private readonly muteButton = buttonOf("mute");
  private readonly soundButton = buttonOf("sound");
  private readonly startButton = buttonOf("start");
  private readonly volume = byId<HTMLInputElement>("volume");
  private readonly delay = byId("delay");
  private readonly delayFigure = element("span");
  private readonly goLiveButton = buttonOf("go-live");
  private readonly quality = selectOf("quality");
  private readonly protocol = selectOf("protocol");
  private readonly pipButton = buttonOf("pip");
  private readonly fullButton = buttonOf("full-screen");
  private idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly playback: Playback, private readonly stage: Stage) {
    // On a narrow screen the figure stands alone.
    const behind = Object.assign(element("span", " behind"), { className: "wide" });
    this.delay.replaceChildren(this.delayFigure, behind);
    this.hearButtons();
    this.hearChoices();
    this.hearPointer();
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("fullscreenchange", () => this.show());
  }

  /** Writes what is going on. */
  show(): void {
    const { playback, stage } = this;
    const kind = this.kind();
    this.player.hidden = kind === null;
    if (kind) this.player.dataset["kind"] = kind;
    stage.video.hidden = kind !== "picture";
    stage.audio.hidden = kind !== "sound";
    this.bar.hidden = kind === null;
    this.player.dataset["state"] = playback.state;
    this.player.dataset["way"] = playback.way?.name ?? "";
    sign(this.playButton, this.isPaused() ? "play" : "pause", this.isPaused() ? "Play" : "Pause");
    const media = this.media();
    const isSilent = media.muted || media.volume === 0;
    sign(this.muteButton, isSilent ? "muted" : "sound", isSilent ? "Sound on" : "Mute");
    this.volume.value = String(Math.round((isSilent ? 0 : media.volume) * 100));
    this.soundButton.hidden = !(playback.isSilenced && playback.way?.sound && media.muted);
    this.startButton.hidden = !(kind === "picture" && playback.state === "blocked");
    sign(this.startButton, "play", "Play");
    this.goLiveButton.hidden = playback.lag() < BEHIND_S;
    const delay = playback.delay();
    this.delay.hidden = delay === null || !this.goLiveButton.hidden;
    say(this.delayFigure, delay === null ? "" : seconds(delay, "<"));
    this.showChoices();
    this.showWindows(kind === "picture");
  }

  /** The volume of both elements, 0 to 1. */
  setVolume(volume: number): void {
    for (const media of [this.stage.video, this.stage.audio]) {
      media.volume = Math.min(1, Math.max(0, volume));
    }
  }

  setMuted(isMuted: boolean): void {
    for (const media of [this.stage.video, this.stage.audio]) media.muted = isMuted;
  }

  /** Plays if it does not, and the reverse. */
  toggle(): void {
    if (this.isPaused()) this.playback.play();
    else this.playback.pause();
  }

  isPaused(): boolean {
    return ["paused", "blocked"].includes(this.playback.state);
  }

  /** The element that plays, or would. */
  media(): HTMLMediaElement {
    return this.playback.element ?? (this.stage.video.hidden ? this.stage.audio : this.stage.video);
  }

  /** What is shown; while nothing plays, what was, or what the stream has. */
  private kind(): "picture" | "sound" | null {
    const { state, way, offer } = this.playback;
    if (state === "failed") return null;
    if (way) return way.picture ? "picture" : "sound";
    const last = this.player.dataset["kind"];
    if (!this.player.hidden && (last === "picture" || last === "sound")) return last;
    if (offer.tracks.some((track) => track.kind === "video")) return "picture";
    return offer.addresses.length > 0 ? "sound" : null;
  }

  private showChoices(): void {
    const { playback } = this;
    const [best, ...others] = playback.ways();
    // Those that would leave out a picture are for when nothing else works.
    const ways = best ? [best, ...others.filter(({ picture }) => picture === best.picture)] : [];
    ways.sort((one, other) => one.label.localeCompare(other.label));
    const wish = ways.find(({ name }) => name === playback.wished())?.name;
    const now = playback.way && !wish ? `Auto: ${playback.way.label}` : "Auto";
    fill(this.protocol, [[AUTOMATIC, now], ...ways.map(({ name, label }): [string, string] => [name, label])],
      wish ?? AUTOMATIC);
    this.protocol.hidden = ways.length < 2;
    const { names, chosen } = playback.levels();
    const levels = names.map((name, at): [string, string] => [String(at), name]);
    fill(this.quality, [["-1", "Auto quality"], ...levels.reverse()], String(chosen));
    this.quality.hidden = names.length === 0;
  }

  private showWindows(hasPicture: boolean): void {
    const { video } = this.stage;
    this.pipButton.hidden = !hasPicture || !document.pictureInPictureEnabled || video.disablePictureInPicture;
    sign(this.pipButton, "pip", "Picture in picture");
    const canFill = document.fullscreenEnabled || "webkitEnterFullscreen" in video;
    this.fullButton.hidden = !hasPicture || !canFill;
    const isFull = document.fullscreenElement !== null;
    sign(this.fullButton, isFull ? "window" : "full", isFull ? "Leave full screen" : "Full screen");
  }

  private hearButtons(): void {
    this.playButton.addEventListener("click", () => this.toggle());
    this.startButton.addEventListener("click", () => this.playback.play());
    this.muteButton.addEventListener("click", () => this.flipMuted());
    this.soundButton.addEventListener("click", () => this.setMuted(false));
    this.goLiveButton.addEventListener("click", () => this.playback.goLive());
    this.pipButton.addEventListener("click", () => void this.flipPip());
    this.fullButton.addEventListener("click", () => void this.flipFull());
  }

  private hearChoices(): void {
    this.volume.addEventListener("input", () => {
      this.changeVolume(Number(this.volume.value) / 100);
    });
    this.protocol.addEventListener("change", () => {
      const { value } = this.protocol;
      const wish = value === AUTOMATIC ? null : value as WayName;
      rememberWay(wish);
      this.playback.choose(wish);
    });
    this.quality.addEventListener("change", () => {
      this.playback.chooseLevel(Number(this.quality.value));
    });
  }

  /** The controls are above the picture, and leave it while nothing moves. */
  private hearPointer(): void {
    const { player } = this;
    const rest = (): void => {
      clearTimeout(this.idleTimer);
      const isUsed = this.bar.contains(document.activeElement) && this.bar.matches(":focus-within");
      if (!isUsed && !this.isPaused()) player.dataset["idle"] = "";
    };
    const stir = (): void => {
      clearTimeout(this.idleTimer);
      delete player.dataset["idle"];
      this.idleTimer = setTimeout(rest, IDLE_MS);
    };
    for (const name of ["pointermove", "pointerdown", "focusin"]) player.addEventListener(name, stir);
    player.addEventListener("mouseleave", rest);
    stir();
    // A finger's first touch shows the controls; a mouse has shown them by moving.
    let wasIdle = false;
    player.addEventListener("pointerdown", () => { wasIdle = "idle" in player.dataset; }, { capture: true });
    player.addEventListener("click", (event) => {
      const isTouch = (event as PointerEvent).pointerType === "touch";
      if (isTouch && wasIdle) event.stopPropagation();
      else if (event.target === this.stage.video && !isTouch) this.toggle();
    }, { capture: true });
    this.stage.video.addEventListener("dblclick", () => void this.flipFull());
  }

  private key(event: KeyboardEvent): void {
    const isModified = event.ctrlKey || event.metaKey || event.altKey;
    const target = event.target instanceof Element ? event.target : null;
    if (isModified || event.defaultPrevented || target?.closest("select, textarea, input, #past")) return;
    // Space presses a button that has the focus.
    if (event.key === " " && target?.closest("button, a, summary")) return;
    const act = this.keys()[event.key.toLowerCase()];
    if (!act || this.bar.hidden) return;
    event.preventDefault();
    act();
  }

  private keys(): Record<string, () => void> {
    const louder = (by: number): void => this.changeVolume(this.media().volume + by);
    return {
      " ": () => this.toggle(),
      k: () => this.toggle(),
      m: () => this.flipMuted(),
      f: () => void this.flipFull(),
      l: () => this.playback.goLive(),
      arrowup: () => louder(VOLUME_STEP),
      arrowdown: () => louder(-VOLUME_STEP),
      arrowleft: () => this.seek(-SEEK_S),
      arrowright: () => this.seek(SEEK_S),
    };
  }

  /** Moves within what is loaded. A WebRTC session has nothing but the present. */
  private seek(by: number): void {
    const media = this.media();
    const { buffered, currentTime } = media;
    if (media.srcObject || buffered.length === 0) return;
    const [first, last] = [buffered.start(0), buffered.end(buffered.length - 1)];
    if (by > 0 && currentTime + by > last - 1) this.playback.goLive();
    else media.currentTime = Math.min(last, Math.max(first, currentTime + by));
  }

  private changeVolume(volume: number): void {
    this.setVolume(volume);
    this.setMuted(volume <= 0);
    rememberVolume(this.media().volume);
  }

  private flipMuted(): void {
    const media = this.media();
    if (media.volume === 0) this.changeVolume(1);
    else this.setMuted(!media.muted);
  }

  private async flipPip(): Promise<void> {
    try {
      if (document.pictureInPictureElement) await document.exitPictureInPicture();
      else await this.stage.video.requestPictureInPicture();
    } catch {
      // The browser has its reasons, such as a picture that has not come yet.
    }
  }

  private async flipFull(): Promise<void> {
    if (this.fullButton.hidden) return;
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else if (document.fullscreenEnabled) await this.player.requestFullscreen();
      // An iPhone fills its screen with a video only.
      else (this.stage.video as Webkit).webkitEnterFullscreen?.();
    } catch {
      // A frame may not be allowed to.
    }
  }
}
