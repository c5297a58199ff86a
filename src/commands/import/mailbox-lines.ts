import { stripControls } from "../../platform/strip-controls.js";
import { count } from "../../reports/text/format-number.js";
import { programCall } from "../cli/cli-invocation.js";
import { DEFAULT_DB, type Settings } from "../cli/settings.js";

interface Mailbox {
  readonly address: string;
  readonly mails: number;
}

/** The largest mailboxes, of so many in all, and a command that searches the first; none where there is no mail. */
export function mailboxLines(mailboxes: readonly Mailbox[], total: number, { db, env }: Settings): string[] {
  const [first] = mailboxes;
  if (first === undefined) return [];
  const width = Math.max(...mailboxes.map(({ address }) => address.length));
  const sizes = mailboxes.map(({ address, mails }) => {
    const text = mails === 1 ? "1 mail" : `${count(mails)} mails`;
    return `  ${stripControls(address.padEnd(width))}  ${text}`;
  });
  const others = total - mailboxes.length;
  const flag = db === DEFAULT_DB ? "" : ` --db ${db}`;
  return [
    "Mailboxes:",
    ...sizes,
    ...(others > 0 ? [`  and ${count(others)} more`] : []),
    `Next: ${programCall(env)} search ${stripControls(first.address)} WORDS${flag}`,
  ];
}
