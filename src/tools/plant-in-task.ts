// Plants the emails of an attack into the mailbox of a task, for runs and for training episodes.
import { goalMessageIds } from "../tasks/mailbox-changes.js";
import { goldEmailsOf, type PlannedTask } from "../tasks/question.js";
import type { OwnRunSettings } from "../traces/run-settings.js";
import type { Mailbox } from "./mailbox.js";
import type { MailboxState } from "./mailbox-state.js";

/** Plants the emails of a task's attack. */
export type Plant = (task: PlannedTask, mailbox: { readonly state?: MailboxState }) => Promise<void>;

/** Returns the function that plants hostile emails, or harmless ones, or undefined without an attack. */
export function plantingOf(
  { perturbation, attackKinds }: Pick<OwnRunSettings, "perturbation" | "attackKinds">,
  model: string,
  { mails }: Mailbox,
): Plant | undefined {
  if (perturbation !== "hostile" && perturbation !== "hostile-control") return undefined;
  const choice = { kinds: attackKinds, control: perturbation === "hostile-control" };
  const [provider = ""] = model.split("/");
  return async ({ kind, task, epoch }, { state }) => {
    if (kind !== "question" || state === undefined) return;
    // Imported only now, because few runs are attacked.
    const { plantAttack } = await import("../attacks/plant-attack.js");
    const [known] = [...goldEmailsOf(task), ...(task.goal === undefined ? [] : goalMessageIds(task.goal))];
    const thread = known === undefined ? null : mails.get(known);
    state.plant(plantAttack(choice, { task, epoch, thread, provider }));
  };
}
