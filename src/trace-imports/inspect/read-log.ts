import { FACTS_KEY, fromTraceFacts } from "../../domain/runs/trace-facts.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import { NamedCounts } from "../../statistics/named-counts.js";
import { DescribedTools } from "../described-tools.js";
import type { ImportedTrace, ImportSource } from "../imported-trace.js";
import { checkValue } from "../parse-line.js";
import { parseTrace } from "../parse-trace.js";
import { headerFacts } from "./header-facts.js";
import { headerSchema, type LogHeader, type Sample, sampleSchema } from "./log-schema.js";
import { toMessages, withAttachments } from "./read-messages.js";
import { toScores } from "./read-scores.js";
import { TaskNumbers } from "./task-numbers.js";
import { toTrace } from "./to-trace.js";

/** Unchecked JSON of a log: its header, then its samples. */
export type LogPart =
  | { readonly header: unknown; readonly where: string }
  | { readonly sample: unknown; readonly where: string };

/** Inspect's logs, of this program, whose samples have the whole trace in their store, and of others. */
export function readLog(parts: AsyncIterable<LogPart>): ImportSource {
  const tools = new DescribedTools();
  const lacking = new NamedCounts();
  const numbers = new TaskNumbers();
  let header: LogHeader | null = null;
  return {
    async *traces() {
      for await (const part of parts) {
        const { where } = part;
        if ("header" in part) {
          header = checkValue(headerSchema, part.header, where);
          continue;
        }
        if (header === null) throw new Error("a log's header is read before its samples");
        const sample = checkValue(sampleSchema, part.sample, where);
        tools.add(sample.events.flatMap((event) => event.tools ?? []));
        yield { where, trace: ownTrace(sample, where, lacking) ?? otherTrace(sample, part.sample, header, where) };
      }
    },
    tools: () => tools.list(),
    run: () => (header === null ? {} : headerFacts(header)),
    lacking: () => lacking.counts,
  };

  function otherTrace(sample: Sample, value: unknown, head: LogHeader, where: string): ImportedTrace {
    const attachments = sample.attachments ?? {};
    const isWhole = Object.keys(attachments).length === 0;
    const whole = isWhole ? sample : checkValue(sampleSchema, withAttachments(value, attachments), where);
    return toTrace(whole, head, numbers, lacking);
  }
}

/** Null where the sample is of another program. */
function ownTrace({ store, messages, scores }: Sample, where: string, lacking: NamedCounts): ImportedTrace | null {
  const text = store?.[FACTS_KEY];
  if (typeof text !== "string") return null;
  const facts = fromTraceFacts(parseJsonOrNull(text), toMessages(messages));
  if (facts === null) return null;
  const trace = parseTrace(facts, `${where}, store.${FACTS_KEY}`);
  const later = Object.entries(scores ?? {}).filter(([name]) => !Object.hasOwn(trace.scores, name));
  if (later.length === 0) return trace;
  // Inspect scored it again.
  return { ...trace, scores: { ...trace.scores, ...toScores(Object.fromEntries(later), lacking) } };
}
