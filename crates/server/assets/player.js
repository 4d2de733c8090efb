// Plays this page's stream in the best way that the browser supports, or over WebRTC where low delay is
// wanted. Goes on to the next way when one fails, and starts again, with growing pauses, when the stream
// stops.
"use strict";

(() => {
  const FIRST_RETRY_MS = 1000;
  const LAST_RETRY_MS = 15000;
  // A publisher that is away comes back soon, or the stream ends.
  const AWAY_RETRY_MS = 3000;
  // Longer than any keyframe interval that is in use, and than the time a burst takes to arrive.
  const STALL_MS = 12000;
  const WATCH_MS = 1000;
  // How often a visible page asks what is playing.
  const INFO_MS = 15000;
  // The next publisher announces its tracks one after the other, within this time.
  const TRACKS_MS = 1000;
  // A lost connection recovers within this time, or not at all.
  const LOST_MS = 4000;
  // After a longer pause, playback continues live and not where it was.
  const PAUSE_MS = 2000;
  // The lag from which on a button back to live is offered.
  const BEHIND_S = 5;
  // The largest lag that a seek within the loaded data can make up; beyond it the stream is loaded again.
  const LOADED_S = 60;
  // Kept in the buffer to cover late packets.
  const RESERVE_S = 0.8;
  // A decoder that fails twice without having played for this long will fail again.
  const STEADY_S = 10;

  // The address's fragment, and what the browser remembers, when low delay is wanted.
  const LIVE = "live";
  const MEMORY = "carillon-way";

  const here = document.currentScript.src;
  const byId = (id) => document.getElementById(id);
  const video = byId("video");
  const audio = byId("audio");
  const status = byId("status");
  const playButton = byId("play");
  const soundButton = byId("sound");
  const goLiveButton = byId("go-live");
  const lowDelayButton = byId("low-delay");
  const note = byId("note");

  let offer = info.first();
  let way = null;
  let element = null;
  let library = null;
  let session = null;
  let retryMs = FIRST_RETRY_MS;
  let retryTimer = null;
  let watchTimer = null;
  let lostTimer = null;
  let tracksTimer = null;
  // Whether the element has played since it was given this stream.
  let hasPlayed = false;
  let pausedAt = null;
  // The clock when the element's time was zero, if it had played without a break.
  let clockZero = null;
  let decoderFailures = 0;
  // Which ways failed here, by name; and the message shown for that.
  let failed = new Map();
  let reason = "";
  // Counts starts, so that callbacks of an earlier start can tell that they are out of date.
  let turn = 0;

  const remembered = () => {
    try {
      return localStorage.getItem(MEMORY);
    } catch {
      return null;
    }
  };
  let wantsLowDelay = location.hash === `#${LIVE}` || remembered() === LIVE;

  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  const stop = () => {
    turn += 1;
    clearTimeout(retryTimer);
    clearInterval(watchTimer);
    clearTimeout(lostTimer);
    clearTimeout(tracksTimer);
    session?.end();
    library?.destroy();
    if (element) {
      element.srcObject = null;
      element.removeAttribute("src");
      element.load();
    }
    [way, element, library, session, pausedAt, clockZero] = Array(6).fill(null);
    hasPlayed = false;
    goLiveButton.hidden = true;
  };

  const retryIn = (ms, text) => {
    stop();
    say(text);
    retryTimer = setTimeout(async () => {
      if (await refresh()) start();
      else retry("The server cannot be reached. Trying again.");
    }, ms);
  };

  const retry = (text) => {
    retryIn(retryMs, text);
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  };

  // Asks the server for the current state.
  const refresh = async () => {
    const fresh = await info.fetch();
    if (fresh) offer = fresh;
    return Boolean(fresh);
  };

  const failWay = (words) => {
    failed.set(way.name, words);
    reason = words;
    if (way.name === "webrtc" && wantsLowDelay) {
      wantsLowDelay = false;
      reason = `Low delay does not work here. ${words}`;
    }
    start();
  };

  // Without a click, browsers let a page play only muted.
  const begin = async () => {
    const mine = turn;
    const isOver = () => mine !== turn;
    const play = () => element.play().then(() => "", (error) => error.name);
    const problem = await play();
    if (isOver() || problem !== "NotAllowedError") return;
    if (element === video && !video.muted) {
      video.muted = true;
      const isPlaying = await play() === "";
      if (isOver()) return;
      if (isPlaying) {
        soundButton.hidden = false;
        return;
      }
    }
    playButton.hidden = false;
    pausedAt = performance.now();
    say("Ready. Press Play.");
  };

  // Seconds between what is playing and the live edge.
  const behind = () => {
    if (!element || session || clockZero === null) return 0;
    const { buffered, currentTime } = element;
    if (library && buffered.length > 0) return buffered.end(buffered.length - 1) - currentTime;
    return performance.now() / 1000 - clockZero - currentTime;
  };

  const goLive = () => {
    // A WebRTC session is always live.
    if (!element || session) return;
    if (library && element.buffered.length > 0 && behind() < LOADED_S) {
      element.currentTime += Math.max(0, behind() - RESERVE_S);
      pausedAt = null;
      element.play();
    } else {
      start();
    }
  };

  // A live element that is not paused and does not advance has lost its stream.
  const watch = () => {
    let last = -1;
    let since = performance.now();
    watchTimer = setInterval(() => {
      const now = performance.now();
      goLiveButton.hidden = behind() < BEHIND_S;
      if (element.currentTime > STEADY_S) decoderFailures = 0;
      if (element.paused || element.currentTime !== last) {
        last = element.currentTime;
        since = now;
      } else if (now - since > STALL_MS) {
        retry("The stream has stopped. Trying again.");
      }
    }, WATCH_MS);
  };

  const playOn = (chosen) => {
    element = chosen;
    video.hidden = element !== video;
    audio.hidden = element !== audio;
    soundButton.hidden = !(element === video && video.muted && way.sound);
  };

  const startWebrtc = async () => {
    const mine = turn;
    const isOver = () => mine !== turn;
    const media = new MediaStream();
    const peer = new RTCPeerConnection();
    if (way.sound) peer.addTransceiver("audio", { direction: "recvonly" });
    if (way.picture) peer.addTransceiver("video", { direction: "recvonly" });
    peer.ontrack = (event) => media.addTrack(event.track);
    say("Connecting with low delay.");
    session = rtc.open(peer, way.path);
    try {
      await session.ready;
    } catch (error) {
      if (isOver()) return;
      // Where this is the only way, an unreachable server may be reachable later.
      const isLast = error.isUnreachable && choices().length === 1;
      if (error.passes || isLast) retry(error.message);
      else failWay(error.message);
      return;
    }
    if (isOver()) return;
    if (way.picture && media.getVideoTracks().length === 0) {
      failWay("This browser would get the sound but no picture.");
      return;
    }
    peer.onconnectionstatechange = () => {
      if (isOver()) return;
      clearTimeout(lostTimer);
      const lost = () => retry("The connection was lost. Trying again.");
      if (peer.connectionState === "failed") lost();
      if (peer.connectionState === "disconnected") lostTimer = setTimeout(lost, LOST_MS);
    };
    playOn(way.picture ? video : audio);
    element.srcObject = media;
    watch();
    begin();
  };

  let loading = null;
  const loadLibrary = () => {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("mpegts.js", here);
      script.onload = () => resolve(globalThis.mpegts);
      script.onerror = () => {
        loading = null;
        reject(new Error("mpegts.js could not be loaded"));
      };
      document.head.append(script);
    });
    return loading;
  };

  const onFlvError = (type, detail) => {
    const { ErrorTypes, ErrorDetails } = globalThis.mpegts;
    const isForeign = [ErrorDetails.MEDIA_CODEC_UNSUPPORTED, ErrorDetails.MEDIA_FORMAT_UNSUPPORTED].includes(detail);
    if (type === ErrorTypes.MEDIA_ERROR) decoderFailures += 1;
    if (isForeign || decoderFailures > 1) failWay("This browser does not decode what the publisher sends.");
    else retry("The stream was interrupted. Trying again.");
  };

  const startFlv = async () => {
    const mine = turn;
    const isOver = () => mine !== turn;
    say("Waiting for the stream.");
    let mpegts;
    try {
      mpegts = await loadLibrary();
    } catch {
      if (!isOver()) retry("The server cannot be reached. Trying again.");
      return;
    }
    if (isOver()) return;
    if (!mpegts.getFeatureList().mseLivePlayback) {
      failWay("This browser cannot play a live stream from a script.");
      return;
    }
    playOn(way.picture ? video : audio);
    library = mpegts.createPlayer(
      { type: "flv", isLive: true, url: new URL(way.path, location.href).href,
        hasAudio: way.sound, hasVideo: way.picture },
      { isLive: true, lazyLoad: false, enableStashBuffer: false, liveSync: true,
        fixAudioTimestampGap: true, autoCleanupSourceBuffer: true },
    );
    const unlessOver = (act) => (...all) => { if (!isOver()) act(...all); };
    library.on(mpegts.Events.ERROR, unlessOver(onFlvError));
    // The publisher describes its stream again: it may be a new publisher with other tracks.
    library.on(mpegts.Events.METADATA_ARRIVED, unlessOver(() => {
      if (!hasPlayed) return;
      clearTimeout(tracksTimer);
      tracksTimer = setTimeout(followTracks, TRACKS_MS);
    }));
    library.on(mpegts.Events.LOADING_COMPLETE, unlessOver(() => retry("The stream has ended. Waiting for it to return.")));
    library.attachMediaElement(element);
    library.load();
    watch();
    begin();
  };

  const startHttp = () => {
    say("Waiting for the stream.");
    playOn(way.picture ? video : audio);
    // Nothing is loaded before playback is allowed, so that it does not start late.
    element.preload = "none";
    element.src = way.path;
    watch();
    begin();
  };

  // Starts again when the tracks are no longer those that play: neither a MediaSource nor a session can be given
  // another track, and an element waits for ever for one that has ended.
  const followTracks = async () => {
    const codecs = () => JSON.stringify(offer.tracks.map(({ kind, codec }) => [kind, codec]));
    const before = codecs();
    if (!await refresh() || !offer.live || codecs() === before) return;
    // A stream that no way could play may be playable now.
    const [best] = ways.of(offer, wantsLowDelay);
    const isPlayed = way && best && best.picture === way.picture && best.sound === way.sound;
    if (!isPlayed) chooseLowDelay(wantsLowDelay);
  };

  // Ways that have not failed.
  const choices = () => ways.of(offer, wantsLowDelay).filter((one) => !failed.has(one.name));

  const start = () => {
    stop();
    if (!offer.live) {
      if (offer.away) retryIn(AWAY_RETRY_MS, "The publisher is away. Playback continues when it returns.");
      else retry("Not live. This page starts to play when it is.");
      return;
    }
    [way] = choices();
    showChoices();
    if (way) {
      ({ flv: startFlv, http: startHttp, webrtc: startWebrtc })[way.name]();
    } else if (offer.tracks.length === 0 && offer.addresses.length === 0) {
      // Tracks are announced one after the other; none has been yet.
      retry("Waiting for the publisher.");
    } else {
      video.hidden = true;
      audio.hidden = true;
      say("This browser cannot play the stream. Use a player with an address from below.");
    }
  };

  const showChoices = () => {
    const all = choices();
    const webrtc = all.find((one) => one.name === "webrtc");
    const isAlike = (one) => one !== webrtc && one.picture === webrtc.picture;
    const isOffered = failed.has("webrtc") || webrtc && all.some(isAlike);
    lowDelayButton.hidden = !isOffered;
    lowDelayButton.setAttribute("aria-pressed", String(wantsLowDelay));
    const codec = ways.track(offer, "video")?.label;
    const isIncapable = !webrtc?.picture && Boolean(codec) || !webrtc;
    const refused = wantsLowDelay && offer.webrtc && isIncapable && !reason
      ? `Low delay does not work here: this browser takes no ${codec ?? "sound"} over WebRTC.` : reason;
    const words = [refused, way ? ways.missing(offer, way) : ""].filter(Boolean).join(" ");
    note.hidden = !words;
    note.textContent = words;
  };

  for (const media of [video, audio]) {
    const on = (name, act) => media.addEventListener(name, () => {
      if (media === element) act();
    });
    on("playing", () => {
      retryMs = FIRST_RETRY_MS;
      playButton.hidden = true;
      hasPlayed = true;
      clockZero ??= performance.now() / 1000 - media.currentTime;
      say(session ? "Playing with low delay." : "Playing.");
    });
    on("waiting", () => say("Waiting for the stream."));
    on("pause", () => {
      if (!hasPlayed || !media.paused) return;
      pausedAt = performance.now();
      say("Paused.");
    });
    on("play", () => {
      const isLate = pausedAt !== null && performance.now() - pausedAt > PAUSE_MS;
      pausedAt = null;
      // Without loaded data there is no lag.
      if (isLate && media.readyState > HTMLMediaElement.HAVE_NOTHING) goLive();
    });
    on("ended", () => retry("The stream has ended. Waiting for it to return."));
    on("error", () => {
      // mpegts.js reports its own errors.
      if (library) return;
      if (media.error?.code === MediaError.MEDIA_ERR_DECODE) decoderFailures += 1;
      if (decoderFailures > 1) failWay("This browser does not decode what the publisher sends.");
      else retry("The stream was interrupted. Trying again.");
    });
  }

  const chooseLowDelay = (isWanted) => {
    wantsLowDelay = isWanted;
    failed = new Map();
    reason = "";
    retryMs = FIRST_RETRY_MS;
    start();
  };

  playButton.addEventListener("click", () => {
    playButton.hidden = true;
    begin();
  });
  goLiveButton.addEventListener("click", goLive);
  lowDelayButton.addEventListener("click", () => {
    chooseLowDelay(!wantsLowDelay);
    try {
      localStorage.setItem(MEMORY, wantsLowDelay ? LIVE : "");
    } catch {
      // Without storage the choice holds for this page only.
    }
  });
  soundButton.addEventListener("click", () => {
    video.muted = false;
    soundButton.hidden = true;
  });
  addEventListener("hashchange", () => {
    if (location.hash === `#${LIVE}` && !wantsLowDelay) chooseLowDelay(true);
  });
  // Ends the session with the page, instead of when the server notices.
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => {
    if (event.persisted) start();
  });
  setInterval(() => {
    if (!document.hidden) followTracks();
  }, INFO_MS);

  start();
})();
