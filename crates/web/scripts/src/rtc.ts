// One WebRTC session over WHIP or WHEP: offer, answer, end, and plain messages for failures.

/** A path is found within this time, or there is none. */
const CONNECT_MS = 10_000;

/** The server is busy, or another publisher has the stream: a later attempt may succeed. */
const PASSING = [409, 429, 503];

/** Why the server, or the network to it, refuses a session. */
export class Problem extends Error {
  /** The answer's status; 0 without one. */
  readonly status: number;
  /** The server agreed, but no media path was found. */
  readonly isUnreachable: boolean;

  constructor(message: string, status = 0, isUnreachable = false) {
    super(message);
    this.status = status;
    this.isUnreachable = isUnreachable;
  }

  /** Whether a retry may succeed. */
  get passes(): boolean {
    return PASSING.includes(this.status);
  }
}

/** A session that begins or goes on. */
export interface Session {
  /** Resolves when media can flow; rejects with a `Problem`. */
  ready: Promise<void>;
  /** Whether the server has answered. */
  isAnswered(): boolean;
  /** Ends it at any point. */
  end(): void;
}

/** What a session may be given beside its endpoint. */
export interface Options {
  /** The credential. */
  key?: string;
  /** After an answer, a path is found within this time, or there is none. */
  connectMs?: number;
}

export const isSupported = (): boolean => typeof RTCPeerConnection === "function";

const problemOf = async (answer: Response): Promise<Problem> => {
  let words = "";
  try {
    const document = await answer.json() as { detail?: unknown };
    if (typeof document.detail === "string") words = document.detail;
  } catch {
    // The answer is not the server's own.
  }
  words ||= `The server answered with status ${answer.status}.`;
  return new Problem(words.charAt(0).toUpperCase() + words.slice(1), answer.status);
};

/** Browsers send and receive Opus in mono unless the parameters say otherwise. */
const inStereo = (sdp: string): string => {
  const numbers = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\/48000\/2/gim)].map((match) => match[1] ?? "");
  return numbers.reduce<string>((text, number) => text.replace(
    new RegExp(`^a=fmtp:${number} (?!.*stereo=)(.*)$`, "m"),
    `a=fmtp:${number} $1;stereo=1;sprop-stereo=1`,
  ), sdp);
};

const headersFor = (key: string, type = ""): Record<string, string> => ({
  ...(type ? { "Content-Type": type } : {}),
  ...(key ? { Authorization: `Bearer ${key}` } : {}),
});

const connected = (peer: RTCPeerConnection, ms: number): Promise<void> => new Promise((resolve, reject) => {
  const unreachable = (): void => reject(new Problem(
    "The server answers, but its media port cannot be reached from this network.", 0, true,
  ));
  const timer = setTimeout(unreachable, ms);
  const look = (): void => {
    if (peer.connectionState === "connected") resolve();
    else if (["failed", "closed"].includes(peer.connectionState)) unreachable();
    else return;
    clearTimeout(timer);
    peer.removeEventListener("connectionstatechange", look);
  };
  peer.addEventListener("connectionstatechange", look);
  look();
});

/**
 * Sessions are below the endpoint. Behind a proxy that adds a path prefix without telling the server, only the page
 * knows the endpoint's address.
 */
const sessionAt = (address: string, endpoint: URL): URL => {
  const { pathname, search } = new URL(address, endpoint);
  const id = pathname.split("/").pop() ?? "";
  return new URL(`${endpoint.pathname}/${id}${search}`, endpoint);
};

/** Opens a session for what `peer` wants to send or receive. `path` is relative to the stream's page. */
export const open = (
  peer: RTCPeerConnection, path: string, { key = "", connectMs = CONNECT_MS }: Options = {},
): Session => {
  const endpoint = new URL(path, document.baseURI);
  let session: URL | null = null;
  let hasAnswer = false;
  let isOver = false;
  let abandon: (problem: Problem) => void = () => {};
  const abandoned = new Promise<never>((_, reject) => { abandon = reject; });
  // A rejection without a waiting caller is not an error.
  abandoned.catch(() => {});

  const leave = (): void => {
    if (!session) return;
    // The page may be closing. A server that receives nothing notices by itself.
    fetch(session, { method: "DELETE", headers: headersFor(key), keepalive: true }).catch(() => {});
    session = null;
  };
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    peer.close();
    leave();
    abandon(new Problem("The session was ended."));
  };
  const post = async (): Promise<Response> => {
    try {
      // The offer needs no candidates: the server learns our address from our checks.
      return await fetch(endpoint, {
        method: "POST",
        headers: headersFor(key, "application/sdp"),
        body: peer.localDescription?.sdp ?? "",
        cache: "no-store",
      });
    } catch {
      throw new Problem("The server cannot be reached.");
    }
  };
  const begin = async (): Promise<void> => {
    const offer = await peer.createOffer();
    await peer.setLocalDescription({ type: "offer", sdp: inStereo(offer.sdp ?? "") });
    const answer = await post();
    if (answer.status !== 201) throw await problemOf(answer);
    const address = answer.headers.get("Location");
    session = address ? sessionAt(address, endpoint) : null;
    const sdp = await answer.text();
    if (isOver) {
      leave();
      return;
    }
    hasAnswer = true;
    await peer.setRemoteDescription({ type: "answer", sdp });
    await connected(peer, connectMs);
  };
  const ready = Promise.race([begin(), abandoned]);
  ready.catch(end);
  return { ready, end, isAnswered: () => hasAnswer };
};
