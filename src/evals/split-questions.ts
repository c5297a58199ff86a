// Divides the labeled questions into a training half and a held-out half.
import { sha256Of } from "../platform/sha256.js";
import type { Db } from "../store/open-store.js";
import { askedOf } from "../traces/trace.js";
import type { EvaluatedTrace } from "./definition.js";

/** Evals are made from the training half of the labeled questions and validated on the held-out half. */
export type Half = "training" | "heldout";

interface KnownQuestion {
  readonly question: string;
  readonly half: Half;
}

/** Traces of one question. */
interface Group {
  question: string;
  half: Half | null;
  readonly keys: Set<string>;
  readonly traces: { readonly id: string; readonly badFor: readonly string[] }[];
}

/** A trace with the criteria for which it is labeled bad. */
export interface TraceToAssign {
  readonly trace: EvaluatedTrace;
  readonly badFor: readonly string[];
}

/**
 * Returns keys that identify a trace's question, starting with the key of its wording. Ids are not used, because
 * another dataset can contain the same question with a different id. Two questions with the same gold answer and gold
 * emails count as the same question. So do the two wordings of a suite task.
 */
export function questionKeys(trace: EvaluatedTrace): [string, ...string[]] {
  const words = sha256Of(`words ${plain(askedOf(trace))}`);
  if (trace.kind === "chat") return [words];
  if (trace.kind === "suite") {
    const { counterpart } = trace.task;
    return counterpart === null
      ? [words]
      : [words, sha256Of(`pair ${[String(trace.taskId), String(counterpart)].sort().join(" ")}`)];
  }
  const { answer, message_ids: ids } = trace.task;
  if (ids.length === 0 || answer.trim() === "") return [words];
  return [words, sha256Of(`gold ${plain(answer)} ${[...ids].sort().join(" ")}`)];
}

function plain(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

function findKey(db: Db, key: string): KnownQuestion | undefined {
  return db.prepare("SELECT question, half FROM eval_questions WHERE key = ?").get(key) as KnownQuestion | undefined;
}

/**
 * Of the first traces of a kind, this many go to the training half per this many held-out ones: choosing an eval needs
 * four bad traces, testing it seven. Later traces make the test more certain, so most of them are held out.
 */
const FIRST = { training: 4, heldout: 7 };
const LATER_HELD_OUT = 3;

/** Counts the traces of each half per criterion. */
export class HalfCounts {
  private readonly countsByKind = new Map<string, Record<Half, number>>();

  add(half: Half, badFor: readonly string[]): void {
    for (const kind of kindsOf(badFor)) {
      const counts = this.countsByKind.get(kind) ?? { training: 0, heldout: 0 };
      counts[half]++;
      this.countsByKind.set(kind, counts);
    }
  }

  /**
   * Returns how far the training half exceeds its part, summed over the criteria for which a trace is bad. The unit is
   * a 21st of a trace, so that the result is an integer.
   */
  surplus(badFor: readonly string[]): number {
    return kindsOf(badFor).reduce((sum, kind) => {
      const { training, heldout } = this.countsByKind.get(kind) ?? { training: 0, heldout: 0 };
      const first = Math.min(heldout, FIRST.heldout);
      const due = first * FIRST.training * LATER_HELD_OUT + (heldout - first) * FIRST.heldout;
      return sum + training * FIRST.heldout * LATER_HELD_OUT - due;
    }, 0);
  }
}

/** Traces that are good for every criterion are a separate kind. No criterion has an empty name. */
function kindsOf(badFor: readonly string[]): readonly string[] {
  return badFor.length === 0 ? [""] : badFor;
}

/**
 * Assigns the questions of labeled traces to a half, permanently and for every criterion, because traces read for one
 * criterion must not be used to validate another. Each question goes to the half that lacks bad traces for the same
 * criteria, because a coding pass labels several criteria together (minimization, Pocock and Simon 1975). If neither
 * lacks them, a hash decides. Questions are assigned in the order of their hash, so the held-out half stays a random
 * sample.
 */
export function assignHalves(db: Db, labeled: Iterable<TraceToAssign>, counts: HalfCounts): void {
  const groups = groupByQuestion(db, labeled);
  const count = ({ traces }: Group, half: Half) => {
    for (const { badFor } of traces) counts.add(half, badFor);
  };
  for (const group of groups) if (group.half !== null) count(group, group.half);
  const badForAny = ({ traces }: Group) => [...new Set(traces.flatMap(({ badFor }) => badFor))];
  const open = groups.filter(({ half }) => half === null).sort((a, b) => (a.question < b.question ? -1 : 1));
  const isBad = (group: Group) => badForAny(group).length > 0;
  for (const group of [...open.filter(isBad), ...open.filter((one) => !isBad(one))]) {
    const surplus = counts.surplus(badForAny(group));
    const isEven = /[02468ace]$/.test(group.question);
    group.half = surplus > 0 || (surplus === 0 && isEven) ? "heldout" : "training";
    count(group, group.half);
  }
  const addKey = db.prepare("INSERT OR IGNORE INTO eval_questions (key, question, half) VALUES (?, ?, ?)");
  const addTrace = db.prepare("INSERT OR IGNORE INTO eval_traces (trace_id, question, half) VALUES (?, ?, ?)");
  for (const { question, half, keys, traces } of groups) {
    for (const key of keys) addKey.run(key, question, half);
    for (const { id } of traces) addTrace.run(id, question, half);
  }
}

/**
 * Deals questions into parts, 0 to `parts` - 1, in the order of a hash with a seed: first those of a kind, so that each
 * part gets nearly as many of them, then the others.
 */
export function dealByHash(
  questions: Iterable<string>,
  isOfKind: (question: string) => boolean,
  parts: number,
  seed: number,
): ReadonlyMap<string, number> {
  const order = shuffleByHash([...new Set(questions)], seed);
  const ofKindFirst = [...order.filter(isOfKind), ...order.filter((question) => !isOfKind(question))];
  return new Map(ofKindFirst.map((question, i) => [question, i % parts]));
}

/** Returns a random order that depends only on the ids and the seed. Ids keep their order if others are removed. */
export function shuffleByHash(ids: readonly string[], seed: number): string[] {
  const hashed = ids.map((id) => `${sha256Of(`${seed} ${id}`)} ${id}`).sort();
  return hashed.map((one) => one.slice(one.indexOf(" ") + 1));
}

function groupByQuestion(db: Db, labeled: Iterable<TraceToAssign>): Group[] {
  const groups = new Set<Group>();
  const byQuestion = new Map<string, Group>();
  const byKey = new Map<string, Group>();
  for (const { trace, badFor } of labeled) {
    const keys = questionKeys(trace);
    for (const key of keys) {
      const known = byKey.has(key) ? undefined : findKey(db, key);
      if (known !== undefined) {
        const same = byQuestion.get(known.question);
        const group = same ?? { ...known, keys: new Set(), traces: [] };
        byQuestion.set(known.question, group);
        groups.add(group);
        byKey.set(key, group);
      }
    }
    const matchingGroups = [...new Set(keys.flatMap((key) => byKey.get(key) ?? []))];
    // A trace that matches questions in both halves counts as seen in training.
    const [group = { question: keys[0], half: null, keys: new Set<string>(), traces: [] }] = HALVES.flatMap((half) =>
      matchingGroups.filter((one) => one.half === half),
    );
    for (const other of matchingGroups) {
      if (other === group || other.half !== null) continue;
      group.traces.push(...other.traces);
      for (const key of other.keys) group.keys.add(key);
      groups.delete(other);
    }
    groups.add(group);
    group.traces.push({ id: trace.traceId, badFor });
    for (const key of keys) group.keys.add(key);
    for (const key of group.keys) byKey.set(key, group);
  }
  return [...groups];
}

const HALVES = ["training", "heldout", null] as const;
