import { personName } from "../person-name.js";

/** A line that closes a mail; what follows it is name, office and telephone. */
const CLOSING =
  /^(?:many |kind |best |warm |with (?:kind |best )?)?(?:thanks(?: (?:again|in advance|so much|a lot))?|thank you|thx|regards|best|best wishes|sincerely|yours|cheers|love|mfg|gruß|grüße)[\s,.!-]*$/i;

/** After a closing line come no more lines than these: else it closed a part only. */
const MAX_SIGNATURE_LINES = 12;

/** Headers of another mail where no rule or "From:" stands before them, as programs such as Lotus Notes quote. */
const QUOTED_HEADER =
  /^(?:(?:received|sent|date|to|cc): .*|.{0,60}\b\d{1,2}\/\d{1,2}\/\d{2,4}\s+\d{1,2}:\d{2}(?::\d{2})?\s?[ap]m)\s*$/im;

/**
 * What a person wrote, without the block that stands below all his mails and what programs quote by headers alone.
 * @param own without other quotations (`ownText`)
 */
export function stripSignature(own: string, sender: string): string {
  const quoted = own.search(QUOTED_HEADER);
  return withoutSignature(quoted === -1 ? own : own.slice(0, quoted), sender);
}

function withoutSignature(text: string, sender: string): string {
  const lines = text.split("\n");
  const names = (personName(sender) ?? "").toLowerCase().split(" ");
  const last = names.at(-1) ?? "";
  const isNameLine = (line: string) => {
    const words: readonly string[] = line.toLowerCase().match(/\p{L}+/gu) ?? [];
    return last !== "" && words.length <= 4 && words.includes(last) && words[0] === names[0];
  };
  const start = lines.findIndex((line, i) => {
    const plain = line.trim();
    if (i === 0 || plain === "") return false;
    const isNearEnd = lines.slice(i + 1).filter((one) => one.trim() !== "").length <= MAX_SIGNATURE_LINES;
    return isNearEnd && (plain === "--" || CLOSING.test(plain) || isNameLine(plain));
  });
  return (start === -1 ? text : lines.slice(0, start).join("\n")).trim();
}
