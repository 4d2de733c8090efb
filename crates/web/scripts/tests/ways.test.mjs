// Which ways a browser is given, and in which order.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";

const { fitting, missing, refused, waysOf } = await import(join(process.env.CARILLON_MODULES, "ways.mjs"));

const HLS = "application/vnd.apple.mpegurl";

/** A browser that takes types which contain one of these words, by each of the three paths. */
const browser = ({ appends = [], plays = [], receives = [] }) => {
  const has = (words) => (type) => words.some((word) => type.includes(word));
  return { appends: has(appends), plays: has(plays), receives: has(receives) };
};
const CHROMIUM = browser({
  appends: ["avc1", "av01", "vp09", "mp4a", "opus", "mpeg", "flac"],
  plays: ["audio/mpeg", "audio/aac", "ogg", "webm", "avc1", "av01", "vp09", "mp4a", "opus", HLS],
  receives: ["h264", "av1", "vp8", "vp9", "opus"],
});
const OLD_PHONE = browser({ plays: ["audio/mpeg", "audio/aac", "avc1", "mp4a", HLS], receives: ["h264", "opus"] });

const track = (kind, codec) => ({ kind, codec, label: codec.toUpperCase() });

const offer = (tracks, more = {}) => ({
  live: true,
  away: false,
  tracks,
  title: null,
  notes: [],
  addresses: [
    { label: "FLV", path: "../show.flv", type: "video/x-flv" },
    { label: "MP4", path: "../show.mp4", type: "video/mp4" },
    { label: "MPEG-TS", path: "../show.ts", type: "video/mp2t" },
    { label: "AAC", path: "../show.aac", type: "audio/aac" },
    { label: "HLS", path: "../show/index.m3u8", type: HLS },
  ],
  webrtc: { path: "whep", audio: true },
  ...more,
});
const SHOW = offer([track("video", "h264"), track("audio", "aac")]);

const names = (...all) => waysOf(...all).map(({ name }) => name);

test("pictures come with the least delay first, sound alone by the simplest way", () => {
  assert.deepEqual(names(SHOW, CHROMIUM, null), ["webrtc", "flv", "hls", "native", "http"]);
  const radio = offer([track("audio", "aac")]);
  assert.deepEqual(names(radio, CHROMIUM, null), ["http", "flv", "hls", "native", "webrtc"]);
});

test("a phone without Media Source Extensions has WebRTC and its own HLS", () => {
  assert.deepEqual(names(SHOW, OLD_PHONE, null), ["webrtc", "native", "http"]);
});

test("a wish comes first, unless it lacks the picture", () => {
  assert.equal(names(SHOW, CHROMIUM, "hls")[0], "hls");
  assert.equal(names(SHOW, CHROMIUM, "http")[0], "webrtc");
  const silent = offer(SHOW.tracks, { webrtc: { path: "whep", audio: false } });
  assert.equal(names(silent, CHROMIUM, null)[0], "flv");
  assert.equal(names(silent, CHROMIUM, "webrtc")[0], "webrtc");
});

test("pictures that WebRTC cannot carry come another way", () => {
  const reordered = offer(SHOW.tracks, { webrtc: { path: "whep", audio: true, picture: false } });
  assert.equal(names(reordered, CHROMIUM, null)[0], "flv");
  const words = refused(reordered, CHROMIUM, waysOf(reordered, CHROMIUM, "webrtc"), "webrtc");
  assert.match(words, /cannot carry B-frames/);
});

test("HEVC is not given to a browser without it, nor a playlist that has it", () => {
  const hevc = offer([track("video", "hevc"), track("audio", "aac")]);
  const ways = waysOf(hevc, CHROMIUM, "webrtc");
  assert.ok(ways.every(({ picture }) => !picture));
  assert.deepEqual(ways.map(({ name }) => name), ["http", "flv", "webrtc"]);
  assert.match(refused(hevc, CHROMIUM, ways, "webrtc"), /takes no HEVC over WebRTC/);
  const sound = ways.find(({ name }) => name === "http");
  assert.match(missing(hevc, sound), /cannot show the picture, which is HEVC/);
});

test("AV1 and VP9 are not in FLV", () => {
  for (const codec of ["av1", "vp9"]) {
    const ways = waysOf(offer([track("video", codec), track("audio", "opus")]), CHROMIUM, null);
    assert.deepEqual(ways.filter(({ picture }) => picture).map(({ name }) => name), ["webrtc", "hls", "native"]);
  }
});

test("a source of unknown content is played as it is", () => {
  const webm = offer([], { addresses: [{ label: "WebM", path: "../tv", type: "video/webm" }], webrtc: null });
  assert.deepEqual(names(webm, CHROMIUM, null), ["http"]);
});

test("nothing is offered where there is nothing", () => {
  assert.deepEqual(names(offer([], { addresses: [], webrtc: null }), CHROMIUM, null), []);
});

/** A stream in two sizes, of which the larger has this codec. */
const sizes = (codec) => {
  const quality = (height, tracks) => ({
    name: `${height}p`,
    stream: `live/show_${height}`,
    width: height * 16 / 9,
    height,
    bitrate: height * 1000,
    tracks,
    addresses: [
      { label: "FLV", path: `../show_${height}.flv`, type: "video/x-flv" },
      { label: "HLS", path: `../show_${height}/index.m3u8`, type: HLS },
    ],
    webrtc: { path: `../show_${height}/whep`, audio: true, picture: true },
  });
  const large = [track("video", codec), track("audio", "aac")];
  const small = [track("video", "h264"), track("audio", "aac")];
  return offer(large, { qualities: [quality(720, large), quality(360, small)] });
};
const renditionsOf = (ways, name) => ways.find((way) => way.name === name).renditions;

test("ways that play one stream at a time have each quality's address, a playlist has all", () => {
  const ways = waysOf(sizes("h264"), CHROMIUM, null);
  assert.deepEqual(renditionsOf(ways, "flv"), [
    { name: "720p", stream: "live/show_720", height: 720, path: "../show_720.flv" },
    { name: "360p", stream: "live/show_360", height: 360, path: "../show_360.flv" },
  ]);
  assert.deepEqual(renditionsOf(ways, "webrtc").map(({ path }) => path), ["../show_720/whep", "../show_360/whep"]);
  assert.deepEqual([renditionsOf(ways, "hls"), renditionsOf(ways, "native")], [[], []]);
  assert.equal(ways.find(({ name }) => name === "hls").path, "../show/index.m3u8");
  const single = waysOf(SHOW, CHROMIUM, null);
  assert.ok(single.every(({ renditions }) => renditions.length === 0));
});

test("a quality that the browser does not decode is no choice, and spoils no way", () => {
  const ways = waysOf(sizes("hevc"), CHROMIUM, null);
  const whole = ways.filter(({ picture, sound }) => picture && sound).map(({ name }) => name);
  assert.deepEqual(whole, ["webrtc", "flv", "hls", "native"]);
  assert.equal(ways.find(({ name }) => name === "flv").path, "../show_360.flv");
  assert.deepEqual(renditionsOf(ways, "flv"), []);
});

test("the page chooses the best quality that is not larger than what shows it", () => {
  const all = renditionsOf(waysOf(sizes("h264"), CHROMIUM, null), "flv");
  const chosen = (pixels) => fitting(all, pixels)?.height;
  assert.deepEqual([1080, 720, 719, 360, 100].map(chosen), [720, 720, 360, 360, 360]);
  assert.equal(fitting([], 720), null);
});
