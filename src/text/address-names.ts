/** The names by which an email is found without its header: those in the addresses of its sender and recipients. */

/** An email to more recipients than this is not found by the names of the others. */
const MAX_NAMED_RECIPIENTS = 50;

/** The searchable names on an email: its addresses without their domains. */
export function nameText(sender: string, recipients: readonly string[]): string {
  const addresses = [sender, ...recipients.slice(0, MAX_NAMED_RECIPIENTS)];
  return [...new Set(addresses.map((address) => address.split("@")[0] ?? ""))].join(" ");
}
