// A person at the terminal who answers tasks with the same tools as an agent.
import { z } from "zod";
import { ModelError, type ToolCall } from "../../models/model.js";
import { NO_USAGE } from "../../models/usage.js";
import { type Person, PersonLeft } from "../../platform/app-context.js";
import type { JsonValue } from "../../platform/json.js";
import type { Tool, ToolContext } from "../../tools/tool.js";
import { type AgentBackend, type AgentTask, mailboxOf } from "../agent-backend.js";
import { callTool } from "../agent-loop.js";
import { type Rollout, rolloutOf, type Transcript } from "../rollout.js";

/**
 * A person as the agent. This baseline shows how hard the questions are for people. The person sees the question, the
 * mailbox and the date, searches and reads email with the same tools as other agents, and answers with sources. Each
 * step counts as a turn, and its tool call is traced.
 */
interface HumanAgent {
  readonly person: Person;
  /** Returns tools whose call context binds them to the task's mailbox. */
  toolsFor(context: ToolContext): readonly Tool[];
}

interface Timing {
  readonly startedAt: string;
  readonly latencyMs: number;
}

export function humanAgent({ person, toolsFor }: HumanAgent): AgentBackend {
  let isFirst = true;
  return {
    async answer(task, transcript) {
      transcript.messages.push({ role: "user", content: task.instruction });
      const tools = new Map(toolsFor(task.context).map((tool) => [tool.id, tool]));
      if (isFirst) person.show(HELP);
      isFirst = false;
      try {
        return await new Session(person, tools, task, transcript).run();
      } catch (error) {
        if (!(error instanceof PersonLeft)) throw error;
        throw new ModelError("unavailable", error.message, { retryable: false });
      }
    },
  };
}

const HELP = [
  "search WORDS    search the mailbox",
  "read N          read email N of the list, or the email with that message id",
  "more            continue reading the same email",
  "answer TEXT     answer the question, then enter its sources",
  "unknown         the mailbox does not have the answer",
  "question        show the question again",
  "help            show these commands",
  "Ctrl-C          stop; art-e run --resume latest continues",
].join("\n");

const hitsSchema = z.object({
  emails: z.array(
    z.looseObject({
      message_id: z.string(),
      subject: z.string().catch(""),
      sender: z.string().catch(""),
      date: z.string().nullable().catch(null),
      snippet: z.string().catch(""),
    }),
  ),
});

const emailSchema = z.looseObject({
  message_id: z.string(),
  subject: z.string().catch(""),
  sender: z.string().catch(""),
  to: z.array(z.string()).catch([]),
  date: z.string().nullable().catch(null),
  body: z.string().catch(""),
  next_offset: z.number().nullish().catch(null),
});

/** A person's session for one question. */
class Session {
  /** Message ids in the order of the numbers shown to the person, which start at 1. */
  private readonly listed: string[] = [];
  private rest: { readonly messageId: string; readonly offset: number } | null = null;
  private calls = 0;

  constructor(
    private readonly person: Person,
    private readonly tools: ReadonlyMap<string, Tool>,
    private readonly task: AgentTask,
    private readonly transcript: Transcript,
  ) {}

  async run(): Promise<Rollout> {
    this.showQuestion();
    for (;;) {
      const startedAt = new Date().toISOString();
      const began = performance.now();
      const line = (await this.person.ask("> ", this.task.context.signal)).trim();
      const [, command = "", words = ""] = /^(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
      const took = () => ({ startedAt, latencyMs: performance.now() - began });
      switch (command.toLowerCase()) {
        case "":
          break;
        case "search":
        case "s":
          if (words === "") this.person.show("search WORDS: enter some words.");
          else await this.search(words, took());
          break;
        case "read":
        case "r":
          await this.read(words, 0, took());
          break;
        case "more":
        case "m":
          if (this.rest === null) this.person.show("There is no further text.");
          else await this.read(this.rest.messageId, this.rest.offset, took());
          break;
        case "answer":
        case "a": {
          if (words === "") {
            this.person.show("answer TEXT: enter the answer.");
            break;
          }
          const sources = await this.askSources();
          this.endTurn(took(), words);
          return rolloutOf(this.transcript, words, sources);
        }
        case "unknown":
          this.endTurn(took(), ABSTENTION);
          return rolloutOf(this.transcript, ABSTENTION, []);
        case "question":
        case "q":
          this.showQuestion();
          break;
        default:
          this.person.show(HELP);
      }
    }
  }

  private showQuestion(): void {
    const { inbox_address, query_date } = mailboxOf(this.task);
    this.person.show(`\nMailbox of ${inbox_address}, as of ${query_date}\n${this.task.instruction}\n`);
  }

  private async search(query: string, timing: Timing): Promise<void> {
    const value = await this.call("email_search", { query }, timing);
    const hits = hitsSchema.safeParse(value).data?.emails ?? [];
    if (value !== null && hits.length === 0) this.person.show("Nothing was found.");
    for (const { message_id, subject, sender, date, snippet } of hits) {
      this.person.show(
        `${this.numberOf(message_id)}  ${date?.slice(0, 10) ?? "no date"}  ${subject} (${sender})\n     ${snippet}`,
      );
    }
  }

  private async read(which: string, offset: number, timing: Timing): Promise<void> {
    const messageId = this.idOf(which);
    if (messageId === null) {
      this.person.show("read N: enter the number of an email in the list, or a message id.");
      return;
    }
    const email = emailSchema.safeParse(await this.call("email_get", { message_id: messageId, offset }, timing)).data;
    if (email === undefined) return;
    const head = `${email.subject}\nFrom ${email.sender} to ${email.to.join(", ")}, ${email.date ?? "no date"}\n`;
    this.person.show(`\n[${this.numberOf(email.message_id)}] ${offset === 0 ? head : ""}\n${email.body}\n`);
    this.rest = email.next_offset == null ? null : { messageId, offset: email.next_offset };
    if (this.rest !== null) this.person.show("(more: the rest of this email)");
  }

  private async askSources(): Promise<string[]> {
    for (;;) {
      const line = await this.person.ask("Sources (numbers or message ids, or nothing): ", this.task.context.signal);
      const words = line.split(/[\s,]+/).filter((word) => word !== "");
      const sources = words.map((word) => this.idOf(word));
      const unknown = words[sources.indexOf(null)];
      if (unknown === undefined) return sources.filter((source) => source !== null);
      this.person.show(`${unknown} is not the number of a listed email.`);
    }
  }

  /**
   * Returns the message id for a number in the list, or null if the number is not listed or the word is empty. Any
   * other word is returned as a message id.
   */
  private idOf(word: string): string | null {
    if (/^\d+$/.test(word)) return this.listed[Number(word) - 1] ?? null;
    return word === "" ? null : word;
  }

  private numberOf(messageId: string): number {
    const index = this.listed.indexOf(messageId);
    return index === -1 ? this.listed.push(messageId) : index + 1;
  }

  /** Calls a tool. Returns its value, or null after showing an error to the person. */
  private async call(name: string, args: Record<string, JsonValue>, timing: Timing): Promise<JsonValue> {
    const { transcript, task } = this;
    const call: ToolCall = { id: `step_${++this.calls}`, name, arguments: args };
    const turn = transcript.turns.length;
    this.endTurn(timing, "", [call]);
    const { message, record, result } = await callTool(call, turn, this.tools, task.context);
    transcript.messages.push(message);
    transcript.toolCalls.push(record);
    if (result.ok) return record.result;
    this.person.show(result.error);
    return null;
  }

  /** Records a step as a turn. Its latency is the time until the person finished typing, and its cost is 0. */
  private endTurn(timing: Timing, content: string, toolCalls: ToolCall[] = []): void {
    const finishReason = toolCalls.length > 0 ? "tool_calls" : "stop";
    this.transcript.messages.push({ role: "assistant", content, toolCalls });
    this.transcript.turns.push({
      ...timing,
      finishReason,
      rawFinishReason: finishReason,
      usage: NO_USAGE,
      costUsd: 0,
      retries: [],
      cached: false,
    });
  }
}

const ABSTENTION = "I don't know";
