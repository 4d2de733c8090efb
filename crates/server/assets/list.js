// Keeps the list of streams up to date while the page is visible.
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
      // An unchanged list is left alone, so that a focused link keeps the focus.
      if (fresh && fresh.innerHTML !== main.innerHTML) main.replaceChildren(...fresh.childNodes);
    } catch {
      // The next refresh may succeed.
    }
  };

  setInterval(refresh, REFRESH_MS);
  document.addEventListener("visibilitychange", refresh);
})();
