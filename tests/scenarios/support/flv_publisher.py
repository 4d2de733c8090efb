"""Publishes an FLV file over RTMP, every tag as it is, at its own pace: flv_publisher.py HOST PORT APP KEY FILE."""

import socket
import struct
import sys
import time

CHUNK_BYTES = 1 << 20
STREAM = 1
NUMBER, STRING, OBJECT, NULL = b"\x00", b"\x02", b"\x03", b"\x05"
OBJECT_END = b"\x00\x00\x09"
HEADER_BYTES = 13
TAG_HEADER_BYTES = 11


def text(value):
    return struct.pack(">H", len(value)) + value.encode()


def call(name, transaction, *arguments):
    return STRING + text(name) + NUMBER + struct.pack(">d", transaction) + b"".join(arguments)


def message(kind, body, at=0, stream=0):
    """One chunk of type 0."""
    head = (at & 0xFFFFFF).to_bytes(3, "big") + len(body).to_bytes(3, "big") + bytes([kind])
    return bytes([3]) + head + struct.pack("<I", stream) + body


def tags(data):
    at = HEADER_BYTES
    while at + TAG_HEADER_BYTES <= len(data):
        length = int.from_bytes(data[at + 1 : at + 4], "big")
        millis = int.from_bytes(data[at + 4 : at + 7], "big") | data[at + 7] << 24
        body = at + TAG_HEADER_BYTES
        yield data[at], millis, data[body : body + length]
        at = body + length + 4


def receive(peer, wanted):
    """Reads until the words have come."""
    heard = b""
    while wanted not in heard:
        piece = peer.recv(65_536)
        if not piece:
            sys.exit(f"the server hung up: {heard!r}")
        heard += piece


def main():
    host, port, app, key, path = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    with socket.create_connection((host, int(port))) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(b"\x03" + bytes(1_536))
        answer = b""
        while len(answer) < 1 + 2 * 1_536:
            answer += peer.recv(65_536)
        peer.sendall(answer[1 : 1 + 1_536])
        peer.sendall(message(1, struct.pack(">I", CHUNK_BYTES)))
        target = text("app") + STRING + text(app) + text("tcUrl") + STRING + text(f"rtmp://{host}:{port}/{app}")
        peer.sendall(message(20, call("connect", 1, OBJECT + target + OBJECT_END)))
        receive(peer, b"NetConnection.Connect.Success")
        peer.sendall(message(20, call("createStream", 2, NULL)))
        receive(peer, b"_result")
        publish = call("publish", 3, NULL, STRING + text(key), STRING + text("live"))
        peer.sendall(message(20, publish, stream=STREAM))
        receive(peer, b"NetStream.Publish.Start")
        began = time.monotonic()
        for kind, millis, body in tags(data):
            if kind in (8, 9):
                time.sleep(max(0, began + millis / 1_000 - time.monotonic()))
                peer.sendall(message(kind, body, millis, STREAM))


main()
