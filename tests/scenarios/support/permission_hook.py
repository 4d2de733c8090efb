"""A hook that permits whoever shows the word `letmein-42`, in the dialect that the path names.

The argument is a port (0 for any). It writes its port, and then a line of JSON for each request: the path, the type
and the body. /hang never answers, /failing answers with 500, /huge with 10 MB, /short permits for two seconds, /longer for twelve, and
/renaming has `secret-name` and `alias` stand for `public`, and /until permits until the time that /permit
has set, so many seconds from then on. /ended is for what has ended, /ongoing
permits until /revoke was asked for.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote_plus

LOCK = threading.Lock()
REVOKED = threading.Event()
END = [0.0]


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        if self.path == "/revoke":
            REVOKED.set()
            self.answer(200)
            return
        if self.path == "/permit":
            END[0] = time.monotonic() + float(body)
            self.answer(200)
            return
        with LOCK:
            told = {"path": self.path, "type": self.headers["content-type"], "body": body}
            print(json.dumps(told), flush=True)
        # Icecast encodes more characters of a form than it has to.
        is_known = "letmein-42" in unquote_plus(body)
        if self.path == "/hang":
            time.sleep(3600)
        elif self.path == "/failing":
            self.answer(500)
        elif self.path == "/huge":
            self.answer(200, b" " * 10_000_000)
        elif self.path == "/short":
            self.answer(200, b'{"seconds": 2}')
        elif self.path == "/longer":
            self.answer(200, b'{"seconds": 12}')
        elif self.path == "/until":
            left = END[0] - time.monotonic()
            self.answer(200, b'{"seconds": %.3f}' % left) if left > 0 else self.answer(403)
        elif self.path == "/ongoing":
            self.answer(403 if REVOKED.is_set() else 200)
        elif self.path == "/ended":
            self.answer(200)
        elif self.path == "/renaming":
            is_other = "name=secret-name" in body or "name=alias" in body
            self.answer(302, headers={"location": "public"}) if is_other else self.answer(200)
        elif self.path == "/ome":
            self.answer(200, b'{"allowed": true}' if is_known else b'{"allowed": false}')
        elif self.path == "/srs":
            self.answer(200, b'{"code": 0}' if is_known else b'{"code": 7}')
        elif self.path == "/icecast":
            name, value = "icecast-auth-user", "1" if is_known else "0"
            self.answer(200, headers={name: value, "icecast-auth-message": "not known"})
        elif self.path == "/mediamtx":
            self.answer(204 if is_known else 401)
        else:
            self.answer(200 if is_known else 403)

    def answer(self, status, body=b"", headers={}):
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            # It is not read to the end.
            pass

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hook)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
