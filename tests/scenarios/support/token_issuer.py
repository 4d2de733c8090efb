"""An issuer of JSON Web Tokens, with PyJWT: it publishes its keys, and signs what it is told to.

The argument is a port (0 for any), and it writes its port. GET /jwks is the set of keys that it publishes, at first `rsa`,
`ec` and `ed`. POST takes JSON:

/sign     {"key", "alg", "header", "claims"}  the token; `claims` may be a text that is signed as it is
/publish  {"keys": [..]}                      the keys that /jwks has from now on; null has it answer with 503
/asked                                        how often /jwks was asked for

`stranger` is a key that is never published. `public` stands for the RSA key's public half taken for a secret.
"""

import hashlib
import hmac
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode

KEYS = {
    "rsa": (rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "next": (rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "stranger": (rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "ec": (ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "ed": (ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm),
}
SECRET = "an-issuers-secret-of-32-characters"
LOCK = threading.Lock()


class Issuer(BaseHTTPRequestHandler):
    published = ["rsa", "ec", "ed"]
    asked = 0

    def do_GET(self):
        with LOCK:
            Issuer.asked += 1
            published = Issuer.published
        if published is None:
            self.answer(503, b"")
        else:
            keys = [jwk(name) for name in published]
            # What a set may also have: keys for something else, of a kind that nobody knows, and a secret.
            keys.append(dict(jwk("rsa"), kid="for-encryption", use="enc"))
            keys.append({"kty": "LATTICE", "kid": "new", "v": "AAAA"})
            keys.append({"kty": "oct", "kid": "oct", "k": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
            self.answer(200, json.dumps({"keys": keys}).encode())

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        told = json.loads(self.rfile.read(length) or b"{}")
        with LOCK:
            if self.path == "/publish":
                Issuer.published = told["keys"]
            asked = str(Issuer.asked)
        answers = {"/sign": lambda: sign(**told), "/asked": lambda: asked, "/publish": lambda: ""}
        self.answer(200, answers[self.path]().encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def jwk(name):
    key, algorithm = KEYS[name]
    return dict(json.loads(algorithm.to_jwk(key.public_key())), kid=name, use="sig")


def sign(key, alg, claims, header):
    payload = claims.encode() if isinstance(claims, str) else json.dumps(claims).encode()
    if alg == "none":
        return jwt.api_jws.PyJWS().encode(payload, None, "none", header)
    if key == "public":
        # PyJWT refuses to do this.
        pem = KEYS["rsa"][0].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        head = json.dumps(dict(header, alg=alg, typ="JWT")).encode()
        signed = base64url_encode(head) + b"." + base64url_encode(payload)
        mac = hmac.new(pem, signed, hashlib.sha256).digest()
        return (signed + b"." + base64url_encode(mac)).decode()
    secret = {"secret": SECRET, "other-secret": "x" * 34}.get(key)
    return jwt.api_jws.PyJWS().encode(payload, secret or KEYS[key][0], alg, header)


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Issuer)
print(server.server_address[1], flush=True)
server.serve_forever()
