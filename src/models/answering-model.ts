// Which models answered: counts per name, and the note about a reply of another model than requested.
import { z } from "zod";
import { stripControls } from "../platform/control-characters.js";
import { isProvider, isRemote } from "./model-names.js";

/** Number of replies per model name. */
export const answeredBySchema = z.record(z.string(), z.number().int().positive()).readonly();

export type AnsweredBy = z.output<typeof answeredBySchema>;

export function addReplies(a: AnsweredBy, b: AnsweredBy): AnsweredBy {
  const sums = new Map(Object.entries(a));
  for (const [model, replies] of Object.entries(b)) sums.set(model, (sums.get(model) ?? 0) + replies);
  return Object.fromEntries(sums);
}

/** Counts turns or votes per model name. */
export function repliesBy(replies: readonly { readonly model?: string }[]): AnsweredBy {
  return replies.reduce<AnsweredBy>(
    (sum, { model }) => (model === undefined ? sum : addReplies(sum, { [model]: 1 })),
    {},
  );
}

/** Returns the property for a result, or no property if no reply specified its model. */
export function answeredByField(answeredBy: AnsweredBy): { readonly answeredBy?: AnsweredBy } {
  return Object.keys(answeredBy).length === 0 ? {} : { answeredBy };
}

/** Suffixes of snapshots and aliases: dates, Google's version numbers and `-latest`. */
const SNAPSHOT = /[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3}|latest)$/;

/**
 * Returns whether a reply is from a different model than requested. A name matches its dated snapshot, the same name
 * with a maker prefix, and the same name with dots instead of dashes. A moving alias (`-latest`) matches any version.
 * `model` is `provider/name`.
 */
export function isOtherModel(model: string, answeredBy: string): boolean {
  const a = plainName(model);
  const b = plainName(answeredBy);
  if (a === b || /(^|-)latest$/.test(a)) return false;
  const [snapshotA, snapshotB] = [SNAPSHOT.test(a), SNAPSHOT.test(b)];
  // Two snapshots with different names are different models.
  if (snapshotA && snapshotB) return true;
  return familyOf(a) !== familyOf(b);
}

/** Strips the folder or maker prefix, and the variant suffix of a router or local server. */
function plainName(name: string): string {
  const bare = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const variant = bare.startsWith("ft:") ? bare : bare.replace(/:[a-z0-9._-]*$/, "");
  return variant.replaceAll(".", "-");
}

function familyOf(name: string): string {
  return name.replace(SNAPSHOT, "").replace(/-0$/, "");
}

/** Returns the models in replies that differ from the requested model. Always empty for offline and replay models. */
export function otherModels(requested: string, replies: Readonly<Record<string, number>> = {}): string[] {
  return isAskedByName(requested) ? Object.keys(replies).filter((model) => isOtherModel(requested, model)) : [];
}

/** Returns a note if a reply is from a different model than requested. */
export function otherModelNotes(requested: string, answeredBy: string | undefined): string[] {
  if (answeredBy === undefined || !isAskedByName(requested) || !isOtherModel(requested, answeredBy)) return [];
  return [
    stripControls(
      `Requested ${requested}, but replies are from ${answeredBy}. The provider might have substituted another model.`,
    ),
  ];
}

/**
 * Returns false for replay and offline models, whose names this program defines, and for external agents, whose model
 * is unknown.
 */
function isAskedByName(id: string): boolean {
  const provider = id.slice(0, id.indexOf("/"));
  return isProvider(provider) && isRemote(provider);
}
