// What the server says of a stream: `/{stream}/info.json`, which the page also contains as it was when it was sent.

import { byId } from "./dom";

/** One elementary stream. */
export interface Track {
  kind: "video" | "audio";
  /** The codec's name in lower case: `h264`, `hevc`, `aac`, … */
  codec: string;
  /** The codec's name for use in a sentence. */
  label: string;
}

/** Where the stream can be had over HTTP. */
export interface Address {
  label: string;
  /** Relative to the page. */
  path: string;
  /** The media type. Untrusted text. */
  type: string;
}

/** WebRTC's way to the stream. */
export interface Webrtc {
  /** The WHEP endpoint, relative to the page. */
  path: string;
  /** Whether sound comes with it. */
  audio: boolean;
  /** `false` if the server knows that it cannot send the pictures, because of B-frames for example. */
  picture?: boolean;
}

/** One of several qualities of a programme: a stream, with what that offers. */
export interface Quality {
  /** For people. */
  name: string;
  stream: string;
  /** Of its pictures. */
  width: number | null;
  height: number | null;
  /** Bits per second. */
  bitrate: number | null;
  tracks: Track[];
  addresses: Address[];
  webrtc: Webrtc | null;
}

/** What is on. Untrusted text. */
export interface Title {
  title: string | null;
  /** The address of the title's picture, anywhere. */
  picture?: string | null;
}

/** See the head of this file. Labels are untrusted text. */
export interface Offer extends Title {
  /** There is something to hear or see. */
  live: boolean;
  /** The publisher is away and may return. */
  away: boolean;
  tracks: Track[];
  /** Who listens needs a key or a link. */
  needs_key: boolean;
  /** Hints for people, in sentences. */
  notes: string[];
  addresses: Address[];
  webrtc: Webrtc | null;
  /** Best first; absent if there is one. The rest of the offer is that of all of them, or of the best. */
  qualities?: Quality[];
  /** How many listen now. */
  listeners?: number;
}

/**
 * Whether a request that waits takes nothing from others. Browsers make six connections to a server over HTTP/1.1, for
 * all its pages together, and each stream that plays takes one.
 */
export const IS_MULTIPLEXED = performance.getEntriesByType("navigation")
  .some((entry) => /^h[23]/.test((entry as PerformanceNavigationTiming).nextHopProtocol));

/** The first track of a kind, which is the one that plays. */
export const trackOf = (offer: Offer, kind: Track["kind"]): Track | undefined =>
  offer.tracks.find((one) => one.kind === kind);

/** The codecs, for finding out whether they have changed. */
export const codecsOf = (offer: Offer): string =>
  JSON.stringify(offer.tracks.map(({ kind, codec }) => [kind, codec]));

/** Parameters of the page's own address that let a viewer in. What the page plays needs them as well. */
const CREDENTIALS = ["key", "token", "link", "jwt"];

const NEEDS_KEY = "Listening needs a key or a link. Open this page with it, as in ?key=KEY.";

/** Those of this page, as a query without its question mark. */
const credentials = (): string => {
  const given = new URLSearchParams(location.search);
  const kept = new URLSearchParams();
  for (const name of CREDENTIALS) {
    const value = given.get(name);
    if (value) kept.set(name, value);
  }
  return kept.toString();
};

/** An address with the page's credentials. */
export const admitted = (path: string): string => {
  const query = credentials();
  return query && `${path}${path.includes("?") ? "&" : "?"}${query}` || path;
};

/** An offer as the page uses it: every address has its credentials, and a viewer without one is told of that. */
const completed = (offer: Offer): Offer => {
  const isOut = offer.needs_key && !credentials();
  const withPath = <T extends { path: string }>(one: T): T => ({ ...one, path: admitted(one.path) });
  const offered = <T extends Pick<Offer, "addresses" | "webrtc">>(one: T): T => ({
    ...one,
    addresses: one.addresses.map(withPath),
    webrtc: one.webrtc && withPath(one.webrtc),
  });
  const all = offered(offer);
  if (all.qualities) all.qualities = all.qualities.map(offered);
  return isOut ? { ...all, notes: [NEEDS_KEY, ...all.notes] } : all;
};

/** What the page was delivered with. */
export const delivered = (): Offer => completed(JSON.parse(byId("offer").textContent ?? "") as Offer);

/**
 * The present state; `null` when the server cannot be reached. A stream that is not live has a document, too. With
 * `untilLive` the answer comes when the stream is live, or after 20 s, unless that signal ends the wait.
 */
export const ask = async (untilLive?: AbortSignal): Promise<Offer | null> => {
  try {
    const path = untilLive ? "info.json?live" : "info.json";
    const answer = await fetch(admitted(path), { cache: "no-store", signal: untilLive ?? null });
    const offer = await answer.json() as Partial<Offer>;
    return Array.isArray(offer.tracks) ? completed(offer as Offer) : null;
  } catch {
    return null;
  }
};
