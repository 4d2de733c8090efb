// Keeps the list of streams up to date while it is looked at.
"use strict";

(() => {
  const REFRESH_MS = 15000;

  const main = document.querySelector("main");

  const refresh = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main");
      // Whoever has put the focus on a link keeps it while nothing changes.
      if (fresh && fresh.innerHTML !== main.innerHTML) main.replaceChildren(...fresh.childNodes);
    } catch {
      // The next time, perhaps.
    }
  };

  setInterval(refresh, REFRESH_MS);
  document.addEventListener("visibilitychange", refresh);
})();
