import { withoutDataMarks } from "../../../src/models/tool-results.js";
import type { JsonValue } from "../../../src/platform/json.js";
import type { ProviderReply } from "../../providers/wire-reply.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { demoQuestions } from "../art-e.js";

/** A scripted model that answers well, or with one planted failure in every other question. */

/** Failure modes, each with the template that detects it. */
export const PLANTED = {
  invented_number: "numbers_from_mail",
  unread_source: "sources_were_read",
  premature_abstention: "abstains_after_reading",
  repeated_search: "no_repeated_call",
  cut_off_answer: "answer_complete",
  older_mail: "newest_of_thread",
} as const;

export type PlantedMode = keyof typeof PLANTED;

const questions = new Map(demoQuestions.map((question) => [question.question, question]));

interface Listed {
  readonly message_id: string;
  readonly subject: string;
  readonly date: string;
}

const plain = (subject: string) =>
  subject
    .toLowerCase()
    .replace(/^(\s*(re|fw|fwd)\s*:)+/, "")
    .trim();

export class PlantedAgent {
  /** Whether the failure was planted, per mode and question. */
  readonly planted = new Map<string, boolean>();

  /** The model's name is the mode. */
  reply({ model, question, turn, messages, results }: ParsedRequest): ProviderReply {
    const mode = model as PlantedMode;
    const text = questionIn(question);
    const key = `${mode} ${text}`;
    if (!this.planted.has(key)) this.planted.set(key, (questions.get(text)?.id ?? 1) % 2 === 0);
    const bad = this.planted.get(key) === true;
    const search = call("email_search", { query: text, limit: 20, inbox_id: questions.get(text)?.inbox_address ?? "" });
    if (turn === 0) return search;
    const found = messages.flatMap((message) => (message.role === "tool" ? [parsedResult(message.content)] : []));
    const listed = ((found[0] as { emails?: Listed[] }).emails ?? []).toSorted((a, b) => (a.date < b.date ? 1 : -1));
    if (turn === 1) {
      if (bad && mode === "premature_abstention") return answer("I don't know.", []);
      if (bad && mode === "repeated_search") return search;
      const first = this.toOpen(key, mode, bad, listed);
      return call("email_get", { message_id: first.message_id });
    }
    const opened = results.flatMap(({ content }) => parsedResult(content))[0] as { message_id?: string; body?: string };
    if (opened.message_id === undefined) return call("email_get", { message_id: listed[0]?.message_id ?? "" });
    const number = /(?<![\w.,:$/-])\d+(?![\w.,:/-])/.exec(opened.body ?? "")?.[0];
    const said = number === undefined ? "It is as the mail says." : `The mail says ${number}.`;
    if (bad && mode === "invented_number") return answer("The mail says 987,654.32 in all.", [opened.message_id]);
    if (bad && mode === "unread_source") {
      const other = listed.find(({ message_id: id }) => id !== opened.message_id);
      return answer(said, [other?.message_id ?? "<none@x>"]);
    }
    const last = answer(said, [opened.message_id]);
    return bad && mode === "cut_off_answer" ? { ...last, finishReason: "length" } : last;
  }

  /**
   * The newest email found. For the planted older email, the oldest email of a thread with several, if there is one.
   */
  private toOpen(key: string, mode: PlantedMode, bad: boolean, listed: readonly Listed[]): Listed {
    const [newest = { message_id: "<none@x>", subject: "", date: "" }] = listed;
    if (!bad || mode !== "older_mail") return newest;
    const older = listed.findLast((mail) =>
      listed.some((other) => plain(other.subject) === plain(mail.subject) && other.date > mail.date),
    );
    if (older === undefined) this.planted.set(key, false);
    return older ?? newest;
  }
}

function parsedResult(content: string) {
  return JSON.parse(withoutDataMarks(content));
}

/** The prompt contains more lines than the question. */
function questionIn(message: string): string {
  return message.split("\n").findLast((line) => line.trim() !== "") ?? message;
}

function call(name: string, args: JsonValue): ProviderReply {
  return { toolCalls: [{ name, arguments: args }] };
}

function answer(text: string, sources: readonly string[]): ProviderReply {
  return call("return_final_answer", { answer: text, sources });
}
