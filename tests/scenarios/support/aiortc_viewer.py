"""A WHEP viewer without HTTP: its offer goes to standard output, the answer comes by standard input, both
as one line of JSON. Prints how many frames it decoded, once there are as many as it was asked for of sound and picture, or of the
kinds that are named, how many samples the longest frame of sound has, and how many frames do not begin where the one
before ended."""

import asyncio
import json
import sys

from aiortc import RTCPeerConnection, RTCSessionDescription


async def main(wanted, kinds):
    pc = RTCPeerConnection()
    counts = {"audio": 0, "video": 0, "size": None, "longest": 0, "gaps": 0}
    done = asyncio.Event()

    async def consume(track):
        end = None
        while True:
            frame = await track.recv()
            counts[track.kind] += 1
            if track.kind == "audio":
                counts["gaps"] += end not in (None, frame.pts)
                end = frame.pts + frame.samples
                counts["longest"] = max(counts["longest"], frame.samples)
            if track.kind == "video":
                counts["size"] = [frame.width, frame.height]
            if min(counts[kind] for kind in kinds) >= wanted:
                done.set()

    tasks = []
    pc.on("track", lambda track: tasks.append(asyncio.ensure_future(consume(track))))
    pc.addTransceiver("audio", direction="recvonly")
    pc.addTransceiver("video", direction="recvonly")
    await pc.setLocalDescription(await pc.createOffer())
    print(json.dumps(pc.localDescription.sdp), flush=True)
    answer = json.loads(await asyncio.to_thread(sys.stdin.readline))
    await pc.setRemoteDescription(RTCSessionDescription(sdp=answer, type="answer"))
    # There are 25 pictures in a second, and a busy machine takes its time.
    await asyncio.wait_for(done.wait(), 50 + wanted / 12)
    print(json.dumps(counts), flush=True)
    await pc.close()


asyncio.run(main(int(sys.argv[1]), sys.argv[2:] or ["audio", "video"]))
