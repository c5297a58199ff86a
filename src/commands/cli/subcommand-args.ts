import { UserError } from "../../domain/errors.js";

/** A flag that an action does not take would be a wish that nobody hears. */
export function refuseOthers(
  command: string,
  action: string,
  flags: Readonly<Record<string, unknown>>,
  taken: readonly string[],
  known: readonly string[],
): void {
  const other = known.find(
    (name) => name !== "action" && !taken.includes(name) && flags[name] !== undefined && flags[name] !== false,
  );
  if (other === undefined) return;
  const isWord = ["id", "other", "arguments"].includes(other);
  const written = isWord ? `"${flags[other]}"` : `--${other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new UserError(
    "flags_contradict",
    `${command} ${action} does not take ${written}.`,
    `See art-e ${command} --help.`,
  );
}

/** The word after the action. */
export function needId(id: string | undefined, command: string, action: string): string {
  if (id !== undefined) return id;
  const what = action === "import" ? "a FILE" : "an ID";
  throw new UserError("flag_missing", `${command} ${action} needs ${what}.`, `art-e ${command} list shows them.`);
}

/** The word after the id. */
export function needOther(other: string | undefined, action: string): string {
  if (other !== undefined) return other;
  const what = action === "clone" ? "the new ID" : "a TOOL";
  throw new UserError(
    "flag_missing",
    `agents ${action} needs ${what} after the agent's ID.`,
    "See art-e agents --help.",
  );
}
