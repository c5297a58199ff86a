import type { MailJson, SessionLineJson, SessionPageJson } from "../../server/response-shapes.js";
import { h, minuteText, untrustedInline, untrustedText } from "../dom.js";
import { get, pageScope, type SectionName } from "./api.js";
import { chatView, forgetConversation, updateChatState } from "./chat.js";
import { codeView } from "./code.js";
import { labelList, labelView } from "./label.js";
import { clipped, errorNotice, filteredList, idLink, offsetPage, table } from "./lists.js";
import { modesView } from "./modes.js";
import { agentList, agentView, toolList, toolView } from "./registry.js";
import { reviewView } from "./review-view.js";
import { runList, runView } from "./run-view.js";
import { mailArticle, traceList, traceView } from "./trace.js";

interface Section {
  /** `query` comes from a URL fragment such as `#runs?status=running`. `signal` aborts when another section opens. */
  list(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void>;
  /** Shows a fragment with an id, such as `#agents/ID`. */
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
  code: { list: (page, query, signal) => codeView(page, "latest", signal, query), one: codeView },
  modes: { list: modesView },
  review: { list: (page, _, signal) => reviewView(page, null, signal), one: reviewView },
};

/** Controller of the current section. A section that loads slowly must not replace a later one. */
let current = new AbortController();

async function showSection(): Promise<void> {
  const [place = "", query = ""] = location.hash.slice(1).split("?", 2);
  const [word = "", wordId = ""] = place.split("/");
  // The id of an unknown section does not apply to the home section.
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

/** Lists earlier chats, which can all be continued. */
function sessionList(page: HTMLElement, query: URLSearchParams): Promise<void> {
  return filteredList<SessionLineJson>(page, query, {
    title: "Chats",
    section: "chats",
    fields: [{ name: "agent_id", label: "Agent id", kind: "text" }],
    none: "No chats yet. Ask an agent to start one.",
    load: (filter, next) => offsetPage("/api/sessions", filter, next, ({ sessions }: SessionPageJson) => sessions),
    table: sessionTable,
  });
}

/** Continues a chat with its agent, mailbox and date. */
async function sessionView(_page: HTMLElement, id: string): Promise<void> {
  const { agent_id, inbox_address, query_date } = await get<SessionLineJson>(`/api/sessions/${encodeURIComponent(id)}`);
  forgetConversation();
  updateChatState({ agent: agent_id, inbox: inbox_address ?? "", day: query_date ?? "", session: id, draft: "" });
  location.replace("#chat");
}

function sessionTable(sessions: readonly SessionLineJson[]): HTMLElement {
  return table(
    "Chats",
    ["Last asked", "First question", "Questions", "Agent", "Mailbox", "Date"],
    sessions.map(({ id, agent_id, inbox_address, query_date, chats, question, updated_at }) => [
      idLink("chats", id, minuteText(updated_at)),
      clipped(question ?? "–"),
      chats ?? 0,
      agent_id,
      untrustedInline(inbox_address ?? "any"),
      query_date ?? "–",
    ]),
  );
}

async function mailView(page: HTMLElement, messageId: string): Promise<void> {
  const mail = await get<MailJson>(`/api/mails/${encodeURIComponent(messageId)}`);
  page.append(h("h2", {}, "Mail"), untrustedText(mail.message_id, "hint mono", "p"), mailArticle(mail));
}
