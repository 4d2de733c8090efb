// What the server says about this page's stream, and what the page shows of it.
"use strict";

globalThis.info = (() => {
  const byId = (id) => document.getElementById(id);

  const listAddresses = (addresses) => {
    const rows = addresses.map((one) => {
      const url = new URL(one.path, location.href).href;
      const row = document.createElement("li");
      const text = document.createElement("code");
      text.textContent = url;
      const copy = document.createElement("button");
      copy.type = "button";
      copy.textContent = "Copy";
      copy.setAttribute("aria-label", `Copy the ${one.label} address`);
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(url);
          copy.textContent = "Copied";
        } catch {
          // Without HTTPS there is no clipboard; selected text is one key away from it.
          getSelection().selectAllChildren(text);
        }
      });
      const label = document.createElement("span");
      label.textContent = one.label;
      row.append(label, text, copy);
      return row;
    });
    byId("players").hidden = rows.length === 0;
    const list = byId("addresses");
    const urls = (nodes) => [...nodes].map((row) => row.querySelector("code").textContent).join();
    // Rows that have not changed are left alone, so that a focused button keeps the focus.
    if (urls(list.children) !== urls(rows)) list.replaceChildren(...rows);
  };

  const show = (offer) => {
    const title = byId("title");
    title.hidden = !offer.title;
    if (title.textContent !== (offer.title ?? "")) title.textContent = offer.title ?? "";
    if (globalThis.MediaMetadata && navigator.mediaSession) {
      const name = document.querySelector("h1").textContent;
      navigator.mediaSession.metadata = new MediaMetadata({ title: offer.title || name, artist: name });
    }
    const item = (text) => Object.assign(document.createElement("li"), { textContent: text });
    byId("notes").hidden = offer.notes.length === 0;
    byId("notes").replaceChildren(...offer.notes.map(item));
    listAddresses(offer.addresses);
  };

  // What the page was delivered with.
  const first = () => {
    const offer = JSON.parse(byId("offer").textContent);
    show(offer);
    return offer;
  };

  // The current state; null when the server cannot be reached.
  const fetchNow = async () => {
    try {
      const answer = await fetch("info.json", { cache: "no-store" });
      const offer = await answer.json();
      show(offer);
      return offer;
    } catch {
      return null;
    }
  };

  return { first, fetch: fetchNow };
})();
