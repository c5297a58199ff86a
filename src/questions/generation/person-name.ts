/**
 * The name in an address: `virginia.thompson@enron.com` -> `Virginia Thompson`; null where the part before the @ is
 * not two or more words of letters.
 */
export function personName(address: string): string | null {
  const [local = ""] = address.split("@");
  const words = local.split(/[._]+/).filter((word) => word !== "");
  const isName = words.length >= 2 && words.every((word) => /^\p{L}+(?:-\p{L}+)*$/u.test(word));
  if (!isName || !words.some((word) => word.length > 2)) return null;
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
}
