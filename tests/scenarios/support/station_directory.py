"""A directory of radio stations, which speaks YP.

It writes its port, and then a line of JSON for each request: the path and the fields. `/refusing` refuses everything,
`/failing` answers 500; any other path takes entries, and gives each a number.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

LOCK = threading.Lock()
COUNT = [0]


class Directory(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        fields = dict(parse_qsl(body.rstrip("\r\n"), keep_blank_values=True))
        with LOCK:
            COUNT[0] += 1
            number = COUNT[0]
            print(json.dumps({"path": self.path, "fields": fields}), flush=True)
        self.send_response(500 if self.path == "/failing" else 200)
        self.send_header("YPResponse", "0" if self.path == "/refusing" else "1")
        self.send_header("YPMessage", "No" if self.path == "/refusing" else "Yes")
        if fields.get("action") == "add":
            self.send_header("SID", str(number))
        self.send_header("TouchFreq", "30")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Directory)
print(server.server_port, flush=True)
server.serve_forever()
