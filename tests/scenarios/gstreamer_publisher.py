"""A WHIP publisher of GStreamer's making: what its `whipsink` does, in the version that has only `webrtcbin`.
Publishes a test picture in H.264 and a tone in Opus to the address it is given, with a key, until it is killed."""

import sys
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

PIPELINE = """
    webrtcbin name=session bundle-policy=max-bundle
    videotestsrc is-live=true pattern=ball ! video/x-raw,width=640,height=360,framerate=25/1
        ! x264enc tune=zerolatency key-int-max=25 bframes=0 bitrate=500 ! video/x-h264,profile=constrained-baseline
        ! rtph264pay config-interval=-1 aggregate-mode=zero-latency
        ! application/x-rtp,media=video,encoding-name=H264,payload=96 ! session.
    audiotestsrc is-live=true freq=440 volume=0.5 ! audio/x-raw,rate=48000,channels=2 ! opusenc
        ! rtpopuspay ! application/x-rtp,media=audio,encoding-name=OPUS,payload=97 ! session.
"""


def main(url, key):
    Gst.init(None)
    pipeline = Gst.parse_launch(PIPELINE)
    session = pipeline.get_by_name("session")

    def offered(promise, _):
        reply = promise.get_reply()
        offer = reply.get_value("offer")
        text = offer.sdp.as_text()
        session.emit("set-local-description", offer, Gst.Promise.new())
        request = urllib.request.Request(
            url,
            data=text.encode(),
            headers={"Content-Type": "application/sdp", "Authorization": f"Bearer {key}"},
        )
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        _, sdp = GstSdp.SDPMessage.new()
        GstSdp.sdp_message_parse_buffer(text, sdp)
        answer = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, sdp)
        session.emit("set-remote-description", answer, Gst.Promise.new())

    def negotiate(_):
        promise = Gst.Promise.new_with_change_func(offered, None)
        session.emit("create-offer", None, promise)

    session.connect("on-negotiation-needed", negotiate)
    pipeline.set_state(Gst.State.PLAYING)
    bus = pipeline.get_bus()
    message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    raise SystemExit(str(message.parse_error()))


main(*sys.argv[1:])
