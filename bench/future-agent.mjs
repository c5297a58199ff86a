// Agents without a model for tasks about the future of a mailbox, for `art-e run --agent-command`. The argument selects
// one: `all` candidates in the window, the `newest` three, or a `rule`: unanswered, to one person, with a question mark.
// `file FILE` returns the emails that FILE (JSON) lists for the mailbox and the date.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , name, file] = process.argv;
const selected = file === undefined ? null : JSON.parse(readFileSync(file, "utf8"));

async function call(url, tool, args) {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await reply.json()).result.structuredContent;
}

const plain = (subject) => subject.replace(/^(\s*(re|fwd?)\s*:)+/i, "").trim();

async function select({ question, inbox_address: owner, query_date: day, tools }) {
  if (selected !== null) return selected[`${owner} ${day}`].map((id) => ({ message_id: id }));
  const { url } = tools.mcp;
  const [from] = /\d{4}-\d\d-\d\d/.exec(question) ?? [];
  const { emails } = await call(url, "email_search", { sent_after: from, limit: 50 });
  const isOwn = ({ sender }) => sender === owner;
  const wantsOwn = question.includes("my own emails");
  const candidates = emails.filter((email) => isOwn(email) === wantsOwn);
  if (name === "all") return candidates;
  if (name === "newest") return candidates.slice(0, 3);
  const chosen = [];
  for (const email of candidates) {
    const isAnswered = emails.some(
      (later) => later.date > email.date && isOwn(later) !== wantsOwn && plain(later.subject) === plain(email.subject),
    );
    if (isAnswered) continue;
    const { to, cc, bcc, body } = await call(url, "email_get", { message_id: email.message_id });
    const [own] = body.split(/^\s*(?:>|-{3,}|On .*wrote:|From:)/m);
    if ([...to, ...cc, ...bcc].length === 1 && own.includes("?")) chosen.push(email);
  }
  return chosen;
}

for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  const sources = (await select(task)).map(({ message_id }) => message_id);
  console.log(JSON.stringify({ id: task.id, answer: "Done.", sources }));
}
