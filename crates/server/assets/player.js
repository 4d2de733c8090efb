// Plays the stream of this page: FLV through mpegts.js where there are pictures, otherwise the
// first address that an <audio> element can play; or, when that is wanted, over WebRTC with as little
// delay as there is. Starts again, ever more patiently, when the stream stops.
"use strict";

(() => {
  const FIRST_RETRY_MS = 1000;
  const LAST_RETRY_MS = 15000;
  // Longer than any keyframe interval that is in use, and than the time a burst takes to arrive.
  const STALL_MS = 12000;
  const WATCH_MS = 1000;

  const byId = (id) => document.getElementById(id);
  const video = byId("video");
  const audio = byId("audio");
  const status = byId("status");
  const playButton = byId("play");
  const soundButton = byId("sound");
  const liveButton = byId("live");
  const note = byId("note");

  // What the address ends with, and what the browser remembers, when low delay is wanted.
  const LIVE = "live";
  const WAY = "carillon-way";
  // A connection that was lost comes back within this time, or not at all.
  const LOST_MS = 4000;

  let offer = JSON.parse(byId("offer").textContent);
  let element = null;
  let library = null;
  let retryMs = FIRST_RETRY_MS;
  let retryTimer = null;
  let watchTimer = null;
  let lostTimer = null;
  let session = null;
  // Why low delay was given up.
  let fallback = null;
  // Counts starts, so that what began before the latest one knows that it is over.
  let turn = 0;

  const remembered = () => {
    try {
      return localStorage.getItem(WAY);
    } catch {
      return null;
    }
  };
  let wantsLive = location.hash === `#${LIVE}` || remembered() === LIVE;

  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  const isFlv = (address) => address.type === "video/x-flv";

  const canPlayFlv = () =>
    typeof mpegts !== "undefined" && mpegts.getFeatureList().mseLivePlayback;

  // What to play, and with which element.
  const choose = () => {
    const flv = offer.addresses.find(isFlv);
    if (flv && offer.video && canPlayFlv()) return { address: flv, element: video };
    const plain = offer.addresses.find((one) => !isFlv(one) && audio.canPlayType(one.type) !== "");
    if (plain) return { address: plain, element: audio };
    if (flv && canPlayFlv()) return { address: flv, element: offer.video ? video : audio };
    return null;
  };

  const stop = () => {
    turn += 1;
    clearTimeout(retryTimer);
    clearInterval(watchTimer);
    clearTimeout(lostTimer);
    if (session) {
      session.end();
      session = null;
    }
    if (library) {
      library.destroy();
      library = null;
    }
    if (element) {
      element.srcObject = null;
      element.removeAttribute("src");
      element.load();
      element = null;
    }
  };

  const retry = (text) => {
    stop();
    say(text);
    retryTimer = setTimeout(refresh, retryMs);
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  };

  // The page itself tells what there is now.
  const refresh = async () => {
    try {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      offer = JSON.parse(page.getElementById("offer").textContent);
    } catch {
      retry("The server cannot be reached. Trying again.");
      return;
    }
    listAddresses();
    start();
  };

  // Browsers let a page play unasked only without sound.
  const begin = async () => {
    const mine = element;
    try {
      await mine.play();
      return;
    } catch (error) {
      if (mine !== element) return;
      if (error.name !== "NotAllowedError") {
        return;
      }
    }
    if (mine === video) {
      video.muted = true;
      try {
        await video.play();
        if (mine === element) soundButton.hidden = false;
        return;
      } catch {
        // Not even that; a button remains.
      }
    }
    if (mine !== element) return;
    playButton.hidden = false;
    say("Ready. Press Play.");
  };

  // A live element that is not paused and does not move on has lost its stream.
  const watch = () => {
    const mine = element;
    let last = -1;
    let since = performance.now();
    watchTimer = setInterval(() => {
      if (mine !== element) return;
      const now = performance.now();
      if (mine.paused || mine.currentTime !== last) {
        last = mine.currentTime;
        since = now;
      } else if (now - since > STALL_MS) {
        retry("The stream has stopped. Trying again.");
      }
    }, WATCH_MS);
  };

  const canLive = () => Boolean(offer.webrtc) && rtc.isSupported();

  const showWays = () => {
    liveButton.hidden = !canLive();
    liveButton.setAttribute("aria-pressed", String(wantsLive));
    note.hidden = !fallback;
    note.textContent = fallback ?? "";
  };

  const giveUpLive = (reason) => {
    stop();
    wantsLive = false;
    fallback = `Low delay does not work here. ${reason}`;
    startUsual();
  };

  const startLive = async () => {
    const mine = turn;
    const isOver = () => mine !== turn;
    const media = new MediaStream();
    const peer = new RTCPeerConnection();
    if (offer.audio) peer.addTransceiver("audio", { direction: "recvonly" });
    if (offer.video) peer.addTransceiver("video", { direction: "recvonly" });
    peer.ontrack = (event) => media.addTrack(event.track);
    say("Connecting with low delay.");
    session = rtc.open(peer, offer.webrtc);
    try {
      await session.ready;
    } catch (error) {
      if (isOver()) return;
      if (error.passes) retry(error.message);
      else giveUpLive(error.message);
      return;
    }
    if (isOver()) return;
    if (offer.video && media.getVideoTracks().length === 0) {
      giveUpLive("This browser would get the sound and no picture.");
      return;
    }
    peer.onconnectionstatechange = () => {
      if (isOver()) return;
      clearTimeout(lostTimer);
      const lost = () => retry("The connection was lost. Trying again.");
      if (peer.connectionState === "failed") lost();
      if (peer.connectionState === "disconnected") lostTimer = setTimeout(lost, LOST_MS);
    };
    show(offer.video ? video : audio);
    element.srcObject = media;
    watch();
    begin();
  };

  const show = (chosen) => {
    element = chosen;
    video.hidden = element !== video;
    audio.hidden = element !== audio;
  };

  const start = () => {
    stop();
    showWays();
    if (!offer.live) {
      retry("Not live. This page starts to play when it is.");
      return;
    }
    if (wantsLive && canLive()) {
      startLive();
      return;
    }
    startUsual();
  };

  const startUsual = () => {
    showWays();
    const choice = choose();
    if (!choice) {
      // Tracks are announced one after the other, so this may be too early.
      retry(offer.addresses.length === 0
        ? "Waiting for the publisher."
        : "This browser cannot play the stream. A player can; see below.");
      return;
    }
    show(choice.element);
    say("Waiting for the stream.");
    const url = new URL(choice.address.path, location.href).href;
    if (isFlv(choice.address)) {
      library = mpegts.createPlayer(
        { type: "flv", isLive: true, url, hasAudio: offer.audio, hasVideo: offer.video },
        { isLive: true, lazyLoad: false, enableStashBuffer: false, liveSync: true,
          fixAudioTimestampGap: true, autoCleanupSourceBuffer: true },
      );
      library.on(mpegts.Events.ERROR, () => retry("The stream was interrupted. Trying again."));
      library.on(mpegts.Events.LOADING_COMPLETE, () => retry("The stream has ended. Waiting for it."));
      library.attachMediaElement(element);
      library.load();
    } else {
      element.src = url;
    }
    watch();
    begin();
  };

  const listAddresses = () => {
    const rows = offer.addresses.map((one) => {
      const url = new URL(one.path, location.href).href;
      const row = document.createElement("li");
      const text = document.createElement("code");
      text.textContent = url;
      const copy = document.createElement("button");
      copy.type = "button";
      copy.textContent = "Copy";
      copy.setAttribute("aria-label", `Copy the ${one.label} address`);
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(url);
          copy.textContent = "Copied";
        } catch {
          // Without HTTPS there is no clipboard; selected text is one key away from it.
          getSelection().selectAllChildren(text);
        }
      });
      const label = document.createElement("span");
      label.textContent = one.label;
      row.append(label, text, copy);
      return row;
    });
    byId("addresses").replaceChildren(...rows);
  };

  for (const media of [video, audio]) {
    media.addEventListener("playing", () => {
      if (media !== element) return;
      retryMs = FIRST_RETRY_MS;
      playButton.hidden = true;
      say(session ? "Playing with low delay." : "Playing.");
    });
    media.addEventListener("waiting", () => {
      if (media === element) say("Waiting for the stream.");
    });
    media.addEventListener("pause", () => {
      if (media === element) say("Paused.");
    });
    media.addEventListener("ended", () => {
      if (media === element) retry("The stream has ended. Waiting for it.");
    });
    media.addEventListener("error", () => {
      // mpegts.js tells of its own errors.
      if (media === element && !library) retry("The stream was interrupted. Trying again.");
    });
  }

  playButton.addEventListener("click", () => {
    playButton.hidden = true;
    begin();
  });
  liveButton.addEventListener("click", () => {
    wantsLive = !wantsLive;
    fallback = null;
    try {
      localStorage.setItem(WAY, wantsLive ? LIVE : "");
    } catch {
      // Then it is wanted on this page only.
    }
    retryMs = FIRST_RETRY_MS;
    start();
  });
  // The session ends with the page, and not when the server notices.
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => {
    if (event.persisted) start();
  });
  soundButton.addEventListener("click", () => {
    video.muted = false;
    soundButton.hidden = true;
  });

  listAddresses();
  start();
})();
