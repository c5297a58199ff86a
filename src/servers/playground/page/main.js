import { agentList, agentView, runList, runView, toolList, toolView } from "./browse.js";
import { chatView } from "./chat.js";
import { el, failure } from "./dom.js";
import { traceList, traceView } from "./trace.js";

/** Section, alone and with an id after it. */
const VIEWS = {
  chat: [chatView, chatView],
  traces: [traceList],
  trace: [traceList, traceView],
  agents: [agentList, agentView],
  tools: [toolList, toolView],
  runs: [runList, runView],
};

let shown = 0;

async function show() {
  const [name, id] = location.hash.slice(1).split("/");
  const section = Object.hasOwn(VIEWS, name) ? name : "chat";
  const [all, one] = VIEWS[section];
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = link.hash === `#${section}` || (section === "trace" && link.hash === "#traces");
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const mine = ++shown;
  const page = el("div", { class: "page" });
  try {
    await (id && one ? one(page, decodeURIComponent(id)) : all(page));
  } catch (error) {
    page.replaceChildren(failure(error));
  }
  // Whoever has gone on already does not want to be taken back.
  if (mine !== shown) return;
  const main = document.getElementById("main");
  main.replaceChildren(page);
  const title = page.querySelector("h2")?.textContent;
  document.title = title ? `${title} · art-e` : "art-e";
  if (section === "chat") document.getElementById("question")?.focus();
  else main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

addEventListener("hashchange", show);
show();
