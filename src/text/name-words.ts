/** An email to more recipients than this is not found by their names. */
const MAX_NAMED_RECIPIENTS = 50;

/** The searchable names of an email: words of the addresses before and after the @, and display names. */
export function nameText(sender: string, recipients: readonly string[], displayNames: string): string {
  const words = new Set<string>();
  for (const address of [sender, ...recipients.slice(0, MAX_NAMED_RECIPIENTS)]) {
    const [local = "", domain = ""] = address.split("@");
    words.add(local);
    words.add(domain.split(".").slice(0, -1).join(" "));
  }
  return `${[...words].join(" ")} ${displayNames}`;
}
