// Keys, copying and fresh content: every page works without this file.
"use strict";

const LIVE = new URL("../live", document.currentScript.src);

const rows = () => [...document.querySelectorAll("[data-row]")];

function move(step) {
  const all = rows();
  if (!all.length) return;
  const here = all.indexOf(document.activeElement);
  const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step;
  const row = all[Math.min(Math.max(next, 0), all.length - 1)];
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.matches("input, textarea, select")) return;
  const keys = document.getElementById("keys");
  if (keys.open) {
    if (event.key === "?") keys.close();
    return;
  }
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "?") keys.showModal();
  else if (event.key === "/") document.getElementById("q")?.focus();
  else return;
  event.preventDefault();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    button.textContent = "Selected";
  }
});

function showButtons() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
}

// What is focused and what is at the top of the window stay where they are.
function describe(element) {
  if (!element || element === document.body) return null;
  if (element.id) return `#${CSS.escape(element.id)}`;
  const href = element.getAttribute("href");
  return href ? `${element.localName}[href="${CSS.escape(href)}"]` : null;
}

function topmost() {
  const found = [...document.querySelectorAll("main [id]")].find(
    (one) => one.getBoundingClientRect().bottom > 60 && one.getBoundingClientRect().height > 0,
  );
  return found && { id: found.id, top: found.getBoundingClientRect().top };
}

function replaceMain(fresh) {
  const old = document.getElementById("main");
  if (fresh.innerHTML === old.innerHTML) return false;
  const focused = document.activeElement;
  const where = old.contains(focused) ? describe(focused) : null;
  const typed = focused?.matches("input[type=search]")
    ? { value: focused.value, start: focused.selectionStart, end: focused.selectionEnd }
    : null;
  const anchor = scrollY > 0 ? topmost() : null;
  const opened = [...old.querySelectorAll("details[open][id]")].map((one) => one.id);
  const scrolled = [...old.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  old.replaceChildren(...fresh.childNodes);
  for (const id of opened) {
    const details = document.getElementById(id);
    if (details) details.open = true;
  }
  [...old.querySelectorAll(".scroll")].forEach((one, i) => (one.scrollLeft = scrolled[i] ?? 0));
  showButtons();
  const again = where && old.querySelector(where);
  again?.focus({ preventScroll: true });
  if (typed && again) {
    again.value = typed.value;
    again.setSelectionRange(typed.start, typed.end);
  }
  const same = anchor && document.getElementById(anchor.id);
  if (same) scrollBy({ top: same.getBoundingClientRect().top - anchor.top, behavior: "instant" });
  return true;
}

let isFetching = false;
let isStale = false;

async function refresh() {
  if (isFetching) {
    isStale = true;
    return;
  }
  isFetching = true;
  try {
    const answer = await fetch(location.pathname + location.search);
    // What was forgotten does not stay on a page that is open.
    if (answer.ok || answer.status === 404) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = page.getElementById("main");
      document.title = page.title;
      for (const button of main.querySelectorAll("[data-copy]")) button.hidden = false;
      if (replaceMain(main)) say("Updated just now");
    }
  } catch {
    say("The dashboard has ended", true);
  } finally {
    isFetching = false;
    if (isStale) {
      isStale = false;
      refresh();
    }
  }
}

let forgetting;
function say(text, stays = false) {
  const live = document.getElementById("live");
  live.textContent = text;
  live.hidden = false;
  clearTimeout(forgetting);
  if (!stays) forgetting = setTimeout(() => (live.hidden = true), 4000);
}

// Only the tab that is looked at holds a connection: a browser has six of them for one host.
let source = null;
let wasCut = false;
function listen() {
  if (document.hidden) {
    source?.close();
    source = null;
  } else if (!source) {
    source = new EventSource(LIVE);
    source.addEventListener("change", refresh);
    source.addEventListener("ready", () => {
      if (wasCut) {
        wasCut = false;
        say("Connected again");
        refresh();
      }
      document.documentElement.dataset.live = "on";
    });
    source.addEventListener("error", () => {
      if (!wasCut) say("The dashboard has ended", true);
      wasCut = true;
    });
  }
}

showButtons();
listen();
document.addEventListener("visibilitychange", () => {
  const wasAway = !source && !document.hidden;
  listen();
  if (wasAway) refresh();
});
addEventListener("pagehide", () => source?.close());
