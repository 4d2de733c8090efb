"""A receiver of webhooks that verifies each message with `standardwebhooks`.

The arguments are a port (0 for any) and the key. It writes its port, and then a line of JSON for each request:
the path, the identifier, the time of the attempt, whether the message was verified, and the message. How it answers depends on the path:
/ok with 204, /failing with 500, /gone with 410, /moved with a redirection to /ok, /busy with 503 and a Retry-After
of 9 s.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook

LOCK = threading.Lock()
ANSWERS = {"/ok": 204, "/failing": 500, "/gone": 410, "/moved": 302, "/busy": 503}


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            message = Webhook(sys.argv[2]).verify(body, headers)
            verified = True
        except Exception as error:
            message, verified = str(error), False
        told = {
            "path": self.path,
            "id": headers["webhook-id"],
            "timestamp": int(headers["webhook-timestamp"]),
            "content_type": headers["content-type"],
            "verified": verified,
            "message": message,
        }
        # Requests come on threads of their own; the next one of a stream, when this one is answered.
        with LOCK:
            print(json.dumps(told), flush=True)
        self.send_response(ANSWERS[self.path.split("?")[0]])
        if self.path == "/moved":
            self.send_header("location", "/ok")
        if self.path == "/busy":
            self.send_header("retry-after", "9")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print(server.server_address[1], flush=True)
server.serve_forever()
