// A WHEP player on werift. It offers to receive sound and picture, as players do that do not know what a
// stream has, and ends when enough packets of each expected kind have arrived.
//
//     node viewer.cjs FOLDER URL PACKETS audio|video...
//
// FOLDER is where `npm ci` put the package.

const { createRequire } = require('node:module');

// For the whole session, on a loaded machine.
const DEADLINE_MS = 50_000;

const [folder, url, packets, ...kinds] = process.argv.slice(2);
const { RTCPeerConnection, RTCRtpCodecParameters } = createRequire(`${folder}/`)('werift');

const codecs = {
    audio: [new RTCRtpCodecParameters({ mimeType: 'audio/opus', clockRate: 48_000, channels: 2 })],
    video: [
        new RTCRtpCodecParameters({
            mimeType: 'video/H264',
            clockRate: 90_000,
            parameters: 'level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f',
        }),
        new RTCRtpCodecParameters({ mimeType: 'video/VP8', clockRate: 90_000 }),
    ],
};

const fail = error => {
    console.error(error);
    process.exit(1);
};

(async () => {
    const peer = new RTCPeerConnection({ codecs, iceServers: [] });
    const missing = new Set(kinds);
    for (const kind of ['audio', 'video']) {
        const transceiver = peer.addTransceiver(kind, { direction: 'recvonly' });
        transceiver.onTrack.subscribe(track => {
            let got = 0;
            track.onReceiveRtp.subscribe(() => {
                got += 1;
                if (got !== Number(packets)) return;
                console.log(kind);
                missing.delete(kind);
                if (missing.size === 0) process.exit(0);
            });
        });
    }
    // The server rejects it, in words that werift takes.
    peer.createDataChannel('chat');
    setTimeout(() => fail(`not enough of ${[...missing]}: ${peer.connectionState}`), DEADLINE_MS);
    await peer.setLocalDescription(await peer.createOffer());
    const headers = { 'Content-Type': 'application/sdp' };
    const answer = await fetch(url, { method: 'POST', headers, body: peer.localDescription.sdp });
    const sdp = await answer.text();
    if (answer.status !== 201) throw new Error(`${answer.status} ${sdp}`);
    await peer.setRemoteDescription({ type: 'answer', sdp });
})().catch(fail);
