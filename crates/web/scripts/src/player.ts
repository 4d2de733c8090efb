// The player page: ties playback, controls and what is shown of the stream together.

import { offerCode, showOffer } from "./about";
import { thisBrowser } from "./browser";
import { offerDevices } from "./cast";
import { Controls } from "./controls";
import { byId, say } from "./dom";
import { Embedding } from "./embed";
import { Meter } from "./meter";
import { delivered } from "./offer";
import { Playback } from "./playback";
import { Poster } from "./poster";
import { Recordings } from "./recordings";
import { read, wantsLive } from "./settings";
import type { Stage } from "./state";
import { Titles } from "./titles";
import { Words } from "./words";

/** How often a visible page asks what there is. */
const INFO_MS = 10_000;

const settings = read();
const { classList } = document.documentElement;
// The page for frames has it from the server.
if (settings.isEmbedded) classList.add("embedded");
if (settings.isBare) classList.add("bare");

const stage: Stage = { video: byId<HTMLVideoElement>("video"), audio: byId<HTMLAudioElement>("audio") };
const poster = new Poster(stage.video);
const status = byId("status");
const note = byId("note");
const words = new Words();
const meter = new Meter();
let shownOffer: unknown = null;

const show = (): void => {
  controls.show();
  say(status, words.of(playback, performance.now()));
  note.hidden = playback.note === "";
  say(note, playback.note);
  if (shownOffer !== playback.offer) {
    shownOffer = playback.offer;
    showOffer(playback.offer);
  }
  const isHeard = playback.state === "playing" && playback.element === stage.audio;
  if (isHeard || playback.element === null) meter.follow(isHeard ? stage.audio : null);
  poster.show();
  if (playback.state === "playing") recordings?.pause();
  if (navigator.mediaSession) {
    navigator.mediaSession.playbackState = controls.isPaused() ? "paused" : "playing";
  }
  embedding.show();
};

const playback = new Playback(stage, delivered(), thisBrowser, () => show());
const controls = new Controls(playback, stage);
const embedding = new Embedding(playback, controls);
// The page for frames is the player alone.
const recordings = settings.isEmbedded ? null : new Recordings(() => playback.pause());

controls.setVolume(settings.volume);
controls.setMuted(settings.isMuted);
offerDevices([stage.video, stage.audio], () => controls.media());
offerCode();
new Titles((title) => playback.titled(title));

navigator.mediaSession?.setActionHandler("play", () => playback.play());
navigator.mediaSession?.setActionHandler("pause", () => playback.pause());

addEventListener("hashchange", () => {
  if (wantsLive() && playback.wished() !== "webrtc") playback.choose("webrtc");
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) playback.wake();
});
document.addEventListener("freeze", () => playback.sleep());
document.addEventListener("resume", () => playback.wake());
// Ends the session with the page, instead of when the server notices.
addEventListener("pagehide", () => playback.leave());
addEventListener("pageshow", (event) => {
  if (event.persisted) playback.choose(playback.wished());
});
setInterval(() => {
  if (!document.hidden) void playback.followTracks();
}, INFO_MS);

playback.begin(settings.way, settings.isHeld);
