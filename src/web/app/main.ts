// The served pages: chooses the section for the URL fragment, and restores drafts and scroll positions.
import type { MailJson, SessionLineJson, SessionPageJson } from "../../server/response-shapes.js";
import { SESSION_FIELDS } from "../../traces/list-fields.js";
import { h, minuteText, untrustedInline, untrustedText } from "../dom.js";
import { listenForPageKeys } from "../page-keys.js";
import { themeButton } from "../theme-button.js";
import { get, pageScope } from "./api.js";
import { chatView, continueSession } from "./chat.js";
import { codeNewest, codeView } from "./code.js";
import { evalList, evalView } from "./evals.js";
import { labelList, labelView } from "./label.js";
import { type Column, clipped, errorNotice, idLink, offsetPage, searchedList } from "./lists.js";
import { modesView } from "./modes.js";
import { agentList, agentView, toolList, toolView } from "./registry.js";
import { reviewView } from "./review-view.js";
import { runList } from "./run-list.js";
import { compareView } from "./run-report.js";
import { runView } from "./run-view.js";
import type { SectionName } from "./sections.js";
import { mailArticle, traceList, traceView } from "./trace.js";
import { confirmLeaving } from "./unsaved-edits.js";

/** Shows a changed query of the URL fragment without loading the section again. */
type Update = () => void;

interface Section {
  /** `query` comes from a URL fragment such as `#runs?q=status:running`. `signal` aborts when another section opens. */
  list(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void>;
  /** Shows a fragment with an id, such as `#agents/ID`. */
  one?(page: HTMLElement, id: string, signal: AbortSignal, query: URLSearchParams): Promise<void>;
  /** Like `one`, for a section that handles changes of its query itself. */
  report?(page: HTMLElement, id: string, signal: AbortSignal): Promise<Update>;
}

const SECTIONS: Readonly<Record<SectionName, Section>> = {
  chat: { list: (page, query) => chatView(page, null, query), one: (page, id, _, query) => chatView(page, id, query) },
  chats: { list: sessionList, one: sessionView },
  compare: { list: runList, report: compareView },
  mail: { list: traceList, one: mailView },
  traces: { list: traceList },
  trace: { list: traceList, one: traceView },
  agents: { list: agentList, one: agentView },
  tools: { list: toolList, one: toolView },
  runs: { list: runList, report: runView },
  label: { list: labelList, one: labelView },
  code: { list: codeNewest, one: codeView },
  modes: { list: modesView },
  evals: { list: evalList, one: evalView },
  review: { list: (page, _, signal) => reviewView(page, null, signal), one: reviewView },
};

/** Controller of the current section. A section that loads slowly must not replace a later one. */
let current = new AbortController();

/** The section in the page, and its function for changed queries. */
let shown: { readonly place: string; readonly update: Update | null } = { place: "", update: null };

async function showSection(): Promise<void> {
  if (keepsEditing()) return;
  const entry = enterHistory();
  const [place = "", query = ""] = location.hash.slice(1).split("?", 2);
  if (shown.update !== null && shown.place === place) {
    shown.update();
    return;
  }
  const [word = "", wordId = ""] = place.split("/");
  // The id of an unknown section does not apply to the home section.
  const [name, id] = isSection(word) ? [word, wordId] : [pageScope.home, ""];
  markCurrentLink(name);
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const page = h("div.page");
  const main = document.getElementById("main");
  const slow = setTimeout(() => main?.replaceChildren(h("p.notice", { role: "status" }, "Loading …")), SLOW_MS);
  let update: Update | null = null;
  try {
    const { list, one, report } = SECTIONS[name];
    const words = new URLSearchParams(query);
    const decodedId = decoded(id);
    if (id === "") await list(page, words, signal);
    else if (report !== undefined) update = await report(page, decodedId, signal);
    else await (one === undefined ? list(page, words, signal) : one(page, decodedId, signal, words));
    if (word !== "" && !isSection(word)) page.prepend(errorNotice(`The page "${word}" does not exist.`));
  } catch (error) {
    if (signal.aborted) return;
    page.replaceChildren(errorNotice((error as Error).message));
  } finally {
    clearTimeout(slow);
  }
  if (signal.aborted || main === null) return;
  shown = { place, update };
  main.replaceChildren(page);
  update?.();
  const title = page.querySelector("h2")?.textContent ?? document.querySelector("nav [aria-current]")?.textContent;
  document.title = title ? `${title} · art-e` : "art-e";
  if (document.querySelector("dialog[open]") !== null) return;
  const question = name === "chat" ? document.getElementById("question") : null;
  const left = [...main.querySelectorAll("a")].find(({ hash }) => hash === focusedLinks.get(entry));
  (question ?? left ?? main).focus({ preventScroll: true });
  restoreScroll(scrollPositions.get(entry) ?? 0, signal);
}

/** Returns an id from a URL. One that was truncated in the middle of a character is unknown as it is. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** Scrolls to a position as soon as the page is long enough, unless the user scrolls first. */
function restoreScroll(top: number, signal: AbortSignal): void {
  const stop = new AbortController();
  const growth = new ResizeObserver(() => {
    scrollTo(0, top);
    if (scrollY >= top - 1) stop.abort();
  });
  stop.signal.addEventListener("abort", () => growth.disconnect());
  for (const type of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(type, () => stop.abort(), { signal: stop.signal });
  }
  signal.addEventListener("abort", () => stop.abort());
  scrollTo(0, top);
  if (scrollY < top - 1) growth.observe(document.body);
  else stop.abort();
}

/** Milliseconds until a section that is still loading replaces the previous one. */
const SLOW_MS = 300;

/** Scroll positions by history entry, so that Back restores them. */
const scrollPositions = new Map<number, number>();

/** The last focused link by history entry, so that Back returns to the row that the user left. */
const focusedLinks = new Map<number, string>();

let currentEntry = 0;

/** Returns the number of the current history entry, which a new one receives here. */
function enterHistory(): number {
  const state = history.state as { readonly entry?: number } | null;
  currentEntry = state?.entry ?? Date.now();
  if (state?.entry === undefined) history.replaceState({ ...state, entry: currentEntry }, "");
  return currentEntry;
}

/** Whether the history is returning to the shown section, because the user chose to keep editing. */
let isReturning = false;

/** Whether unsaved edits keep the user in the shown section. Moves the history back to it. */
function keepsEditing(): boolean {
  if (isReturning) {
    isReturning = false;
    return true;
  }
  if (confirmLeaving()) return false;
  isReturning = true;
  const { entry } = (history.state ?? {}) as { readonly entry?: number };
  history.go(entry !== undefined && entry < currentEntry ? 1 : -1);
  return true;
}

function isSection(word: string): word is SectionName {
  return pageScope.sections.has(word);
}

/** Sections without a link, and the section that leads to them. */
const PARENTS: Readonly<Partial<Record<SectionName, SectionName>>> = {
  mail: "traces",
  trace: "traces",
  compare: "runs",
  code: "label",
  modes: "label",
};

function markCurrentLink(section: SectionName): void {
  const target = PARENTS[section] ?? section;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    link.ariaCurrent = link.hash === `#${target}` ? "page" : null;
  }
}

function removeOtherLinks(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    if (!isSection(link.hash.slice(1))) link.remove();
  }
}

/** Lists earlier chats, which can all be continued. */
async function sessionList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  await searchedList<SessionLineJson>(page, query, signal, {
    title: "Chats",
    section: "chats",
    fields: SESSION_FIELDS,
    none: ["No chats yet. ", h("a", { href: "#chat" }, "Ask an agent"), " here, or with ", h("code", "art-e ask"), "."],
    load: (query, next) => offsetPage("/api/sessions", query, next, ({ sessions }: SessionPageJson) => sessions),
    search: "Search chats",
    columns: SESSION_COLUMNS,
  });
}

/** Continues a chat with its agent, mailbox and date. */
async function sessionView(page: HTMLElement, id: string): Promise<void> {
  const { agent_id, inbox_address, query_date } = await get<SessionLineJson>(`/api/sessions/${encodeURIComponent(id)}`);
  continueSession({ agent: agent_id, inbox: inbox_address ?? "", day: query_date ?? "", session: id });
  await chatView(page, null, new URLSearchParams());
}

const SESSION_COLUMNS: readonly Column<SessionLineJson>[] = [
  { title: "Last asked", sort: "updated", cell: ({ id, updated_at }) => idLink("chats", id, minuteText(updated_at)) },
  { title: "First question", sort: "question", cell: ({ question }) => clipped(question ?? "–"), narrow: "new line" },
  { title: "Questions", sort: "chats", cell: ({ chats }) => chats ?? 0, isNumeric: true, narrow: "left out" },
  { title: "Agent", sort: "agent", cell: ({ agent_id }) => untrustedInline(agent_id), narrow: "new line" },
  { title: "Mailbox", sort: "mailbox", cell: (line) => untrustedInline(line.inbox_address ?? "any") },
  { title: "Date", sort: "date", cell: ({ query_date }) => query_date },
];

async function mailView(page: HTMLElement, messageId: string): Promise<void> {
  const mail = await get<MailJson>(`/api/mails/${encodeURIComponent(messageId)}`);
  page.append(h("h2", "Mail"), untrustedText(mail.message_id, "hint mono", "p"), mailArticle(mail, [], []));
}

removeOtherLinks();
document.querySelector("body > header")?.append(themeButton());
history.scrollRestoration = "manual";
addEventListener("hashchange", showSection);
addEventListener("focusin", ({ target }) => {
  if (target instanceof HTMLAnchorElement && target.closest("main")) focusedLinks.set(currentEntry, target.hash);
});
addEventListener("scroll", () => scrollPositions.set(currentEntry, scrollY), { passive: true });
listenForPageKeys();
document.querySelector(".skip")?.addEventListener("click", (event) => {
  // The fragment of the link would open another section.
  event.preventDefault();
  document.getElementById("main")?.focus();
});
void showSection();
