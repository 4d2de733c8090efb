"""Polls a server as AzuraCast's adapter of Icecast does, and prints what that reads, as JSON.

azuracast_poll.py BASE PASSWORD MOUNT
"""
import base64
import json
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

base, password, mount = sys.argv[1:]


def get(path, query, user=None):
    request = urllib.request.Request(base + path + "?" + urllib.parse.urlencode(query))
    if user:
        credential = base64.b64encode(f"{user}:{password}".encode()).decode()
        request.add_header("Authorization", "Basic " + credential)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def number(element, *names):
    texts = [element.findtext(name) for name in names]
    return next((int(text) for text in texts if text), None)


stats = ElementTree.fromstring(get("/admin/stats", {}, "admin"))
(source,) = stats.findall(f"./source[@mount='{mount}']")
listed = ElementTree.fromstring(get("/admin/listclients", {"mount": mount}, "admin"))
clients = [
    {
        "id": int(listener.findtext("ID")),
        "ip": listener.findtext("IP"),
        "agent": listener.findtext("UserAgent"),
        "connected": int(listener.findtext("Connected")),
    }
    for listener in listed.findall("./source/listener")
]
# Without the password it reads what is public, one source or several.
public = json.loads(get("/status-json.xsl", {"mount": mount}))["icestats"]["source"]
sources = public if isinstance(public, list) else [public]
(own,) = [each for each in sources if each["listenurl"].endswith(mount)]
print(
    json.dumps(
        {
            "title": source.findtext("title"),
            "artist": source.findtext("artist"),
            "bitrate": number(source, "bitrate", "audio_bitrate"),
            "server_type": source.findtext("server_type"),
            "listeners": number(source, "listeners"),
            "clients": clients,
            "json": {
                "title": own.get("yp_currently_playing") or own.get("title"),
                "listeners": own["listeners"],
                "server_type": own["server_type"],
            },
        }
    )
)
