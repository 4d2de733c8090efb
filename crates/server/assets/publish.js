// Publishes a camera or a screen, and a microphone, over WHIP.
"use strict";

(() => {
  const FIRST_RETRY_MS = 1000;
  const LAST_RETRY_MS = 15000;
  const FIGURES_MS = 1000;
  // A lost connection recovers within this time, or not at all.
  const LOST_MS = 4000;
  // On air for this long, the pause before a retry is short again; two publishers that replace each other never are.
  const STEADY_MS = 60000;
  // Every player decodes it, so the stream can be sent over RTMP and HTTP as well.
  const PREFERRED_CODEC = "video/h264";

  const byId = (id) => document.getElementById(id);
  const form = byId("publish");
  const status = byId("status");
  const preview = byId("preview");
  const picture = byId("picture");
  const camera = byId("camera");
  const microphone = byId("microphone");
  const music = byId("music");
  const key = byId("key");
  const bitrate = byId("bitrate");
  const goButton = byId("go");
  const stopButton = byId("stop");
  const figures = byId("figures");

  const { path } = JSON.parse(byId("offer").textContent);

  let media = null;
  let session = null;
  let retryMs = FIRST_RETRY_MS;
  let retryTimer = null;
  let lostTimer = null;
  let steadyTimer = null;
  let wasOnAir = false;
  let figuresTimer = null;
  // Counts attempts, so that callbacks of an earlier one can tell that they are out of date.
  let turn = 0;

  const say = (text, isError = false) => {
    status.textContent = text;
    status.classList.toggle("error", isError);
  };

  // Why the browser gives no picture or sound, and what to do about it.
  const explain = (error) => ({
    NotAllowedError: "The browser did not permit it. Allow camera and microphone for this page, in the "
      + "address bar or in the system's settings, and try again.",
    NotFoundError: "There is no camera or no microphone of this kind. Plug one in, or choose another.",
    OverconstrainedError: "The chosen device is gone. Choose another.",
    NotReadableError: "The device is in use by another program, or the system does not release it.",
    AbortError: "The device failed to start. Try again.",
  })[error.name] ?? error.message;

  const wantsVideo = () => picture.value !== "none";
  const wantsAudio = () => microphone.value !== "none";

  const chosen = (select) => (select.value && select.value !== "any" ? { deviceId: { exact: select.value } } : {});

  // Music is sent unprocessed; speech is cleaned up.
  const soundWanted = () => ({
    ...chosen(microphone),
    channelCount: 2,
    echoCancellation: !music.checked,
    noiseSuppression: !music.checked,
    autoGainControl: !music.checked,
  });

  const capture = async () => {
    const tracks = [];
    try {
      if (picture.value === "screen") {
        const screen = await navigator.mediaDevices.getDisplayMedia({
          video: { frameRate: { ideal: 30 } },
          audio: microphone.value === "screen",
        });
        tracks.push(...screen.getTracks());
      }
      const isCamera = picture.value === "camera";
      const isMicrophone = wantsAudio() && microphone.value !== "screen";
      if (isCamera || isMicrophone) {
        const devices = await navigator.mediaDevices.getUserMedia({
          video: isCamera && {
            ...chosen(camera), width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 },
          },
          audio: isMicrophone && soundWanted(),
        });
        tracks.push(...devices.getTracks());
      }
    } catch (error) {
      tracks.forEach((track) => track.stop());
      throw error;
    }
    return new MediaStream(tracks);
  };

  // The browser names devices only after permission to use one.
  const listDevices = async () => {
    const all = await navigator.mediaDevices.enumerateDevices();
    const fill = (select, kind, word) => {
      const before = select.value;
      for (const old of [...select.querySelectorAll("option[data-device]")]) old.remove();
      all.filter((one) => one.kind === kind && one.deviceId && one.deviceId !== "default").forEach((one, at) => {
        const option = new Option(one.label || `${word} ${at + 1}`, one.deviceId);
        option.dataset.device = "";
        select.add(option);
      });
      if ([...select.options].some((option) => option.value === before)) select.value = before;
    };
    fill(camera, "videoinput", "Camera");
    fill(microphone, "audioinput", "Microphone");
  };

  const showChoices = () => {
    byId("camera-row").hidden = picture.value !== "camera";
    byId("bitrate-row").hidden = !wantsVideo();
    byId("music-row").hidden = !wantsAudio();
    const ofScreen = microphone.querySelector("option[value=screen]");
    ofScreen.hidden = picture.value !== "screen";
    if (ofScreen.hidden && microphone.value === "screen") microphone.value = "any";
  };

  const showState = (isOnAir) => {
    for (const field of form.querySelectorAll("select, input")) field.disabled = isOnAir;
    // The bitrate can be changed on air.
    bitrate.disabled = false;
    goButton.hidden = isOnAir;
    stopButton.hidden = !isOnAir;
    figures.hidden = !isOnAir;
  };

  const preferCodec = (transceiver) => {
    const codecs = RTCRtpSender.getCapabilities?.("video")?.codecs;
    if (!codecs || !transceiver.setCodecPreferences) return;
    const rank = (codec) => Number(codec.mimeType.toLowerCase() !== PREFERRED_CODEC);
    try {
      transceiver.setCodecPreferences([...codecs].sort((a, b) => rank(a) - rank(b)));
    } catch {
      // The browser's own order is acceptable.
    }
  };

  const limitBitrate = async (peer) => {
    const sender = peer.getSenders().find((one) => one.track?.kind === "video");
    if (!sender) return;
    const parameters = sender.getParameters();
    if (!parameters.encodings?.length) return;
    parameters.encodings[0].maxBitrate = Number(bitrate.value) * 1000;
    // A screen must stay readable, a camera must stay fluent.
    parameters.degradationPreference = picture.value === "screen"
      ? "maintain-resolution" : "maintain-framerate";
    await sender.setParameters(parameters).catch(() => {});
  };

  const addTracks = (peer) => {
    for (const track of media.getTracks()) {
      const transceiver = peer.addTransceiver(track, { direction: "sendonly", streams: [media] });
      if (track.kind === "video") {
        track.contentHint = picture.value === "screen" ? "detail" : "motion";
        preferCodec(transceiver);
      } else {
        track.contentHint = music.checked ? "music" : "speech";
      }
    }
  };

  const amount = (bits) => (bits >= 1e6 ? `${(bits / 1e6).toFixed(1)} Mb/s` : `${Math.round(bits / 1e3)} kb/s`);

  const showFigures = (peer) => {
    let last = null;
    figuresTimer = setInterval(async () => {
      const report = [...(await peer.getStats()).values()];
      const sent = report.filter((one) => one.type === "outbound-rtp");
      const bytes = sent.reduce((sum, one) => sum + (one.bytesSent ?? 0), 0);
      const now = performance.now();
      const video = sent.find((one) => one.kind === "video" && one.frameHeight);
      const remote = report.filter((one) => one.type === "remote-inbound-rtp");
      const trip = remote.map((one) => one.roundTripTime).find((time) => time !== undefined);
      const loss = Math.max(0, ...remote.map((one) => one.fractionLost ?? 0));
      const parts = [];
      if (last) parts.push(`${amount((bytes - last.bytes) * 8000 / (now - last.at))} sent`);
      if (video) parts.push(`${video.frameWidth}×${video.frameHeight}, ${Math.round(video.framesPerSecond ?? 0)} fps`);
      if (trip !== undefined) parts.push(`round trip ${Math.round(trip * 1000)} ms`);
      if (remote.length > 0) parts.push(`${(loss * 100).toFixed(1)} % lost`);
      figures.textContent = parts.join(" · ");
      last = { bytes, at: now };
    }, FIGURES_MS);
  };

  const hangUp = () => {
    turn += 1;
    clearTimeout(retryTimer);
    clearTimeout(lostTimer);
    clearTimeout(steadyTimer);
    clearInterval(figuresTimer);
    if (session) {
      session.end();
      session = null;
    }
  };

  const stop = (words, isError = false) => {
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

  // Whether the stream has a publisher, as the player's page says.
  const isLive = async () => {
    try {
      const answer = await fetch(new URL("./", location.href), { cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      return JSON.parse(page.getElementById("offer").textContent).live;
    } catch {
      return false;
    }
  };

  const again = (words) => {
    hangUp();
    say(`${words} Trying again.`, true);
    retryTimer = setTimeout(connect, retryMs);
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  };

  const connect = async () => {
    hangUp();
    const mine = turn;
    const isOver = () => mine !== turn;
    const peer = new RTCPeerConnection();
    addTracks(peer);
    say("Connecting.");
    session = rtc.open(peer, path, key.value.trim());
    try {
      await session.ready;
    } catch (error) {
      if (isOver()) return;
      // Another publisher may leave, and the network may recover; a wrong key stays wrong, and so does a
      // network that never let media through: each attempt would take the stream from its present publisher.
      const isHopeless = error.isUnreachable && !wasOnAir;
      if (!isHopeless && (error.passes || error.status === 0)) again(error.message);
      else stop(error.message, true);
      return;
    }
    if (isOver()) return;
    await limitBitrate(peer);
    if (isOver()) return;
    wasOnAir = true;
    steadyTimer = setTimeout(() => { retryMs = FIRST_RETRY_MS; }, STEADY_MS);
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
      const lost = () => again("The connection was lost.");
      if (peer.connectionState === "failed") lost();
      if (peer.connectionState === "disconnected") lostTimer = setTimeout(lost, LOST_MS);
    };
    bitrate.onchange = () => limitBitrate(peer);
    showFigures(peer);
    say("On air.");
  };

  const go = async () => {
    if (!wantsVideo() && !wantsAudio()) {
      say("Choose a picture, a sound, or both.", true);
      return;
    }
    say("Waiting for the browser's permission.");
    goButton.disabled = true;
    try {
      media = await capture();
    } catch (error) {
      say(explain(error), true);
      return;
    } finally {
      goButton.disabled = false;
    }
    if (microphone.value === "screen" && media.getAudioTracks().length === 0) {
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
    listDevices().catch(() => {});
    connect();
  };

  const begin = () => {
    showChoices();
    if (!rtc.isSupported()) {
      goButton.disabled = true;
      say("This browser has no WebRTC.", true);
    } else if (!navigator.mediaDevices) {
      goButton.disabled = true;
      say("Browsers allow camera and microphone only on pages over HTTPS, or on localhost. "
        + "Open this page by its https:// address.", true);
    } else {
      if (!navigator.mediaDevices.getDisplayMedia) picture.querySelector("option[value=screen]").remove();
      listDevices().catch(() => {});
      navigator.mediaDevices.addEventListener?.("devicechange", () => listDevices().catch(() => {}));
      say("Ready.");
    }
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  stopButton.addEventListener("click", () => stop("Stopped."));
  picture.addEventListener("change", showChoices);
  microphone.addEventListener("change", showChoices);
  addEventListener("pagehide", () => stop("Stopped."));

  begin();
})();
