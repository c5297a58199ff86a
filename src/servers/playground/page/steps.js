import { el, outside, when } from "./dom.js";

/** One tool call: what was asked, and what came of it when it is known. */
export function callCard(name, args) {
  const state = el("span", { class: "state busy" }, "working");
  const body = el("div", { class: "result" });
  const element = el(
    "details",
    { class: "call" },
    el("summary", {}, el("code", {}, name), " ", outside("span", oneLine(args), "args"), " ", state),
    body,
  );
  return {
    element,
    setResult(result) {
      const isError = typeof result?.error === "string";
      state.className = isError ? "state bad" : "state";
      state.textContent = isError ? "refused" : summaryOf(result);
      body.replaceChildren(...(isError ? [outside("p", result.error, "bad")] : resultParts(result)));
      // Mails are what one wants to see.
      if (!isError && (isMail(result) || isSearch(result))) element.open = true;
    },
  };
}

function resultParts(result) {
  if (isMail(result)) return [mail(result)];
  if (isSearch(result)) return [searchHits(hitsOf(result))];
  return [outside("pre", JSON.stringify(result, null, 2))];
}

function isMail(result) {
  return typeof result?.message_id === "string" && typeof result.body === "string";
}

function isSearch(result) {
  return (
    Array.isArray(result?.emails) ||
    (Array.isArray(result) && result.every((hit) => typeof hit?.message_id === "string"))
  );
}

function hitsOf(result) {
  return Array.isArray(result) ? result : result.emails;
}

function summaryOf(result) {
  if (isMail(result)) return "mail read";
  if (!isSearch(result)) return "done";
  const found = hitsOf(result).length;
  return found === 1 ? "1 mail found" : `${found} mails found`;
}

function searchHits(hits) {
  if (hits.length === 0) return el("p", { class: "hint" }, "Nothing found.");
  return el(
    "ol",
    { class: "hits" },
    hits.map((hit) =>
      el(
        "li",
        {},
        outside("div", hit.subject || (hit.subject === undefined ? hit.message_id : "(no subject)"), "subject"),
        hit.sender === undefined
          ? null
          : el("div", { class: "hint" }, outside("span", hit.sender), " · ", when(hit.date)),
        outside("div", hit.snippet, "snippet"),
      ),
    ),
  );
}

/** A mail as text: nothing in it is markup here. */
export function mail(content) {
  const lines = [
    ["From", content.sender ?? content.from],
    ["To", listOf(content.to ?? content.recipients)],
    ["Cc", listOf(content.cc)],
    ["Date", when(content.date)],
  ].filter(([, value]) => value);
  return el(
    "article",
    { class: "mail" },
    outside("h4", content.subject || "(no subject)"),
    el(
      "dl",
      {},
      lines.map(([name, value]) => [el("dt", {}, name), outside("dd", value)]),
    ),
    outside("pre", content.body, "body"),
  );
}

function listOf(addresses) {
  return Array.isArray(addresses) ? addresses.join(", ") : addresses;
}

function oneLine(args) {
  if (typeof args !== "object" || args === null) return String(args ?? "");
  const told = Object.entries(args).filter(([name]) => name !== "inbox_id");
  return told
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
