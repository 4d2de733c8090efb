// Made from crates/web/scripts/src by `npm run build`; do not edit.
"use strict";
(() => {
  // src/capture.ts
  var REASONS = {
    NotAllowedError: "The browser did not permit it. Allow camera and microphone for this page, in the address bar or in the system's settings, and try again.",
    NotFoundError: "There is no camera or no microphone of this kind. Plug one in, or choose another.",
    OverconstrainedError: "The chosen device is gone. Choose another.",
    NotReadableError: "The device is in use by another program, or the system does not release it.",
    AbortError: "The device failed to start. Try again."
  };
  var explain = (error) => {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return REASONS[name] ?? message;
  };
  var chosen = (id) => id && id !== "any" ? { deviceId: { exact: id } } : {};
  var soundWanted = ({ microphone: microphone2, isMusic }) => ({
    ...chosen(microphone2),
    channelCount: 2,
    echoCancellation: !isMusic,
    noiseSuppression: !isMusic,
    autoGainControl: !isMusic
  });
  var capture = async (wanted2) => {
    const tracks = [];
    try {
      if (wanted2.picture === "screen") {
        const screen = await navigator.mediaDevices.getDisplayMedia({
          video: { frameRate: { ideal: 30 } },
          audio: wanted2.microphone === "screen"
        });
        tracks.push(...screen.getTracks());
      }
      const isCamera = wanted2.picture === "camera";
      const isMicrophone = !["none", "screen"].includes(wanted2.microphone);
      if (isCamera || isMicrophone) {
        const devices = await navigator.mediaDevices.getUserMedia({
          video: isCamera && {
            ...chosen(wanted2.camera),
            width: { ideal: 1280 },
            height: { ideal: 720 },
            frameRate: { ideal: 30 }
          },
          audio: isMicrophone && soundWanted(wanted2)
        });
        tracks.push(...devices.getTracks());
      }
    } catch (error) {
      tracks.forEach((track) => track.stop());
      throw error;
    }
    return new MediaStream(tracks);
  };
  var listDevices = async (camera2, microphone2) => {
    const all = await navigator.mediaDevices.enumerateDevices();
    const fill = (select, kind, word) => {
      const before = select.value;
      for (const old of [...select.querySelectorAll("option[data-device]")]) old.remove();
      all.filter((one) => one.kind === kind && one.deviceId && one.deviceId !== "default").forEach((one, at) => {
        const option = new Option(one.label || `${word} ${at + 1}`, one.deviceId);
        option.dataset["device"] = "";
        select.add(option);
      });
      if ([...select.options].some((option) => option.value === before)) select.value = before;
    };
    fill(camera2, "videoinput", "Camera");
    fill(microphone2, "audioinput", "Microphone");
  };

  // src/dom.ts
  var byId = (id) => {
    const found = document.getElementById(id);
    if (!found) throw new Error(`the page has no element #${id}`);
    return found;
  };

  // src/figures.ts
  var amount = (bits) => bits >= 1e6 ? `${(bits / 1e6).toFixed(1)} Mb/s` : `${Math.round(bits / 1e3)} kb/s`;
  var number = (entry, name) => {
    const value = entry?.[name];
    return typeof value === "number" ? value : void 0;
  };
  var Figures = class {
    constructor() {
      this.last = null;
    }
    /** `now` is in milliseconds of any clock. */
    of(stats, now) {
      const report = [];
      stats.forEach((one) => report.push(one));
      const sent = report.filter((one) => one["type"] === "outbound-rtp");
      const bytes = sent.reduce((sum, one) => sum + (number(one, "bytesSent") ?? 0), 0);
      const video = sent.find((one) => one["kind"] === "video" && one["frameHeight"]);
      const remote = report.filter((one) => one["type"] === "remote-inbound-rtp");
      const trip = remote.map((one) => number(one, "roundTripTime")).find((time) => time !== void 0);
      const loss = Math.max(0, ...remote.map((one) => number(one, "fractionLost") ?? 0));
      const parts = [];
      if (this.last) parts.push(`${amount((bytes - this.last.bytes) * 8e3 / (now - this.last.at))} sent`);
      if (video) {
        const rate = Math.round(number(video, "framesPerSecond") ?? 0);
        parts.push(`${String(video["frameWidth"])}×${String(video["frameHeight"])}, ${rate} fps`);
      }
      if (trip !== void 0) parts.push(`round trip ${Math.round(trip * 1e3)} ms`);
      if (remote.length > 0) parts.push(`${(loss * 100).toFixed(1)} % lost`);
      this.last = { bytes, at: now };
      return parts.join(" · ");
    }
  };

  // src/rtc.ts
  var CONNECT_MS = 1e4;
  var PASSING = [409, 429, 503];
  var Problem = class extends Error {
    constructor(message, status2 = 0, isUnreachable = false) {
      super(message);
      this.status = status2;
      this.isUnreachable = isUnreachable;
    }
    /** Whether a retry may succeed. */
    get passes() {
      return PASSING.includes(this.status);
    }
  };
  var isSupported = () => typeof RTCPeerConnection === "function";
  var problemOf = async (answer) => {
    let words = "";
    try {
      const document2 = await answer.json();
      if (typeof document2.detail === "string") words = document2.detail;
    } catch {
    }
    words || (words = `The server answered with status ${answer.status}.`);
    return new Problem(words.charAt(0).toUpperCase() + words.slice(1), answer.status);
  };
  var inStereo = (sdp) => {
    const numbers = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\/48000\/2/gim)].map((match) => match[1] ?? "");
    return numbers.reduce((text, number2) => text.replace(
      new RegExp(`^a=fmtp:${number2} (?!.*stereo=)(.*)$`, "m"),
      `a=fmtp:${number2} $1;stereo=1;sprop-stereo=1`
    ), sdp);
  };
  var headersFor = (key2, type = "") => ({
    ...type ? { "Content-Type": type } : {},
    ...key2 ? { Authorization: `Bearer ${key2}` } : {}
  });
  var connected = (peer, ms) => new Promise((resolve, reject) => {
    const unreachable = () => reject(new Problem(
      "The server answers, but its media port cannot be reached from this network.",
      0,
      true
    ));
    const timer = setTimeout(unreachable, ms);
    const look = () => {
      if (peer.connectionState === "connected") resolve();
      else if (["failed", "closed"].includes(peer.connectionState)) unreachable();
      else return;
      clearTimeout(timer);
      peer.removeEventListener("connectionstatechange", look);
    };
    peer.addEventListener("connectionstatechange", look);
    look();
  });
  var sessionAt = (address, endpoint) => {
    const { pathname, search } = new URL(address, endpoint);
    const id = pathname.split("/").pop() ?? "";
    return new URL(`${endpoint.pathname}/${id}${search}`, endpoint);
  };
  var open = (peer, path2, { key: key2 = "", connectMs = CONNECT_MS } = {}) => {
    const endpoint = new URL(path2, document.baseURI);
    let session2 = null;
    let hasAnswer = false;
    let isOver = false;
    let abandon = () => {
    };
    const abandoned = new Promise((_, reject) => {
      abandon = reject;
    });
    abandoned.catch(() => {
    });
    const leave = () => {
      if (!session2) return;
      fetch(session2, { method: "DELETE", headers: headersFor(key2), keepalive: true }).catch(() => {
      });
      session2 = null;
    };
    const end = () => {
      if (isOver) return;
      isOver = true;
      peer.close();
      leave();
      abandon(new Problem("The session was ended."));
    };
    const post = async () => {
      try {
        return await fetch(endpoint, {
          method: "POST",
          headers: headersFor(key2, "application/sdp"),
          body: peer.localDescription?.sdp ?? "",
          cache: "no-store"
        });
      } catch {
        throw new Problem("The server cannot be reached.");
      }
    };
    const begin2 = async () => {
      const offer = await peer.createOffer();
      await peer.setLocalDescription({ type: "offer", sdp: inStereo(offer.sdp ?? "") });
      const answer = await post();
      if (answer.status !== 201) throw await problemOf(answer);
      const address = answer.headers.get("Location");
      session2 = address ? sessionAt(address, endpoint) : null;
      const sdp = await answer.text();
      if (isOver) {
        leave();
        return;
      }
      hasAnswer = true;
      await peer.setRemoteDescription({ type: "answer", sdp });
      await connected(peer, connectMs);
    };
    const ready = Promise.race([begin2(), abandoned]);
    ready.catch(end);
    return { ready, end, isAnswered: () => hasAnswer };
  };

  // src/publish.ts
  var FIRST_RETRY_MS = 1e3;
  var LAST_RETRY_MS = 15e3;
  var FIGURES_MS = 1e3;
  var LOST_MS = 4e3;
  var STEADY_MS = 6e4;
  var PREFERRED_CODEC = "video/h264";
  var LAYERS = [
    { rid: "h" },
    { rid: "m", scaleResolutionDownBy: 2 },
    { rid: "l", scaleResolutionDownBy: 4 }
  ];
  var BITS_PER_SCALE = 1.5;
  var form = byId("publish");
  var status = byId("status");
  var preview = byId("preview");
  var picture = byId("picture");
  var camera = byId("camera");
  var microphone = byId("microphone");
  var music = byId("music");
  var key = byId("key");
  var bitrate = byId("bitrate");
  var layers = byId("layers");
  var goButton = byId("go");
  var stopButton = byId("stop");
  var figures = byId("figures");
  var { path } = JSON.parse(byId("offer").textContent ?? "");
  var media = null;
  var session = null;
  var retryMs = FIRST_RETRY_MS;
  var retryTimer;
  var lostTimer;
  var steadyTimer;
  var figuresTimer;
  var wasOnAir = false;
  var turn = 0;
  var say = (text, isError = false) => {
    status.textContent = text;
    status.classList.toggle("error", isError);
  };
  var wanted = () => ({
    picture: picture.value,
    camera: camera.value,
    microphone: microphone.value,
    isMusic: music.checked
  });
  var refreshDevices = () => {
    listDevices(camera, microphone).catch(() => {
    });
  };
  var showChoices = () => {
    byId("camera-row").hidden = picture.value !== "camera";
    byId("bitrate-row").hidden = picture.value === "none";
    byId("layers-row").hidden = picture.value === "none";
    byId("music-row").hidden = microphone.value === "none";
    const ofScreen = microphone.querySelector("option[value=screen]");
    if (!ofScreen) return;
    ofScreen.hidden = picture.value !== "screen";
    if (ofScreen.hidden && microphone.value === "screen") microphone.value = "any";
  };
  var showState = (isOnAir) => {
    for (const field of form.querySelectorAll("select, input")) {
      field.disabled = isOnAir;
    }
    bitrate.disabled = false;
    goButton.hidden = isOnAir;
    stopButton.hidden = !isOnAir;
    figures.hidden = !isOnAir;
  };
  var preferCodec = (transceiver) => {
    const codecs = RTCRtpSender.getCapabilities?.("video")?.codecs;
    if (!codecs || typeof transceiver.setCodecPreferences !== "function") return;
    const rank = ({ mimeType }) => Number(mimeType.toLowerCase() !== PREFERRED_CODEC);
    try {
      transceiver.setCodecPreferences([...codecs].sort((one, other) => rank(one) - rank(other)));
    } catch {
    }
  };
  var limitBitrate = async (peer) => {
    const sender = peer.getSenders().find((one) => one.track?.kind === "video");
    if (!sender) return;
    const parameters = sender.getParameters();
    if (!parameters.encodings?.length) return;
    for (const encoding of parameters.encodings) {
      encoding.maxBitrate = Math.round(Number(bitrate.value) * 1e3 / (encoding.scaleResolutionDownBy ?? 1) ** BITS_PER_SCALE);
    }
    const degradationPreference = picture.value === "screen" ? "maintain-resolution" : "maintain-framerate";
    await sender.setParameters({ ...parameters, degradationPreference }).catch(() => {
    });
  };
  var addTracks = (peer, stream) => {
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
  var showFigures = (peer) => {
    const words = new Figures();
    figuresTimer = setInterval(async () => {
      figures.textContent = words.of(await peer.getStats(), performance.now());
    }, FIGURES_MS);
  };
  var hangUp = () => {
    turn += 1;
    clearTimeout(retryTimer);
    clearTimeout(lostTimer);
    clearTimeout(steadyTimer);
    clearInterval(figuresTimer);
    session?.end();
    session = null;
  };
  var stop = (words, isError = false) => {
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
  var isLive = async () => {
    try {
      const answer = await fetch(new URL("./", location.href), { cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const offer = JSON.parse(page.getElementById("offer")?.textContent ?? "");
      return Boolean(offer.live);
    } catch {
      return false;
    }
  };
  var again = (words) => {
    hangUp();
    say(`${words} Trying again.`, true);
    retryTimer = setTimeout(() => void connect(), retryMs);
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  };
  var failed = (error) => {
    const isHopeless = error.isUnreachable && !wasOnAir;
    if (!isHopeless && (error.passes || error.status === 0)) again(error.message);
    else stop(error.message, true);
  };
  var watch = (peer, isOver) => {
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
      const lost = () => again("The connection was lost.");
      if (peer.connectionState === "failed") lost();
      if (peer.connectionState === "disconnected") lostTimer = setTimeout(lost, LOST_MS);
    };
  };
  var connect = async () => {
    hangUp();
    if (!media) return;
    const mine = turn;
    const isOver = () => mine !== turn;
    const peer = new RTCPeerConnection();
    addTracks(peer, media);
    say("Connecting.");
    session = open(peer, path, { key: key.value.trim() });
    try {
      await session.ready;
    } catch (error) {
      if (!isOver()) failed(error instanceof Problem ? error : new Problem(String(error)));
      return;
    }
    if (isOver()) return;
    await limitBitrate(peer);
    if (isOver()) return;
    wasOnAir = true;
    steadyTimer = setTimeout(() => {
      retryMs = FIRST_RETRY_MS;
    }, STEADY_MS);
    watch(peer, isOver);
    bitrate.onchange = () => void limitBitrate(peer);
    showFigures(peer);
    say("On air.");
  };
  var go = async () => {
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
      track.addEventListener("ended", () => stop("The device was removed, or sharing the screen has ended."));
    });
    showState(true);
    refreshDevices();
    void connect();
  };
  var begin = () => {
    showChoices();
    if (!isSupported()) {
      goButton.disabled = true;
      say("This browser has no WebRTC.", true);
    } else if (!navigator.mediaDevices) {
      goButton.disabled = true;
      say("Browsers allow camera and microphone only on pages over HTTPS, or on localhost. Open this page by its https:// address.", true);
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
})();
