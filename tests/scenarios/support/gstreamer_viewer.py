"""A WHEP viewer of GStreamer's making, in the version that has only `webrtcbin`. Plays what is at the address it is
given until it has decoded that many seconds of sound, and prints what it got as one line of JSON."""

import json
import statistics
import struct
import sys

from gstreamer_session import GLib, Gst, GstWebRTC, agree_when_needed

RATE = 48_000
TAKES = {
    "audio": "application/x-rtp,media=audio,encoding-name=OPUS,payload=96,clock-rate=48000,encoding-params=(string)2",
    "video": "application/x-rtp,media=video,encoding-name=H264,payload=97,clock-rate=90000,"
    "packetization-mode=(string)1,profile-level-id=(string)42e01f",
}
DECODES = {
    "audio": "rtpopusdepay ! opusdec ! audio/x-raw,format=S16LE,channels=2 ! fakesink name=end sync=true",
    "video": "rtph264depay ! avdec_h264 ! fakesink name=end sync=true",
}
# PyGObject looks classes and the members of an enumeration up when they are first named, and fails if two threads do so at
# once.
PROBED = Gst.PadProbeInfo, Gst.Buffer, Gst.Event, Gst.Structure
BUFFERS, EVENTS = Gst.PadProbeType.BUFFER, Gst.PadProbeType.EVENT_DOWNSTREAM
PASS = Gst.PadProbeReturn.OK
GAP = Gst.BufferFlags.DISCONT
# The clocks of sound and picture show this when a stream begins.
CLOCK_ORIGIN = 0x1000_0000
# Sound and picture are in step from the second report on; their distance is that of the last seconds.
RECENT = 50


class Track:
    """What came of sound or picture."""

    def __init__(self, rate):
        self.rate = rate
        self.packets = self.buffers = self.bytes = self.lost = self.gaps = 0
        # When what was made at the stream's beginning would be played.
        self.origins = []

    def packet(self, _pad, info):
        buffer = info.get_buffer()
        (stamp,) = struct.unpack("!I", buffer.extract_dup(4, 4))
        self.packets += 1
        made = (stamp - CLOCK_ORIGIN & 0xFFFF_FFFF) / self.rate
        if buffer.pts != Gst.CLOCK_TIME_NONE:
            self.origins = self.origins[1 - RECENT :] + [buffer.pts / Gst.SECOND - made]
        return PASS

    def event(self, _pad, info):
        structure = info.get_event().get_structure()
        self.lost += structure is not None and structure.get_name() == "GstRTPPacketLost"
        return PASS

    def decoded(self, _pad, info):
        buffer = info.get_buffer()
        self.gaps += self.buffers > 0 and buffer.has_flags(GAP)
        self.buffers += 1
        self.bytes += buffer.get_size()
        return PASS


def main(url, seconds):
    Gst.init(None)
    pipeline = Gst.Pipeline.new()
    session = Gst.ElementFactory.make("webrtcbin", "session")
    session.set_property("bundle-policy", "max-bundle")
    pipeline.add(session)
    tracks = {"audio": Track(RATE), "video": Track(90_000)}

    def added(_, pad):
        kind = pad.get_current_caps().get_structure(0).get_string("media")
        track = tracks[kind]
        decoder = Gst.parse_bin_from_description(DECODES[kind], True)
        pipeline.add(decoder)
        decoder.sync_state_with_parent()
        pad.add_probe(BUFFERS, track.packet)
        pad.add_probe(EVENTS, track.event)
        end = decoder.get_by_name("end").get_static_pad("sink")
        end.add_probe(BUFFERS, track.decoded)
        pad.link(decoder.get_static_pad("sink"))

    session.connect("pad-added", added)
    agree_when_needed(session, url)
    receives = GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY
    for caps in TAKES.values():
        session.emit("add-transceiver", receives, Gst.Caps.from_string(caps))
    pipeline.set_state(Gst.State.PLAYING)

    loop = GLib.MainLoop()
    errors = []

    def look():
        if tracks["audio"].bytes >= seconds * RATE * 4 and tracks["video"].buffers > 0:
            loop.quit()
        return True

    def failed(_, message):
        errors.append(str(message.parse_error()))
        loop.quit()

    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message::error", failed)
    GLib.timeout_add(50, look)
    loop.run()
    if errors:
        raise SystemExit(errors[0])
    sound, picture = tracks["audio"], tracks["video"]
    offset = statistics.median(sound.origins) - statistics.median(picture.origins)
    got = {
        "sounds": sound.packets,
        "seconds": sound.bytes / 4 / RATE,
        "pictures": picture.buffers,
        "lost": sound.lost + picture.lost,
        "gaps": sound.gaps,
        "offset": offset,
    }
    print(json.dumps(got), flush=True)
    pipeline.set_state(Gst.State.NULL)


main(sys.argv[1], float(sys.argv[2]))
