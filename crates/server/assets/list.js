// Made from crates/server/web/src by `npm run build`; do not edit.
"use strict";
(() => {
  // src/list.ts
  var REFRESH_MS = 15e3;
  var main = document.querySelector("main");
  var refresh = async () => {
    if (document.hidden || !main) return;
    try {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main");
      if (fresh && fresh.innerHTML !== main.innerHTML) main.replaceChildren(...fresh.childNodes);
    } catch {
    }
  };
  setInterval(() => void refresh(), REFRESH_MS);
  document.addEventListener("visibilitychange", () => void refresh());
})();
