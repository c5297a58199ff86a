// Criteria: the failure modes that traces are labeled for. Users see them as modes.
import { z } from "zod";
import type { Db } from "../store/open-store.js";

export interface Criterion {
  readonly name: string;
  /** A person's sentence about a good trace, or null if missing. */
  readonly sentence: string | null;
  /** Number of labeled traces. */
  readonly labeled: number;
}

/** The default criterion: whether the answer is good. */
export const OVERALL = "overall";

/** Name of a failure mode that traces are labeled for, or `overall` for none in particular. */
export const criterionNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "expected a name of lowercase letters, digits and _, such as invented_numbers");

/** Returns the flag that selects a mode in a command line, or an empty string for the default. */
export function modeFlag(mode: string): string {
  return mode === OVERALL ? "" : ` --mode ${mode}`;
}

export const sentenceSchema = z.string().trim().min(1, "expected a sentence").max(1_000);

/** Lists the criteria with a sentence or labels. */
export function listCriteria(db: Db): Criterion[] {
  return db
    .prepare(
      `SELECT name, max(sentence) AS sentence, sum(labeled) AS labeled FROM (
         SELECT name, sentence, 0 AS labeled FROM eval_criteria
         UNION ALL
         SELECT criterion, NULL, count(DISTINCT trace_id) FROM eval_labels GROUP BY criterion)
       GROUP BY name ORDER BY name`,
    )
    .all() as Criterion[];
}

/** Returns the sentence of a criterion, or null if it is missing. */
export function criterionSentence(db: Db, name: string): string | null {
  return (db.prepare("SELECT sentence FROM eval_criteria WHERE name = ?").pluck().get(name) as string) ?? null;
}

/** Writes or replaces a sentence. Labels are kept, but tests that used them become stale if the sentence changes. */
export function writeCriterion(db: Db, name: string, sentence: string): void {
  db.prepare(
    `INSERT INTO eval_criteria (name, sentence, changed_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET sentence = excluded.sentence, changed_at = excluded.changed_at`,
  ).run(name, sentence, new Date().toISOString());
}
