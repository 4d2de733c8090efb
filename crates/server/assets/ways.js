// In which ways this browser can play a stream, and how much of it, best first.
"use strict";

globalThis.ways = (() => {
  const FLV = "video/x-flv";

  // What mpegts.js reads from FLV, and what Media Source Extensions must then accept. It reads AV1 as well, but
  // fails on what FFmpeg sends.
  const IN_FLV = {
    h264: ['video/mp4; codecs="avc1.42E01E"'],
    hevc: ['video/mp4; codecs="hvc1.1.6.L93.B0"'],
    aac: ['audio/mp4; codecs="mp4a.40.2"'],
    mp3: ["audio/mpeg", 'audio/mp4; codecs="mp3"'],
    opus: ['audio/mp4; codecs="opus"'],
    flac: ['audio/mp4; codecs="flac"'],
  };

  const IN_RTP = {
    h264: "video/h264",
    hevc: "video/h265",
    av1: "video/av1",
    vp8: "video/vp8",
    vp9: "video/vp9",
  };

  const isFlv = (address) => address.type === FLV;

  // The first track of a kind, which is the one that plays.
  // What a media element follows live by itself: no FLV, no fragments, no transport stream.
  const isPlain = (one) => !isFlv(one) && !/^(audio|video)\/mp(4|2t)\b/.test(one.type);
  const track = (offer, kind) => offer.tracks.find((one) => one.kind === kind);

  const playsInFlv = (one) => {
    const source = globalThis.ManagedMediaSource ?? globalThis.MediaSource;
    const types = one && IN_FLV[one.codec];
    return Boolean(source && types?.some((type) => source.isTypeSupported(type)));
  };

  const playsInRtp = (one) => {
    if (!one || !IN_RTP[one.codec]) return false;
    const known = globalThis.RTCRtpReceiver?.getCapabilities?.("video")?.codecs;
    // A browser that does not tell learns from the server's answer.
    return !known || known.some((codec) => codec.mimeType.toLowerCase() === IN_RTP[one.codec]);
  };

  const overFlv = (offer) => {
    const address = offer.addresses.find(isFlv);
    return address && {
      name: "flv",
      path: address.path,
      picture: playsInFlv(track(offer, "video")),
      sound: playsInFlv(track(offer, "audio")),
    };
  };

  // What the browser's own player accepts.
  const overHttp = (offer) => {
    const player = document.createElement("video");
    const address = offer.addresses.find((one) => isPlain(one) && player.canPlayType(one.type) !== "");
    return address && {
      name: "http",
      path: address.path,
      picture: address.type.startsWith("video/") && Boolean(track(offer, "video")),
      // The server does not know the content of some containers.
      sound: offer.tracks.length === 0 || Boolean(track(offer, "audio")),
    };
  };

  const overWebrtc = (offer) => offer.webrtc && rtc.isSupported() && {
    name: "webrtc",
    path: offer.webrtc.path,
    picture: playsInRtp(track(offer, "video")),
    sound: offer.webrtc.audio,
  };

  const worth = (way) => 2 * Number(way.picture) + Number(way.sound);

  // All ways that play something. A picture counts more than sound; among equals the simplest comes first,
  // and WebRTC last unless low delay is wanted.
  const of = (offer, wantsLowDelay) => {
    const hasVideo = Boolean(track(offer, "video"));
    const all = [overHttp(offer), overFlv(offer), overWebrtc(offer)];
    const isWanted = (way) => wantsLowDelay && way.name === "webrtc" && (way.picture || !hasVideo);
    const rank = (way) => worth(way) + (isWanted(way) ? 4 : 0);
    return all.filter((way) => way && worth(way) > 0).sort((a, b) => rank(b) - rank(a));
  };

  // What this way leaves out of the stream, in words.
  const missing = (offer, way) => {
    const [video, audio] = [track(offer, "video"), track(offer, "audio")];
    if (video && !way.picture) return `This browser cannot show the picture, which is ${video.label}.`;
    if (audio && !way.sound) return "This browser cannot play the sound of this stream.";
    return "";
  };

  return { of, missing, track };
})();
