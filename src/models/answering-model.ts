import { stripControls } from "../platform/strings.js";
import type { Completion, Model } from "./model.js";
import { isProvider, isRemote } from "./model-names.js";

/** Suffixes of snapshots and aliases: dates, Google's version numbers and `-latest`. */
const SNAPSHOT = /[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3}|latest)$/;

/** Maximum number of notes, because a server might report a new model in each reply. */
const MAX_REPORTED = 20;

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

/** Decorates a model: reports each different model that appears in its replies, once per model. */
export function warnOfOtherModel(model: Model, note: (text: string) => void): Model {
  if (!isAskedByName(model.id)) return model;
  const reported = new Set<string>();
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      const reply = await model.complete(request, signal);
      const { model: answeredBy } = reply;
      if (answeredBy !== undefined && !reported.has(answeredBy) && reported.size < MAX_REPORTED) {
        reported.add(answeredBy);
        if (isOtherModel(model.id, answeredBy)) note(otherModelNote(model.id, answeredBy));
      }
      return reply;
    },
  };
}

function otherModelNote(requested: string, answeredBy: string): string {
  return stripControls(
    `Requested ${requested}, but replies are from ${answeredBy}. The provider might have substituted another model.`,
  );
}

/**
 * Returns false for replay and offline models, whose names this program defines, and for external agents, whose model
 * is unknown.
 */
function isAskedByName(id: string): boolean {
  const provider = id.slice(0, id.indexOf("/"));
  return isProvider(provider) && isRemote(provider);
}
