import { h } from "../../../reports/page/shared/dom.js";
import { agentList, agentView, toolList, toolView } from "./agent-views.js";
import { chatView } from "./chat-view.js";
import { labelList } from "./labelling/label-list.js";
import { labelView } from "./labelling/label-view.js";
import { runList, runView } from "./run-views.js";
import { errorNotice } from "./tables.js";
import { traceList, traceView } from "./trace-view.js";

interface Section {
  list(page: HTMLElement): Promise<void>;
  /** Where the address has an id: `#agents/ID`. */
  one?(page: HTMLElement, id: string): Promise<void>;
}

type SectionName = "chat" | "traces" | "trace" | "agents" | "tools" | "runs" | "label";

const SECTIONS: Readonly<Record<SectionName, Section>> = {
  chat: { list: (page) => chatView(page, null), one: chatView },
  traces: { list: traceList },
  trace: { list: traceList, one: traceView },
  agents: { list: agentList, one: agentView },
  tools: { list: toolList, one: toolView },
  runs: { list: runList, one: runView },
  label: { list: labelList, one: labelView },
};

/** Counts navigations, so that a view that loads slowly does not replace a later one. */
let navigations = 0;

async function showSection(): Promise<void> {
  const [word = "", id = ""] = location.hash.slice(1).split("/");
  const name = Object.hasOwn(SECTIONS, word) ? (word as SectionName) : "chat";
  markCurrentLink(name);
  const navigation = ++navigations;
  const page = h("div", { class: "page" });
  try {
    const { list, one } = SECTIONS[name];
    await (id !== "" && one !== undefined ? one(page, decodeURIComponent(id)) : list(page));
  } catch (error) {
    page.replaceChildren(errorNotice((error as Error).message));
  }
  const main = document.getElementById("main");
  if (navigation !== navigations || main === null) return;
  main.replaceChildren(page);
  const title = page.querySelector("h2")?.textContent;
  document.title = title ? `${title} · art-e` : "art-e";
  if (name === "chat") document.getElementById("question")?.focus();
  else main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function markCurrentLink(section: SectionName): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    const isCurrent = link.hash === `#${section}` || (section === "trace" && link.hash === "#traces");
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

addEventListener("hashchange", showSection);
void showSection();
