"""Agrees on a session of WHIP or WHEP for GStreamer's `webrtcbin`, in the version that has no `whipsink`."""

import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402, F401


def agree_when_needed(session, url, key=None):
    """Has `session` offer itself to `url`, with a key if there is one, as soon as it has something to offer."""
    headers = {"Content-Type": "application/sdp"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"

    def offered(promise, _):
        # What it has is gone with the reply.
        reply = promise.get_reply()
        offer = reply.get_value("offer")
        text = offer.sdp.as_text()
        session.emit("set-local-description", offer, Gst.Promise.new())
        request = urllib.request.Request(url, data=text.encode(), headers=headers)
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
