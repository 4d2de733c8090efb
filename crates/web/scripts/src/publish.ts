// Publishes a camera or a screen, and a microphone, over WHIP.

import { capture, explain, listDevices, type Wanted } from "./capture";
import { byId } from "./dom";
import { Figures } from "./figures";
import * as rtc from "./rtc";

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
const FIGURES_MS = 1_000;
/** A lost connection recovers within this time, or not at all. */
const LOST_MS = 4_000;
/** On air for this long, the pause before a retry is short again; two publishers that replace each other never are. */
const STEADY_MS = 60_000;
/** Every player decodes it, so the stream can be sent over RTMP and HTTP as well. */
const PREFERRED_CODEC = "video/h264";

/** Several qualities, the largest first. The server makes a stream of each: the first is the stream itself. */
const LAYERS: RTCRtpEncodingParameters[] = [
  { rid: "h" },
  { rid: "m", scaleResolutionDownBy: 2 },
  { rid: "l", scaleResolutionDownBy: 4 },
];
/** A picture of a quarter of the pixels needs about a third of the bits. */
const BITS_PER_SCALE = 1.5;

type Timer = ReturnType<typeof setTimeout> | undefined;

const form = byId<HTMLFormElement>("publish");
const status = byId("status");
const preview = byId<HTMLVideoElement>("preview");
const picture = byId<HTMLSelectElement>("picture");
const camera = byId<HTMLSelectElement>("camera");
const microphone = byId<HTMLSelectElement>("microphone");
const music = byId<HTMLInputElement>("music");
const key = byId<HTMLInputElement>("key");
const bitrate = byId<HTMLSelectElement>("bitrate");
const layers = byId<HTMLInputElement>("layers");
const goButton = byId<HTMLButtonElement>("go");
const stopButton = byId<HTMLButtonElement>("stop");
const figures = byId("figures");

/** The endpoint, relative to the page. */
const { path } = JSON.parse(byId("offer").textContent ?? "") as { path: string };

let media: MediaStream | null = null;
let session: rtc.Session | null = null;
let retryMs = FIRST_RETRY_MS;
let retryTimer: Timer;
let lostTimer: Timer;
let steadyTimer: Timer;
let figuresTimer: Timer;
let wasOnAir = false;
// Counts attempts, so that callbacks of an earlier one can tell that they are out of date.
let turn = 0;

const say = (text: string, isError = false): void => {
  status.textContent = text;
  status.classList.toggle("error", isError);
};

const wanted = (): Wanted => ({
  picture: picture.value as Wanted["picture"],
  camera: camera.value,
  microphone: microphone.value,
  isMusic: music.checked,
});

const refreshDevices = (): void => {
  listDevices(camera, microphone).catch(() => {});
};

const showChoices = (): void => {
  byId("camera-row").hidden = picture.value !== "camera";
  byId("bitrate-row").hidden = picture.value === "none";
  byId("layers-row").hidden = picture.value === "none";
  byId("music-row").hidden = microphone.value === "none";
  const ofScreen = microphone.querySelector<HTMLOptionElement>("option[value=screen]");
  if (!ofScreen) return;
  ofScreen.hidden = picture.value !== "screen";
  if (ofScreen.hidden && microphone.value === "screen") microphone.value = "any";
};

const showState = (isOnAir: boolean): void => {
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("select, input")) {
    field.disabled = isOnAir;
  }
  // The bitrate can be changed on air.
  bitrate.disabled = false;
  goButton.hidden = isOnAir;
  stopButton.hidden = !isOnAir;
  figures.hidden = !isOnAir;
};

const preferCodec = (transceiver: RTCRtpTransceiver): void => {
  const codecs = RTCRtpSender.getCapabilities?.("video")?.codecs;
  if (!codecs || typeof transceiver.setCodecPreferences !== "function") return;
  const rank = ({ mimeType }: { mimeType: string }): number => Number(mimeType.toLowerCase() !== PREFERRED_CODEC);
  try {
    transceiver.setCodecPreferences([...codecs].sort((one, other) => rank(one) - rank(other)));
  } catch {
    // The browser's own order is acceptable.
  }
};

const limitBitrate = async (peer: RTCPeerConnection): Promise<void> => {
  const sender = peer.getSenders().find((one) => one.track?.kind === "video");
  if (!sender) return;
  const parameters = sender.getParameters();
  if (!parameters.encodings?.length) return;
  for (const encoding of parameters.encodings) {
    encoding.maxBitrate = Math.round(Number(bitrate.value) * 1000
      / (encoding.scaleResolutionDownBy ?? 1) ** BITS_PER_SCALE);
  }
  // A screen must stay readable, a camera must stay fluent.
  const degradationPreference = picture.value === "screen" ? "maintain-resolution" : "maintain-framerate";
  await sender.setParameters({ ...parameters, degradationPreference } as RTCRtpSendParameters).catch(() => {});
};

const addTracks = (peer: RTCPeerConnection, stream: MediaStream): void => {
  for (const track of stream.getTracks()) {
    const isPicture = track.kind === "video";
    const sendEncodings = isPicture && layers.checked ? LAYERS.map((layer) => ({ ...layer })) : [{}];
    const transceiver = peer.addTransceiver(track, { direction: "sendonly", streams: [stream], sendEncodings });
    if (isPicture) {
      track.contentHint = picture.value === "screen" ? "detail" : "motion";
      preferCodec(transceiver);
    } else {
      track.contentHint = music.checked ? "music" : "speech";
    }
  }
};

const showFigures = (peer: RTCPeerConnection): void => {
  const words = new Figures();
  figuresTimer = setInterval(async () => {
    figures.textContent = words.of(await peer.getStats(), performance.now());
  }, FIGURES_MS);
};

const hangUp = (): void => {
  turn += 1;
  clearTimeout(retryTimer);
  clearTimeout(lostTimer);
  clearTimeout(steadyTimer);
  clearInterval(figuresTimer);
  session?.end();
  session = null;
};

const stop = (words: string, isError = false): void => {
  hangUp();
  wasOnAir = false;
  retryMs = FIRST_RETRY_MS;
  media?.getTracks().forEach((track) => track.stop());
  media = null;
  preview.srcObject = null;
  preview.hidden = true;
  showState(false);
  say(words, isError);
};

/** Whether the stream has a publisher, as the player's page says. */
const isLive = async (): Promise<boolean> => {
  try {
    const answer = await fetch(new URL("./", location.href), { cache: "no-store" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const offer = JSON.parse(page.getElementById("offer")?.textContent ?? "") as { live?: boolean };
    return Boolean(offer.live);
  } catch {
    return false;
  }
};

const again = (words: string): void => {
  hangUp();
  say(`${words} Trying again.`, true);
  retryTimer = setTimeout(() => void connect(), retryMs);
  retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
};

/** What a failure to begin means. */
const failed = (error: rtc.Problem): void => {
  // Another publisher may leave, and the network may recover; a wrong key stays wrong, and so does a network that
  // never let media through: each attempt would take the stream from its present publisher.
  const isHopeless = error.isUnreachable && !wasOnAir;
  if (!isHopeless && (error.passes || error.status === 0)) again(error.message);
  else stop(error.message, true);
};

/** Notices when the server or the network ends the session. */
const watch = (peer: RTCPeerConnection, isOver: () => boolean): void => {
  // The server closed the session: it is shutting down, or another publisher has the stream.
  const transport = peer.getSenders()[0]?.transport;
  if (transport) {
    transport.onstatechange = async () => {
      if (transport.state !== "closed" || isOver()) return;
      const isTaken = await isLive();
      if (isOver()) return;
      if (isTaken) stop("Another publisher has taken over.", true);
      else again("The server ended the session.");
    };
  }
  peer.onconnectionstatechange = () => {
    if (isOver()) return;
    clearTimeout(lostTimer);
    const lost = (): void => again("The connection was lost.");
    if (peer.connectionState === "failed") lost();
    if (peer.connectionState === "disconnected") lostTimer = setTimeout(lost, LOST_MS);
  };
};

const connect = async (): Promise<void> => {
  hangUp();
  if (!media) return;
  const mine = turn;
  const isOver = (): boolean => mine !== turn;
  const peer = new RTCPeerConnection();
  addTracks(peer, media);
  say("Connecting.");
  session = rtc.open(peer, path, { key: key.value.trim() });
  try {
    await session.ready;
  } catch (error) {
    if (!isOver()) failed(error instanceof rtc.Problem ? error : new rtc.Problem(String(error)));
    return;
  }
  if (isOver()) return;
  await limitBitrate(peer);
  if (isOver()) return;
  wasOnAir = true;
  steadyTimer = setTimeout(() => { retryMs = FIRST_RETRY_MS; }, STEADY_MS);
  watch(peer, isOver);
  bitrate.onchange = () => void limitBitrate(peer);
  showFigures(peer);
  say("On air.");
};

const go = async (): Promise<void> => {
  const wish = wanted();
  if (wish.picture === "none" && wish.microphone === "none") {
    say("Choose a picture, a sound, or both.", true);
    return;
  }
  say("Waiting for the browser's permission.");
  goButton.disabled = true;
  try {
    media = await capture(wish);
  } catch (error) {
    say(explain(error), true);
    return;
  } finally {
    goButton.disabled = false;
  }
  if (wish.microphone === "screen" && media.getAudioTracks().length === 0) {
    stop("The browser shared the screen without its sound. Choose a tab with sound, or a microphone.", true);
    return;
  }
  preview.srcObject = media;
  preview.hidden = media.getVideoTracks().length === 0;
  media.getTracks().forEach((track) => {
    // The device was unplugged, or the browser's own button ended it.
    track.addEventListener("ended", () => stop("The device was removed, or sharing the screen has ended."));
  });
  showState(true);
  refreshDevices();
  void connect();
};

const begin = (): void => {
  showChoices();
  if (!rtc.isSupported()) {
    goButton.disabled = true;
    say("This browser has no WebRTC.", true);
  } else if (!navigator.mediaDevices) {
    goButton.disabled = true;
    say("Browsers allow camera and microphone only on pages over HTTPS, or on localhost. "
      + "Open this page by its https:// address.", true);
  } else {
    if (typeof navigator.mediaDevices.getDisplayMedia !== "function") {
      picture.querySelector("option[value=screen]")?.remove();
    }
    refreshDevices();
    navigator.mediaDevices.addEventListener?.("devicechange", refreshDevices);
    say("Ready.");
  }
};

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void go();
});
stopButton.addEventListener("click", () => stop("Stopped."));
picture.addEventListener("change", showChoices);
microphone.addEventListener("change", showChoices);
addEventListener("pagehide", () => stop("Stopped."));

begin();
