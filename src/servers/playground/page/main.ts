import { h } from "../../../reports/page/shared/dom.js";
import { agentList, agentView, toolList, toolView } from "./agent-views.js";
import { chatView } from "./chat/chat-view.js";
import { labelList } from "./labelling/label-list.js";
import { labelView } from "./labelling/label-view.js";
import { mailView } from "./mail-view.js";
import { pageScope, type SectionName } from "./page-sections.js";
import { reviewView } from "./review/review-view.js";
import { runList } from "./runs/run-list.js";
import { runView } from "./runs/run-view.js";
import { sessionList, sessionView } from "./session-list.js";
import { errorNotice } from "./tables.js";
import { traceList } from "./trace-list.js";
import { traceView } from "./trace-view.js";

interface Section {
  /** `query`: of an address such as `#runs?status=running`. `signal` aborts when another section is opened. */
  list(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void>;
  /** Where the address has an id: `#agents/ID`. */
  one?(page: HTMLElement, id: string, signal: AbortSignal, query: URLSearchParams): Promise<void>;
}

const SECTIONS: Readonly<Record<SectionName, Section>> = {
  chat: { list: (page) => chatView(page, null), one: chatView },
  chats: { list: sessionList, one: sessionView },
  mail: { list: traceList, one: mailView },
  traces: { list: traceList },
  trace: { list: traceList, one: traceView },
  agents: { list: agentList, one: agentView },
  tools: { list: toolList, one: toolView },
  runs: { list: runList, one: runView },
  label: { list: labelList, one: labelView },
  review: { list: (page, _, signal) => reviewView(page, null, signal), one: reviewView },
};

/** Of the section that is shown: one that loads slowly must not replace a later one. */
let current = new AbortController();

async function showSection(): Promise<void> {
  const [place = "", query = ""] = location.hash.slice(1).split("?", 2);
  const [word = "", wordId = ""] = place.split("/");
  // The id of an unknown section is no id of the first page.
  const [name, id] = isSection(word) ? [word, wordId] : [pageScope.home, ""];
  markCurrentLink(name);
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const page = h("div", { class: "page" });
  try {
    const { list, one } = SECTIONS[name];
    const words = new URLSearchParams(query);
    await (id !== "" && one !== undefined
      ? one(page, decodeURIComponent(id), signal, words)
      : list(page, words, signal));
  } catch (error) {
    if (signal.aborted) return;
    page.replaceChildren(errorNotice((error as Error).message));
  }
  const main = document.getElementById("main");
  if (signal.aborted || main === null) return;
  main.replaceChildren(page);
  const title = page.querySelector("h2")?.textContent;
  document.title = title ? `${title} · art-e` : "art-e";
  if (name === "chat") document.getElementById("question")?.focus();
  else main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function isSection(word: string): word is SectionName {
  return (pageScope.sections as ReadonlySet<string>).has(word);
}

function markCurrentLink(section: SectionName): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    const isCurrent =
      link.hash === `#${section}` || ((section === "trace" || section === "mail") && link.hash === "#traces");
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function removeOtherLinks(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    if (!isSection(link.hash.slice(1))) link.remove();
  }
}

removeOtherLinks();
addEventListener("hashchange", showSection);
void showSection();
