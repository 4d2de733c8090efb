"""Prints what an XML document holds: a line for each element without children, in the order of the document.

`source[/radio.mp3]/listener/IP=127.0.0.1` names elements by their path, and a source by its mount as well.
"""
import sys
import xml.etree.ElementTree as ElementTree


def lines(element, path):
    for child in element:
        # Namespaces are left out.
        name = child.tag.rpartition("}")[2]
        mount = child.get("mount")
        below = path + [f"{name}[{mount}]" if mount else name]
        if len(child):
            yield from lines(child, below)
        else:
            yield "/".join(below) + "=" + (child.text or "").replace("\n", "|")


root = ElementTree.fromstring(sys.stdin.buffer.read())
print("\n".join(lines(root, [])))
