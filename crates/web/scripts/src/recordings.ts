// The stream's recordings: a list below the player, and a player of its own for the one that is chosen.

import type Hls from "hls.js";

import { thisBrowser } from "./browser";
import { byId, element, say } from "./dom";
import { admitted } from "./offer";
import { loadHls } from "./sources/hls";
import { lengthOf } from "./words";

/** `/{stream}/recordings.json`; addresses are relative to the page. */
interface Recording {
  id: string;
  state: "open" | "closed" | "finalised";
  type: string;
  started: string;
  seconds: number;
  file: string;
  hls: string | null;
}

/** One answer of the list: newest first, and where the next one begins. */
interface Answer {
  recordings: Recording[];
  cursor: string | null;
}

/** What is played. */
interface Choice {
  /** For people. */
  label: string;
  /** A file that the browser plays as it is, or a playlist. */
  path: string;
  isPlaylist: boolean;
}

const LIST = "recordings.json";
/** The stream from the beginning of what is on now, and on into the present. */
const FROM_START = "index.m3u8?at=start";
const PLAYLIST = "application/vnd.apple.mpegurl";

/** How often a visible page asks for the list. */
const LIST_MS = 30_000;

/** Rows that are shown at once, and that each press of the button adds: about as many as are looked through without a search. */
const STEP = 50;

/** Rows that are shown at the most; beyond them a page of rows is no help any more. */
const SHOWN_MAX = 2_000;

const dateOf = (started: string): string =>
  new Date(started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

export class Recordings {
  private readonly section = byId("recordings");
  private readonly list = byId("recorded");
  private readonly more = byId<HTMLButtonElement>("more-recorded");
  private readonly video = byId<HTMLVideoElement>("past");
  private readonly note = byId("past-note");
  private hls: Hls | null = null;
  private shown = "";
  /** Rows that are wanted. */
  private wanted = STEP;
  /** Looks so far: what an earlier one finds is not shown any more. */
  private looks = 0;

  /** `begins` is called when a recording is played. */
  constructor(private readonly begins: () => void) {
    this.video.addEventListener("play", begins);
    this.more.addEventListener("click", () => void this.showMore());
    this.video.addEventListener("error", () => {
      if (this.video.hasAttribute("src")) this.fail();
    });
    document.addEventListener("visibilitychange", () => void this.look());
    setInterval(() => void this.look(), LIST_MS);
    void this.look();
  }

  /** Something else plays. */
  pause(): void {
    if (!this.video.paused) this.video.pause();
  }

  private async look(): Promise<void> {
    if (document.hidden) return;
    this.looks += 1;
    const look = this.looks;
    const recordings: Recording[] = [];
    let cursor: string | null = null;
    do {
      const answer: Answer | null = await this.ask(cursor);
      if (answer === null || look !== this.looks) return;
      recordings.push(...answer.recordings);
      cursor = answer.cursor;
    } while (cursor !== null && recordings.length < this.wanted);
    const isAll = cursor === null && recordings.length <= this.wanted;
    this.show(recordings.slice(0, this.wanted), !isAll && this.wanted < SHOWN_MAX);
  }

  private async ask(cursor: string | null): Promise<Answer | null> {
    const url = new URL(admitted(LIST), document.baseURI);
    if (cursor !== null) url.searchParams.set("cursor", cursor);
    const answer = await fetch(url).catch(() => null);
    return answer?.ok ? await answer.json() as Answer : null;
  }

  /** Shows more; the focus goes to the first of them, where the button was. */
  private async showMore(): Promise<void> {
    const before = this.list.children.length;
    this.wanted = Math.min(this.wanted + STEP, SHOWN_MAX);
    await this.look();
    this.list.children[before]?.querySelector("button")?.focus();
  }

  private show(recordings: Recording[], hasMore: boolean): void {
    this.section.hidden = recordings.length === 0;
    this.more.hidden = !hasMore;
    // Rows that have not changed are left alone, so that a focused button keeps the focus.
    const shown = JSON.stringify(recordings.map(({ id, state, seconds }) =>
      [id, state, state === "open" ? Math.floor(seconds / 60) : seconds]));
    if (this.shown === shown) return;
    this.shown = shown;
    this.list.replaceChildren(...recordings.map((one) => this.row(one)));
  }

  private row(one: Recording): HTMLLIElement {
    const label = dateOf(one.started);
    const isOpen = one.state === "open";
    const row = element("li");
    const buttons = [this.button("Play", { label, ...this.whole(one) })];
    if (isOpen && one.hls) {
      const choice = { label: "From the start", path: FROM_START, isPlaylist: true };
      buttons.push(this.button("From the start", choice));
    }
    const keep = Object.assign(element("a", "Download"), { href: `${one.file}?download=1` });
    keep.setAttribute("aria-label", `Download ${label}`);
    const length = isOpen ? `${lengthOf(one.seconds)}, being recorded` : lengthOf(one.seconds);
    row.append(element("span", label), element("span", length), ...buttons, keep);
    return row;
  }

  /** A file that still grows has no end; its playlist is followed. */
  private whole({ state, file, hls }: Recording): Pick<Choice, "path" | "isPlaylist"> {
    const isPlaylist = state === "open" && hls !== null;
    return { path: isPlaylist ? hls : file, isPlaylist };
  }

  private button(words: string, choice: Choice): HTMLButtonElement {
    const button = Object.assign(element("button", words), { type: "button" });
    if (words !== choice.label) button.setAttribute("aria-label", `${words} ${choice.label}`);
    button.addEventListener("click", () => void this.play(choice));
    return button;
  }

  private async play(choice: Choice): Promise<void> {
    this.end();
    this.video.hidden = false;
    this.video.setAttribute("aria-label", choice.label);
    say(this.note, choice.label);
    this.begins();
    this.video.scrollIntoView({ block: "nearest" });
    const url = new URL(admitted(choice.path), document.baseURI).href;
    const Library = choice.isPlaylist ? await loadHls().catch(() => null) : null;
    if (Library?.isSupported()) {
      const hls = new Library({ enableWorker: false });
      this.hls = hls;
      hls.on(Library.Events.ERROR, (_, { fatal }) => {
        if (fatal) this.fail();
      });
      hls.loadSource(url);
      hls.attachMedia(this.video);
    } else if (choice.isPlaylist && !thisBrowser.plays(PLAYLIST)) {
      this.fail();
      return;
    } else {
      this.video.src = url;
    }
    // A browser that refuses leaves it to its own button.
    await this.video.play().catch(() => undefined);
  }

  private fail(): void {
    say(this.note, "This browser cannot play the recording. It can be downloaded.");
  }

  private end(): void {
    this.hls?.destroy();
    this.hls = null;
    this.video.removeAttribute("src");
    this.video.load();
  }
}
