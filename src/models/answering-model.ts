import type { Completion, Model } from "../domain/models/model.js";
import { isProvider, isRemote } from "./provider-names.js";

/** Ends of names that tell a snapshot or an alias of it: days as makers write them, Google's numbers, Anthropic's `-0`. */
const SNAPSHOT = /[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3}|latest)$/;

/** A server may name a new one in each reply. */
const MAX_REPORTED = 20;

/**
 * Whether a reply names another model than was asked for. Equal are a name and its dated snapshot, with and without the maker
 * before it, in dots and in dashes; an alias that moves (`-latest`) stands for whatever it names. `asked` is `provider/name`.
 */
export function isOtherModel(asked: string, named: string): boolean {
  const a = plainName(asked);
  const b = plainName(named);
  if (a === b || /(^|-)latest$/.test(a)) return false;
  const [snapshotA, snapshotB] = [SNAPSHOT.test(a), SNAPSHOT.test(b)];
  // Two snapshots are two models.
  if (snapshotA && snapshotB) return true;
  return familyOf(a) !== familyOf(b);
}

/** Without folders and makers before it, and without a router's or a local server's variant behind it. */
function plainName(name: string): string {
  const bare = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const variant = bare.startsWith("ft:") ? bare : bare.replace(/:[a-z0-9._-]*$/, "");
  return variant.replaceAll(".", "-");
}

function familyOf(name: string): string {
  return name.replace(SNAPSHOT, "").replace(/-0$/, "");
}

/** Of the models that replies name those that are not the one asked; none where nothing was asked of a server. */
export function otherModels(asked: string, named: Readonly<Record<string, number>> = {}): string[] {
  return isAskedByName(asked) ? Object.keys(named).filter((model) => isOtherModel(asked, model)) : [];
}

/** What is to be told of a reply by another model. */
export function otherModelNote(asked: string, named: string): string {
  return `${asked} was asked, and replies say they are by ${named}: its provider may have put another model in its place.`;
}

/** The same model; `onOther` is told once of each other model that a reply of it names. */
export function watchAnsweringModel(model: Model, onOther: (named: string) => void): Model {
  if (!isAskedByName(model.id)) return model;
  const seen = new Set<string>();
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      const reply = await model.complete(request, signal);
      const { model: named } = reply;
      if (named !== undefined && !seen.has(named) && seen.size < MAX_REPORTED) {
        seen.add(named);
        if (isOtherModel(model.id, named)) onOther(named);
      }
      return reply;
    },
  };
}

/** Recorded replies and the baseline are asked by a name of this program's own; of agents elsewhere nobody knows their model. */
function isAskedByName(id: string): boolean {
  const provider = id.slice(0, id.indexOf("/"));
  return isProvider(provider) && isRemote(provider);
}
