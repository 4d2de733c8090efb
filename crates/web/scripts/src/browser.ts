// What this browser can play.

/** The questions that the choice of a way asks. A test answers them itself. */
export interface Browser {
  /** Whether a script can give it media of this type (Media Source Extensions). */
  appends(type: string): boolean;
  /** Whether its own player takes this type. */
  plays(type: string): boolean;
  /** Whether it receives this type over WebRTC. */
  receives(type: string): boolean;
}

interface Sources {
  ManagedMediaSource?: typeof MediaSource;
  MediaSource?: typeof MediaSource;
}

/** The browser that runs this script. */
export const thisBrowser: Browser = {
  appends: (type) => {
    const sources = globalThis as Sources;
    const source = sources.ManagedMediaSource ?? sources.MediaSource;
    return Boolean(source?.isTypeSupported(type));
  },
  plays: (type) => document.createElement("video").canPlayType(type) !== "",
  receives: (type) => {
    if (typeof RTCPeerConnection !== "function") return false;
    const kind = type.startsWith("video/") ? "video" : "audio";
    const known = globalThis.RTCRtpReceiver?.getCapabilities?.(kind)?.codecs;
    // A browser that does not tell learns from the server's answer.
    return !known || known.some((codec) => codec.mimeType.toLowerCase() === type);
  },
};
