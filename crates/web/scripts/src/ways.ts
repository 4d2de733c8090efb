// In which ways a browser can play a stream, and how much of it, best first.

import type { Browser } from "./browser";
import { trackOf, type Address, type Offer, type Quality, type Track } from "./offer";

/** The protocols. `native` is HLS by the browser's own player, `http` any other body that it plays by itself. */
export type WayName = "webrtc" | "flv" | "hls" | "native" | "http";

/** One way to play the stream. */
export interface Way {
  name: WayName;
  /** For people. */
  label: string;
  /** Relative to the page. */
  path: string;
  /** Whether pictures come with it. */
  picture: boolean;
  /** Whether sound comes with it. */
  sound: boolean;
  /** The qualities that it can be made to play, best first; empty if there is no choice, or if its player makes it. */
  renditions: Rendition[];
}

/** A quality as a way that plays one stream at a time brings it. */
export interface Rendition {
  /** For people. */
  name: string;
  stream: string;
  /** Of its pictures, in pixels; 0 without. */
  height: number;
  /** Relative to the page. */
  path: string;
}

/** A way as far as one stream decides it. */
type Single = Omit<Way, "renditions">;
type Over = (offer: Offer, browser: Browser) => Single | undefined;

/** With pictures: the lowest delay first. HLS by the browser's own player is late and often fails. */
const FOR_PICTURES: readonly WayName[] = ["webrtc", "flv", "hls", "native", "http"];
/** Sound alone: what costs server and listener least comes first. */
const FOR_SOUND: readonly WayName[] = ["http", "flv", "hls", "native", "webrtc"];

const FLV = "video/x-flv";
const HLS = /^application\/(vnd\.apple\.|x-)mpegurl\b/i;

/** What Media Source Extensions must accept: of a codec one of these. */
const IN_MP4: Readonly<Record<string, readonly string[]>> = {
  h264: ['video/mp4; codecs="avc1.42E01E"'],
  hevc: ['video/mp4; codecs="hvc1.1.6.L93.B0"'],
  av1: ['video/mp4; codecs="av01.0.05M.08"'],
  vp9: ['video/mp4; codecs="vp09.00.10.08"'],
  aac: ['audio/mp4; codecs="mp4a.40.2"'],
  mp3: ["audio/mpeg", 'audio/mp4; codecs="mp3"'],
  opus: ['audio/mp4; codecs="opus"'],
  flac: ['audio/mp4; codecs="flac"'],
  ac3: ['audio/mp4; codecs="ac-3"'],
};

/** What mpegts.js reads from FLV. It reads AV1 as well, but fails on what FFmpeg sends. */
const IN_FLV: readonly string[] = ["h264", "hevc", "aac", "mp3", "opus", "flac"];

const IN_RTP: Readonly<Record<string, string>> = {
  h264: "video/h264",
  hevc: "video/h265",
  av1: "video/av1",
  vp8: "video/vp8",
  vp9: "video/vp9",
};

const isHls = (one: Address): boolean => HLS.test(one.type);

/** What a media element follows live by itself: no playlist, no FLV, no fragments, no transport stream. */
const isPlain = (one: Address): boolean =>
  one.type !== FLV && !isHls(one) && !/^(audio|video)\/mp(4|2t)\b/.test(one.type);

const isAppended = (browser: Browser, one: Track | undefined): boolean =>
  Boolean(one && IN_MP4[one.codec]?.some((type) => browser.appends(type)));

/** What is offered of each quality. */
const offersOf = (offer: Offer): [Quality, Offer][] =>
  (offer.qualities ?? []).map((quality) => [quality, { ...offer, ...quality }]);

/**
 * Pictures and sound are in one playlist, so a browser that lacks one codec plays nothing of it. Of several qualities
 * it plays those of which it has both.
 */
const isWhole = (offer: Offer, plays: (type: string) => boolean): boolean => {
  const has = (one: Offer): boolean =>
    [trackOf(one, "video"), trackOf(one, "audio")].every((track) => !track || IN_MP4[track.codec]?.some(plays));
  const offers = offersOf(offer);
  return offers.length > 0 ? offers.some(([, one]) => has(one)) : has(offer);
};

const overFlv: Over = (offer, browser) => {
  const address = offer.addresses.find((one) => one.type === FLV);
  const plays = (one: Track | undefined): boolean =>
    Boolean(one && IN_FLV.includes(one.codec)) && isAppended(browser, one);
  return address && {
    name: "flv",
    label: "FLV",
    path: address.path,
    picture: plays(trackOf(offer, "video")),
    sound: plays(trackOf(offer, "audio")),
  };
};

/** HLS by a player that takes types as `plays` says. */
const overAnyHls = (
  offer: Offer, plays: (type: string) => boolean, name: WayName, label: string,
): ReturnType<Over> => {
  const address = offer.addresses.find(isHls);
  if (!address || !isWhole(offer, plays)) return undefined;
  return {
    name,
    label,
    path: address.path,
    picture: Boolean(trackOf(offer, "video")),
    sound: Boolean(trackOf(offer, "audio")),
  };
};

const overHls: Over = (offer, browser) => overAnyHls(offer, browser.appends, "hls", "HLS");

const overNativeHls: Over = (offer, browser) => {
  const address = offer.addresses.find(isHls);
  if (!address || !browser.plays(address.type)) return undefined;
  return overAnyHls(offer, browser.plays, "native", "HLS (browser’s own)");
};

const overHttp: Over = (offer, browser) => {
  const address = offer.addresses.find((one) => isPlain(one) && browser.plays(one.type));
  return address && {
    name: "http",
    label: address.label,
    path: address.path,
    picture: address.type.startsWith("video/") && Boolean(trackOf(offer, "video")),
    // The server does not know the content of some containers.
    sound: offer.tracks.length === 0 || Boolean(trackOf(offer, "audio")),
  };
};

const overWebrtc: Over = (offer, browser) => {
  const { webrtc } = offer;
  if (!webrtc) return undefined;
  const type = IN_RTP[trackOf(offer, "video")?.codec ?? ""];
  return {
    name: "webrtc",
    label: "WebRTC",
    path: webrtc.path,
    picture: webrtc.picture !== false && Boolean(type && browser.receives(type)),
    sound: webrtc.audio && browser.receives("audio/opus"),
  };
};

const worth = (way: Single): number => 2 * Number(way.picture) + Number(way.sound);

/** A way whose player chooses among the qualities by itself. */
const together = (over: Over) => (offer: Offer, browser: Browser): Way | undefined => {
  const way = over(offer, browser);
  return way && { ...way, renditions: [] };
};

/** A way that plays one stream at a time: the qualities of which it plays most. */
const onePerQuality = (over: Over) => (offer: Offer, browser: Browser): Way | undefined => {
  const all = offersOf(offer).flatMap(([quality, one]) => {
    const way = over(one, browser);
    return way ? [{ quality, way }] : [];
  });
  const most = Math.max(...all.map(({ way }) => worth(way)));
  const [best, ...others] = all.filter(({ way }) => worth(way) === most);
  if (!best) return together(over)(offer, browser);
  const renditions = [best, ...others].map(({ quality: { name, stream, height }, way: { path } }) =>
    ({ name, stream, height: height ?? 0, path }));
  return { ...best.way, renditions: others.length > 0 ? renditions : [] };
};

const WAYS = [
  onePerQuality(overWebrtc),
  onePerQuality(overFlv),
  together(overHls),
  together(overNativeHls),
  onePerQuality(overHttp),
];

/** The best rendition that is not higher than so many pixels, or the smallest; `null` if there is no choice. */
export const fitting = (renditions: Rendition[], pixels: number): Rendition | null =>
  renditions.find(({ height }) => height <= pixels) ?? renditions[renditions.length - 1] ?? null;

/**
 * All ways that play something. A picture counts more than sound, and `wish` most, unless it lacks the picture that
 * the stream has; among equals the order is the one above.
 */
export const waysOf = (offer: Offer, browser: Browser, wish: WayName | null): Way[] => {
  const hasVideo = Boolean(trackOf(offer, "video"));
  const all = WAYS.map((over) => over(offer, browser));
  const rank = (way: Way): number => worth(way) + (way.name === wish && (way.picture || !hasVideo) ? 4 : 0);
  const place = (way: Way): number => (way.picture ? FOR_PICTURES : FOR_SOUND).indexOf(way.name);
  return all
    .filter((way): way is Way => way !== undefined && worth(way) > 0)
    .sort((one, other) => rank(other) - rank(one) || place(one) - place(other));
};

/** What this way leaves out of the stream, in words. */
export const missing = (offer: Offer, way: Way): string => {
  const [video, audio] = [trackOf(offer, "video"), trackOf(offer, "audio")];
  if (video && !way.picture) return `This browser cannot show the picture, which is ${video.label}.`;
  if (audio && !way.sound) return "This browser cannot play the sound of this stream.";
  return "";
};

/** Why a wish cannot be had from the beginning, in words; empty where that is not the codec's fault. */
export const refused = (offer: Offer, browser: Browser, ways: Way[], wish: WayName | null): string => {
  if (wish !== "webrtc" || !offer.webrtc) return "";
  const webrtc = ways.find((way) => way.name === "webrtc");
  const video = trackOf(offer, "video");
  if (webrtc && (webrtc.picture || !video)) return "";
  const takes = !video || browser.receives(IN_RTP[video.codec] ?? "");
  if (takes && offer.webrtc.picture === false) {
    return "WebRTC does not work here: it cannot carry B-frames, which this stream has.";
  }
  return `WebRTC does not work here: this browser takes no ${video?.label ?? "sound"} over WebRTC.`;
};
