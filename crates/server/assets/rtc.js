// One WebRTC session over WHIP or WHEP: offer, answer, end, and plain messages for failures.
// Used by the player page and by the publish page.
"use strict";

globalThis.rtc = (() => {
  // A path is found within two seconds, or there is none.
  const CONNECT_MS = 10000;

  // Why the server, or the network to it, refuses a session.
  class Problem extends Error {
    constructor(message, status = 0) {
      super(message);
      this.status = status;
      // The server agreed, but no media path was found.
      this.isUnreachable = false;
    }

    // Whether a retry may succeed.
    get passes() {
      return [409, 429, 503].includes(this.status);
    }
  }

  const isSupported = () => typeof RTCPeerConnection === "function";

  const problemOf = async (answer) => {
    let words = "";
    try {
      words = (await answer.json()).detail ?? "";
    } catch {
      // The answer is not the server's own.
    }
    words = words || `The server answered with status ${answer.status}.`;
    return new Problem(words.charAt(0).toUpperCase() + words.slice(1), answer.status);
  };

  // Browsers send and receive Opus in mono unless the parameters say otherwise.
  const inStereo = (sdp) => {
    const numbers = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\/48000\/2/gim)].map((match) => match[1]);
    return numbers.reduce((text, number) => text.replace(
      new RegExp(`^a=fmtp:${number} (?!.*stereo=)(.*)$`, "m"),
      `a=fmtp:${number} $1;stereo=1;sprop-stereo=1`,
    ), sdp);
  };

  const headersFor = (key, type) => ({
    ...(type ? { "Content-Type": type } : {}),
    ...(key ? { Authorization: `Bearer ${key}` } : {}),
  });

  const connected = (peer) => new Promise((resolve, reject) => {
    const unreachable = () => {
      const problem = new Problem(
        "The server answers, but its media port cannot be reached from this network.",
      );
      problem.isUnreachable = true;
      reject(problem);
    };
    const timer = setTimeout(unreachable, CONNECT_MS);
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

  // Sessions are below the endpoint. Behind a proxy that adds a path prefix without telling the server, only
  // the page knows the endpoint's address.
  const sessionAt = (address, endpoint) => {
    const { pathname, search } = new URL(address, endpoint);
    const id = pathname.split("/").pop();
    return new URL(`${endpoint.pathname}/${id}${search}`, endpoint);
  };

  // Opens a session for what `peer` wants to send or receive. `ready` resolves when media can flow; `end`
  // ends the session at any point.
  const open = (peer, path, key = "") => {
    const endpoint = new URL(path, location.href);
    let session = null;
    let isOver = false;
    let abandon;
    const abandoned = new Promise((_, reject) => { abandon = reject; });
    // A rejection without a waiting caller is not an error.
    abandoned.catch(() => {});

    const leave = () => {
      if (!session) return;
      // The page may be closing. A server that receives nothing notices by itself.
      fetch(session, { method: "DELETE", headers: headersFor(key), keepalive: true }).catch(() => {});
      session = null;
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
        // The offer needs no candidates: the server learns our address from our checks.
        return await fetch(endpoint, {
          method: "POST",
          headers: headersFor(key, "application/sdp"),
          body: peer.localDescription.sdp,
          cache: "no-store",
        });
      } catch {
        throw new Problem("The server cannot be reached.");
      }
    };
    const begin = async () => {
      const offer = await peer.createOffer();
      await peer.setLocalDescription({ type: "offer", sdp: inStereo(offer.sdp) });
      const answer = await post();
      if (answer.status !== 201) throw await problemOf(answer);
      const address = answer.headers.get("Location");
      session = address && sessionAt(address, endpoint);
      const sdp = await answer.text();
      if (isOver) {
        leave();
        return;
      }
      await peer.setRemoteDescription({ type: "answer", sdp });
      await connected(peer);
    };
    const ready = Promise.race([begin(), abandoned]);
    ready.catch(end);
    return { ready, end };
  };

  return { Problem, isSupported, open };
})();
