"use strict";
// Reads a page again when the server says that something may have changed, and replaces its content. Without this
// script every page is complete.
(() => {
  const main = document.getElementById("main");
  if (!main?.hasAttribute("data-live") || !window.EventSource) return;
  const status = document.getElementById("live");
  let reading = false;

  async function refresh() {
    // What the reader types must stay.
    if (reading || document.hidden || main.querySelector("input:focus, select:focus")) return;
    reading = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected || !answer.ok) return location.reload();
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      replace(next.getElementById("main"));
      document.querySelector("footer time")?.replaceWith(next.querySelector("footer time"));
    } catch {
      status.textContent = ", not connected";
    } finally {
      reading = false;
    }
  }

  // replace keeps what is open, selected and focused.
  function replace(next) {
    if (!next || next.innerHTML === main.innerHTML || !getSelection().isCollapsed) return;
    const open = [...main.querySelectorAll("details")].map(d => d.open);
    const focused = main.contains(document.activeElement) && document.activeElement.getAttribute("href");
    main.replaceChildren(...next.childNodes);
    main.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? false; });
    if (focused) main.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    if (!next.hasAttribute("data-live")) events.close();
  }

  const events = new EventSource("/changes");
  events.addEventListener("change", refresh);
  events.onopen = () => { status.textContent = ", live"; };
  events.onerror = () => { status.textContent = ", not connected"; };
  document.addEventListener("visibilitychange", refresh);
})();
