"""Clients of HTTP/2 that ask and take nothing: their windows are zero, and they answer what the connection is asked.

The arguments are an address to come from, a port, a path, how many connections, and how many requests on each. It writes a line when all are asked,
and goes on until it is killed.
"""

import socket
import ssl
import struct
import sys
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, PING, HEADERS = 4, 6, 1
ACK = 1
END = 0x05  # of the stream, and of the headers
WINDOW = 4  # SETTINGS_INITIAL_WINDOW_SIZE


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def integer(value, bits):
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([value])
    rest, out = value - limit, [limit]
    while rest >= 128:
        out.append(rest % 128 + 128)
        rest //= 128
    return bytes(out + [rest])


def literal(index, value):
    """A header whose name the static table has, never indexed."""
    return integer(index, 4) + integer(len(value), 7) + value


def request(path):
    method, scheme = b"\x82", b"\x87"
    return method + scheme + literal(4, path) + literal(1, b"localhost")


def receive(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def answer(connection):
    try:
        while True:
            head = receive(connection, 9)
            payload = receive(connection, int.from_bytes(head[:3], "big"))
            if head[3] in (SETTINGS, PING) and not head[4] & ACK:
                payload = payload if head[3] == PING else b""
                connection.sendall(frame(head[3], ACK, 0, payload))
    except OSError:
        pass


def main():
    source, port, path, connections, requests = sys.argv[1:]
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    for _ in range(int(connections)):
        plain = socket.create_connection(("127.0.0.1", int(port)), source_address=(source, 0))
        connection = context.wrap_socket(plain, server_hostname="localhost")
        asked = PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", WINDOW, 0))
        for number in range(int(requests)):
            asked += frame(HEADERS, END, 2 * number + 1, request(path.encode()))
        connection.sendall(asked)
        threading.Thread(target=answer, args=[connection]).start()
    print("asked", flush=True)


main()
