// Compares the emails that an agent selected with those that the task asks for. The scores and every page that shows a
// selection use this comparison.
import type { MatchedEmail, Selection } from "../tasks/selection.js";
import type { SameMail } from "./scorer-entry.js";

/**
 * Returns each email once: the selected ones in the agent's order, then the missed ones. Copies of an email count as
 * one.
 */
export function matchSelection(
  { emails }: Selection,
  sources: readonly string[],
  sameMail: SameMail,
): readonly MatchedEmail[] {
  const gold = new Map(emails.flatMap((email) => email.message_ids.map((id) => [sameMail(id), email] as const)));
  const seen = new Set<unknown>();
  const isNew = (email: unknown) => !seen.has(email) && seen.add(email);
  const selected = sources.flatMap((id): MatchedEmail[] => {
    const email = gold.get(sameMail(id));
    if (!isNew(email ?? sameMail(id))) return [];
    return email === undefined
      ? [{ state: "false alarm", message_id: id, evidence: [] }]
      : [{ state: "hit", message_id: id, evidence: email.evidence }];
  });
  const missed = emails.filter(isNew).map(({ message_ids: [id = ""], evidence }): MatchedEmail => {
    return { state: "miss", message_id: id, evidence };
  });
  return [...selected, ...missed];
}
