"""A WHIP publisher of GStreamer's making: what its `whipsink` does, in the version that has only `webrtcbin`.
Publishes a test picture and a tone in Opus to the address it is given, with a key, until it is killed. The picture is
in H.264, or in HEVC if a file is named that is to have the same pictures."""

import sys

from gstreamer_session import Gst, agree_when_needed

PIPELINE = """
    webrtcbin name=session bundle-policy=max-bundle
    videotestsrc is-live=true pattern=ball ! video/x-raw,width=640,height=360,framerate=25/1 ! {picture} ! session.
    audiotestsrc is-live=true freq=440 volume=0.5 ! audio/x-raw,rate=48000,channels=2 ! opusenc
        ! rtpopuspay ! application/x-rtp,media=audio,encoding-name=OPUS,payload=97 ! session.
"""
H264 = """
    x264enc tune=zerolatency key-int-max=25 bframes=0 bitrate=500 ! video/x-h264,profile=constrained-baseline
        ! rtph264pay config-interval=-1 aggregate-mode=zero-latency
        ! application/x-rtp,media=video,encoding-name=H264,payload=96
"""
HEVC = """
    videoscale ! video/x-raw,format=I420,width=320,height=180
        ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=25 bitrate=500
        option-string=scenecut=0:open-gop=0 ! h265parse config-interval=-1 ! tee name=coded
        ! queue ! rtph265pay config-interval=-1 ! application/x-rtp,media=video,encoding-name=H265,payload=96
"""
FILE = "coded. ! queue ! video/x-h265,stream-format=byte-stream ! filesink buffer-mode=unbuffered location={file}"


def pipeline_for(file=None):
    if file is None:
        return PIPELINE.format(picture=H264)
    return PIPELINE.format(picture=HEVC) + FILE.format(file=file)


def main(url, key, *file):
    Gst.init(None)
    pipeline = Gst.parse_launch(pipeline_for(*file))
    session = pipeline.get_by_name("session")

    agree_when_needed(session, url, key)
    pipeline.set_state(Gst.State.PLAYING)
    bus = pipeline.get_bus()
    message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    raise SystemExit(str(message.parse_error()))


main(*sys.argv[1:])
