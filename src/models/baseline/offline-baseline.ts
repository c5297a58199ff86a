import type { Completion, ModelRequest } from "../../domain/models/model.js";
import { rareWords } from "./keywords.js";
import { offlineAnswer, offlineCompletion, type Step } from "./offline-completion.js";
import { pickPassage } from "./passages.js";
import { type History, readHistory } from "./read-conversation.js";

const RESULTS = 10;
const MAILS_READ = 3;
const MAX_SEARCHES = 4;
const MAX_KEYWORDS = 4;
/** Characters; the tool refuses a longer query. */
const MAX_QUERY = 10_000;
const DONT_KNOW = "I don't know";

/**
 * `offline/baseline`: searches with the question's own words, reads the mails found first, and answers with the
 * sentence that covers the question best. It sets the bar for a model.
 */
export function baselineReply(request: ModelRequest): Completion {
  const names = request.tools.map((tool) => tool.name);
  const searchTool = ["email_search", "search_emails"].find((name) => names.includes(name)) ?? null;
  const readTool = ["email_get", "read_email"].find((name) => names.includes(name)) ?? null;
  const history = readHistory(request, searchTool, readTool);

  if (history.hits.length === 0) {
    const search = searchTool === null ? null : nextSearch(searchTool, request, history);
    return search === null ? offlineAnswer(request, DONT_KNOW) : offlineCompletion(request, "", [search]);
  }
  if (readTool !== null && !history.hasRead) {
    const wanted = history.hits.slice(0, MAILS_READ);
    return offlineCompletion(
      request,
      "",
      wanted.map(({ messageId }) => ({ name: readTool, arguments: { message_id: messageId } })),
    );
  }
  const mails = history.read.length > 0 ? history.read : history.hits;
  const picked = pickPassage(
    history.question,
    mails,
    history.hits.map((hit) => hit.text),
  );
  return picked === null
    ? offlineAnswer(request, DONT_KNOW)
    : offlineAnswer(request, picked.passage || picked.mail.subject, [picked.mail.messageId]);
}

/** Null when there is nothing left to try. */
function nextSearch(tool: string, request: ModelRequest, history: History): Step | null {
  if (tool === "email_search") {
    if (history.searches > 0) return null;
    const inbox = requires(request, tool, "inbox_id")
      ? /(?<![\w.+-])[\w.+-]+@[\w-]+(\.[\w-]+)+/.exec(request.system)?.[0]
      : undefined;
    const query = history.question.slice(0, MAX_QUERY);
    return { name: tool, arguments: { query, ...(inbox === undefined ? {} : { inbox_id: inbox }), limit: RESULTS } };
  }
  // This one wants all words in one mail, so every further try drops the commonest.
  const keywords = rareWords(history.question, MAX_KEYWORDS);
  const keywordCount = keywords.length - history.searches;
  if (history.searches >= MAX_SEARCHES || keywordCount < 1) return null;
  return { name: tool, arguments: { keywords: keywords.slice(0, keywordCount), max_results: RESULTS } };
}

function requires(request: ModelRequest, tool: string, parameter: string): boolean {
  const required = request.tools.find(({ name }) => name === tool)?.parameters.required;
  return Array.isArray(required) && required.includes(parameter);
}
