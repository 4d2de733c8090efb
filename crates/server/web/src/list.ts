// Keeps the list of streams up to date while the page is visible.

const REFRESH_MS = 15_000;

const main = document.querySelector("main");

const refresh = async (): Promise<void> => {
  if (document.hidden || !main) return;
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

setInterval(() => void refresh(), REFRESH_MS);
document.addEventListener("visibilitychange", () => void refresh());
