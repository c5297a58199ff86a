/** Maximum number of recipients per email whose names are searchable. */
const MAX_NAMED_RECIPIENTS = 50;

/** Returns the names that an email can be found by without its header: its addresses without their domains. */
export function nameText(sender: string, recipients: readonly string[]): string {
  const addresses = [sender, ...recipients.slice(0, MAX_NAMED_RECIPIENTS)];
  return [...new Set(addresses.map((address) => address.split("@")[0] ?? ""))].join(" ");
}
