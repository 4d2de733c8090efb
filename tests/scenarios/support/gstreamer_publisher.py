"""A WHIP publisher of GStreamer's making: what its `whipsink` does, in the version that has only `webrtcbin`.
Publishes a test picture and a tone in Opus to the address it is given, with a key, until it is killed. The picture is
in H.264, or the HEVC of an MP4 file if one is named, until that ends: an encoder of HEVC that is short of CPU sends its
pictures seconds after the sound. The file begins when the session is connected. Sender reports of webrtcbin state when
packets were sent and not of when they are, so that what is sent late is late for good."""

import sys

from gstreamer_session import Gst, GstWebRTC, agree_when_needed

PIPELINE = """
    webrtcbin name=session bundle-policy=max-bundle
    {picture} ! session.
    audiotestsrc is-live=true freq=440 volume=0.5 ! audio/x-raw,rate=48000,channels=2 ! opusenc
        ! rtpopuspay ! application/x-rtp,media=audio,encoding-name=OPUS,payload=97 ! session.
"""
H264 = """
    videotestsrc is-live=true pattern=ball ! video/x-raw,width=640,height=360,framerate=25/1
        ! x264enc tune=zerolatency key-int-max=25 bframes=0 bitrate=500 ! video/x-h264,profile=constrained-baseline
        ! rtph264pay config-interval=-1 aggregate-mode=zero-latency
        ! application/x-rtp,media=video,encoding-name=H264,payload=96
"""
HEVC = """
    filesrc location={file} ! qtdemux ! h265parse config-interval=-1 ! identity name=file sync=true
        ! rtph265pay config-interval=-1 ! application/x-rtp,media=video,encoding-name=H265,payload=96
"""


def pipeline_for(file=None):
    if file is None:
        return PIPELINE.format(picture=H264)
    return PIPELINE.format(picture=HEVC.format(file=file))


def hold_until_connected(pipeline, session):
    """Keeps the file's pictures back until there is somebody to send them to, and moves their times to then."""
    pad = pipeline.get_by_name("file").get_static_pad("sink")
    kind = Gst.PadProbeType.BLOCK | Gst.PadProbeType.BUFFER
    probe = pad.add_probe(kind, lambda *_: Gst.PadProbeReturn.OK)

    def changed(*_):
        if session.get_property("connection-state") == GstWebRTC.WebRTCPeerConnectionState.CONNECTED:
            pad.set_offset(pipeline.get_clock().get_time() - pipeline.get_base_time())
            pad.remove_probe(probe)

    session.connect("notify::connection-state", changed)


def main(url, key, *file):
    Gst.init(None)
    pipeline = Gst.parse_launch(pipeline_for(*file))
    session = pipeline.get_by_name("session")
    if file:
        hold_until_connected(pipeline, session)

    agree_when_needed(session, url, key)
    pipeline.set_state(Gst.State.PLAYING)
    bus = pipeline.get_bus()
    message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    raise SystemExit(str(message.parse_error()))


main(*sys.argv[1:])
