// What all ways of playing have in common: a source brings the stream to a media element.

import type { Rendition, Way } from "../ways";

/** Why a source does not begin. */
export class Trouble extends Error {
  /** Whether this way will not work here later either. */
  readonly isFinal: boolean;

  constructor(words: string, isFinal: boolean) {
    super(words);
    this.isFinal = isFinal;
  }
}

/** What a source tells the playback that owns it. After `close` it tells nothing. */
export interface Owner {
  /** The stream was interrupted or has ended. */
  lost(): void;
  /** This way does not work here, in a sentence. */
  fails(words: string): void;
  /** The media cannot be decoded. The same again may work once. */
  undecoded(): void;
  /** The publisher has described its stream again: its tracks may be others. */
  described(): void;
  /** The listener chooses the stream of one of the way's renditions, or with `null` leaves it to the page. */
  chosen(stream: string | null): void;
}

/** What a source is made from. */
export interface Task {
  way: Way;
  /** Which of the way's renditions is played; `null` if it has none. */
  rendition: Rendition | null;
  /** It was the page that chose the rendition. */
  isAutomatic: boolean;
  element: HTMLMediaElement;
  owner: Owner;
}

/** The renditions to choose from. */
export interface Levels {
  /** Best last; empty if there is nothing to choose. */
  names: string[];
  /** The chosen one; -1 for automatic. */
  chosen: number;
}

/** See the head of this file. It is used once. */
export interface Source {
  /** Begins. Resolves when the element may be played; rejects with `Trouble`. */
  open(): Promise<void>;
  /** Ends it and frees the element. */
  close(): void;
  /** A number that changes whenever media arrives. */
  received(): number;
  /** A number that changes whenever media is played. */
  played(): number;
  /** Whether no picture comes any more although media does, because the network loses too much. */
  isStuck(): boolean;
  /** Seconds between what plays and live; `null` where that is unknown. */
  delay(): number | null;
  /** The same as far as it can be estimated; decides whether a way back to live is offered. */
  lag(): number;
  /** Called each second of playback: comes back to live after a drift. False if only a new source can. */
  catchUp(): boolean;
  /** Continues live at once. False if only a new source can. */
  toLive(): boolean;
  /** The publisher is back: asks at once for what it would ask for after a pause. */
  revive(): void;
  levels(): Levels;
  /** Chooses a rendition, or -1. */
  choose(level: number): void;
}

/** What is missing is jumped over from this far before it, in seconds: a little more than elements tell their time. */
const HOLE_NEAR_S = 0.3;
/** Behind it playback begins so much later, because elements round. */
const HOLE_MARGIN_S = 0.05;

/** Parts that sources with a plain media element share. */
export abstract class ElementSource implements Source {
  protected readonly element: HTMLMediaElement;
  protected isClosed = false;
  /**
   * Jumps over what is missing where playback is. The tracks of one publisher end at different times, so that before the
   * next one's some of a track is missing: Chromium plays the sound on, and holds the picture for 3 s.
   */
  protected readonly skipHole = (): void => {
    const { buffered, currentTime, played, seeking } = this.element;
    if (seeking || played.length === 0) return;
    for (let next = 1; next < buffered.length; next += 1) {
      const start = buffered.start(next);
      if (currentTime < start && currentTime > buffered.end(next - 1) - HOLE_NEAR_S) {
        this.element.currentTime = start + HOLE_MARGIN_S;
        return;
      }
    }
  };

  constructor(protected readonly task: Task) {
    this.element = task.element;
  }

  abstract open(): Promise<void>;

  close(): void {
    this.isClosed = true;
    this.element.playbackRate = 1;
    this.element.srcObject = null;
    this.element.removeAttribute("src");
    this.element.load();
  }

  received(): number {
    return this.end() ?? 0;
  }

  played(): number {
    return this.element.currentTime;
  }

  /** Over TCP nothing is lost. */
  isStuck(): boolean {
    return false;
  }

  delay(): number | null {
    const end = this.end();
    return end === null ? null : Math.max(0, end - this.element.currentTime);
  }

  lag(): number {
    return this.delay() ?? 0;
  }

  catchUp(): boolean {
    return true;
  }

  toLive(): boolean {
    return false;
  }

  /** What follows a body or a session has nothing to ask for. */
  revive(): void {}

  /** A source plays one rendition; another is played by another source. */
  levels(): Levels {
    const { rendition, isAutomatic } = this.task;
    const all = this.renditions();
    return { names: all.map(({ name }) => name), chosen: isAutomatic || !rendition ? -1 : all.indexOf(rendition) };
  }

  choose(level: number): void {
    this.task.owner.chosen(this.renditions()[level]?.stream ?? null);
  }

  /** What is played, relative to the page. */
  protected path(): string {
    return this.task.rendition?.path ?? this.task.way.path;
  }

  /** Best last. */
  private renditions(): Rendition[] {
    return [...this.task.way.renditions].reverse();
  }

  /** The end of what is loaded; `null` before there is anything. */
  protected end(): number | null {
    const { buffered } = this.element;
    return buffered.length > 0 ? buffered.end(buffered.length - 1) : null;
  }
}

/** Loads one of the server's scripts, once. `name` is beside this script. */
export const library = <T>(name: string, found: () => T | undefined): (() => Promise<T>) => {
  let loading: Promise<T> | null = null;
  return () => {
    loading ??= new Promise<T>((resolve, reject) => {
      const fail = (): void => {
        loading = null;
        reject(new Trouble("The server cannot be reached.", false));
      };
      const script = document.createElement("script");
      script.src = new URL(name, HERE).href;
      script.onload = () => {
        const library = found();
        if (library) resolve(library);
        else fail();
      };
      script.onerror = fail;
      document.head.append(script);
    });
    return loading;
  };
};

/** The address of this script, known only while it runs for the first time. */
export const HERE = (document.currentScript as HTMLScriptElement | null)?.src ?? location.href;
