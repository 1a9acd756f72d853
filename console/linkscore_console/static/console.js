// Keeps pages fresh, says when nobody answers, and makes everything reachable by keys.

const MAX_WAIT_S = 60;
// Share of a server's time that a page takes at most. Chosen: a crawl gets less than 3 % slower.
const LOAD = .005;
const every = Number(document.body.dataset.liveEvery);
const state = { paused: every === 0, failures: 0, fetched: Date.now(), timer: 0, took: 0 };

// Refreshing ---------------------------------------------------------------------------------------------

/** Get a page of ours as a document; its scripts do not run. */
export function load(address) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.timeout = 20_000;
    request.onload = () => resolve({ status: request.status, page: request.responseXML });
    request.onerror = request.ontimeout = () => reject(new Error("no answer"));
    request.send();
  });
}

/** Put the live parts of a page in place of ours, and keep what the reader opened. */
function take(page) {
  let changed = false;
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(part.id);
    if (!fresh || fresh.isEqualNode(part) || part.contains(document.activeElement)) continue;
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    part.replaceChildren(...fresh.childNodes);
    [...part.querySelectorAll("details")].forEach((one, at) => { one.open = open[at] ?? one.open; });
    changed = true;
  }
  if (changed) document.dispatchEvent(new CustomEvent("refreshed"));
}

async function refresh() {
  if (state.paused || document.hidden) return again();
  try {
    const began = performance.now();
    const { status, page } = await load(location.href);
    state.took = (performance.now() - began) / 1000;
    if (status === 503) {
      fail(page.getElementById("away-said")?.textContent ?? "The server does not answer.");
    } else if (status === 200) {
      const back = state.failures > 0;
      state.failures = 0;
      state.fetched = Date.now();
      if (back && !document.querySelector("[data-live]")) return location.reload();
      take(page);
      say();
    } else {
      fail("What this page shows is not there any more.");
    }
  } catch {
    fail("This console does not answer; was it stopped?");
  }
  again();
}

function fail(why) {
  state.failures += 1;
  say(why);
}

function again() {
  clearTimeout(state.timer);
  const wait = Math.min(MAX_WAIT_S, Math.max((every || 2) * 2 ** Math.min(state.failures, 4), state.took / LOAD));
  state.timer = setTimeout(refresh, wait * 1000);
}

/** Say how things are: the dot in the header, and a line on top of the page if nobody answers. */
function say(why = "") {
  const status = document.getElementById("status");
  const away = document.getElementById("away");
  status.dataset.state = why ? "away" : state.paused ? "paused" : "live";
  status.title = why ? "away" : state.paused ? "not refreshing" : `refreshed ${new Date(state.fetched).toLocaleTimeString()}`;
  if (away.textContent !== why) away.textContent = why;
  away.hidden = !why || Boolean(document.getElementById("away-said"));
  document.body.classList.toggle("stale", Boolean(why));
}

// Keys ---------------------------------------------------------------------------------------------------

const rows = () => [...document.querySelectorAll("[data-row]")];

function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  const target = next.matches("details") ? next.querySelector("summary") : next;
  target.focus();
  next.scrollIntoView({ block: "nearest" });
}

function answer(key) {
  const card = document.activeElement?.closest(".ask") ?? document.querySelector(".ask");
  card?.querySelector(`[data-answer="${key}"]`)?.click();
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  y: () => answer("y"),
  n: () => answer("n"),
  c: () => location.assign("/"),
  p: () => { state.paused = !state.paused; say(); },
  "/": () => document.querySelector("main input:not([type=hidden]), main textarea")?.focus(),
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  const tab = document.querySelector(`.tabs [data-key="${CSS.escape(event.key)}"]`);
  const act = keys[event.key] ?? (tab && (() => tab.click()));
  if (!act) return;
  event.preventDefault();
  act();
});

document.getElementById("help").addEventListener("click", keys["?"]);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new CustomEvent("painted")));

say();
again();
document.querySelector(".ask")?.focus({ preventScroll: true });
