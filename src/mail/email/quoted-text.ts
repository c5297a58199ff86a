/**
 * Separates the sender's own text from quotations. Mail programs mark quotations with `>` on each line, with a line
 * such as "On May 1 Bo Kim wrote:", with a separator, or with the header of the quoted email, in the user's language.
 * Only a quotation marked with `>` has an end, so the text below it is the sender's own. All other quotations extend to
 * the end of the body.
 */

/** Header field labels of mail programs, in all supported languages. */
const FIELDS = {
  from: "from|von|de|da|van|fra|från|od|от|kimden|lähettäjä|from\\/|差出人|发件人|寄件者|보낸 사람",
  sent: "sent|sent by|date|gesendet|datum|envoyé|enviado(?: el)?|enviada(?: em)?|fecha|data|inviato|verzonden|sendt|dato|skickat|wysłano|odesláno|отправлено|дата|lähetetty|päivä|gönderildi|tarih|送信日時|日付|发送时间|日期|寄件日期|보낸 날짜",
  to: "to|cc|bcc|an|kopie|à|pour|para|a|aan|til|kopi|till|kopia|do|dw|komu|кому|копия|kime|vastaanottaja|宛先|收件人|抄送|받는 사람",
  subject:
    "subject|re|betreff|objet|asunto|assunto|oggetto|onderwerp|emne|ämne|temat|předmět|тема|konu|aihe|件名|主题|主旨|제목",
} as const;

type FieldKind = keyof typeof FIELDS;

interface QuotationStart {
  /** Index of the line after the introducing lines. */
  readonly end: number;
  /** The sender's text before a separator on the same line. */
  readonly before: string;
}

interface Fields {
  /** Field kinds of the labeled lines, in order. */
  readonly kinds: readonly FieldKind[];
  /** Whether a label is "Sent" or its translation, not "Date", which also occurs in other texts. */
  readonly isSent: boolean;
  /** Index of the line after the last field. */
  readonly end: number;
}

/** Returns the body without quotations and the lines that introduce them. */
export function withoutQuotations(body: string): string {
  const lines = body.split("\n");
  const quotedLines = markedLines(lines);
  const starts = quotationStarts(lines, quotedLines);
  const own: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const start = starts.get(i);
    if (start !== undefined) {
      if (start.before !== "") own.push(start.before);
      const next = nextText(lines, start.end);
      // If no marked lines follow, the quotation extends to the end of the body.
      if (!quotedLines.has(next)) break;
      i = start.end - 1;
    } else if (!quotedLines.has(i)) {
      own.push(lines[i] ?? "");
    }
  }
  return own.join("\n").trim();
}

/** Maps the first line of each quotation start to the start. */
function quotationStarts(lines: readonly string[], quotedLines: ReadonlySet<number>): Map<number, QuotationStart> {
  const starts = new Map<number, QuotationStart>();
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (quotedLines.has(i)) continue;
    const separator = separatorAt(line);
    if (separator !== -1) {
      starts.set(i, { end: i + 1, before: line.slice(0, separator).trimEnd() });
      continue;
    }
    if (LABEL.test(line)) {
      const fields = fieldsFrom(lines, i);
      const start = headerStart(lines, i, fields);
      if (start !== null) starts.set(start, { end: fields.end, before: "" });
      // Skip all the fields, even if they belong to a memo that the sender wrote.
      i = fields.end - 1;
      continue;
    }
    const attribution = COLON_END.test(line) ? attributionStart(lines, i, quotedLines) : null;
    if (attribution !== null) starts.set(attribution, { end: i + 1, before: "" });
  }
  return starts;
}

function nextText(lines: readonly string[], from: number): number {
  let i = from;
  while (i < lines.length && lines[i]?.trim() === "") i++;
  return i;
}

// Marked lines

const MARK = /^[ \t]{0,3}>/;
/** Supercite puts the quoted person's initials before the mark. */
const INITIALS = /^[ \t]{0,3}(\p{Lu}[\p{L}]{0,2})>/u;
/** `> 50 percent agree` is a comparison if nothing else in the body is quoted. */
const COMPARISON = /^>=?[ \t]*[-+$€£]?\d/;

/**
 * Approximate width of quoted lines. Mail programs wrap longer lines, which leaves the rest on a line without a mark.
 */
const MIN_WRAPPED = 60;
const MAX_REMNANT = 40;

/** Returns the indexes of the lines that start with a quotation mark. */
function markedLines(lines: readonly string[]): ReadonlySet<number> {
  const quotedLines = new Set<number>();
  const initials = new Map<string, number>();
  for (const line of lines) {
    const name = INITIALS.exec(line)?.[1];
    if (name !== undefined) initials.set(name, (initials.get(name) ?? 0) + 1);
  }
  for (const [i, line] of lines.entries()) {
    const isInitials = (initials.get(INITIALS.exec(line)?.[1] ?? "") ?? 0) > 1;
    if (MARK.test(line) || isInitials) quotedLines.add(i);
  }
  const isIntroduced = lines.some((line) => COLON_END.test(line) && VERB.test(line));
  if (!isIntroduced && [...quotedLines].every((i) => COMPARISON.test(lines[i] ?? ""))) quotedLines.clear();
  for (const i of [...quotedLines]) {
    const remnant = lines[i + 1] ?? "";
    const isRemnant = (lines[i]?.length ?? 0) >= MIN_WRAPPED && remnant.trim() !== "" && remnant.length <= MAX_REMNANT;
    if (isRemnant && quotedLines.has(i + 2)) quotedLines.add(i + 1);
  }
  return quotedLines;
}

// Separators

const ORIGINAL =
  "original message|original appointment|forwarded (?:message|by|email)|reply separator|forward header|message from|" +
  "ursprüngliche nachricht|originalnachricht|urspr\\. nachricht|weitergeleitete nachricht|weitergeleitet von|" +
  "message d['’]origine|message original|message initial|message transféré|message transmis|" +
  "mensaje original|mensaje reenviado|messaggio originale|messaggio inoltrato|mensagem original|mensagem encaminhada|" +
  "oorspronkelijk bericht|origineel bericht|doorgestuurd bericht|oprindelig meddelelse|videresendt|opprinnelig melding|" +
  "originalmeddelelse|ursprungligt meddelande|originalmeddelande|vidarebefordrat|wiadomość oryginalna|" +
  "oryginalna wiadomość|wiadomość przekazana|původní zpráva|přeposlaná zpráva|alkuperäinen viesti|" +
  "исходное сообщение|пересылаемое сообщение|orijinal mesaj|özgün ileti|" +
  "原始邮件|原始郵件|转发的邮件|轉寄郵件|元のメッセージ|원본 메시지";

const SEPARATOR = new RegExp(String.raw`(?<![-_=*])(?:[-_=*][-_=* ]{0,80})?[-_=*]{2}[ \t]*(?:${ORIGINAL})`, "i");

/** The line that Apple Mail puts before a forwarded email. */
const FORWARDED =
  /^\s*(?:begin forwarded message|anfang der weitergeleiteten (?:nachricht|e-mail)|début du message (?:réexpédié|transféré)|inicio del mensaje reenviado|inizio messaggio inoltrato|begin doorgestuurd bericht|início da mensagem (?:re)?encaminhada)\s*:\s*$/i;

/** Returns the index of a separator in the line, or -1 if it does not contain one. */
function separatorAt(line: string): number {
  if (!/[-_=*]{2}/.test(line)) return FORWARDED.test(line) ? 0 : -1;
  return line.search(SEPARATOR);
}

// "On May 1 Bo Kim wrote:"

const COLON_END = /[:：]\s*$/;

/** In some languages, the verb comes before the name. */
const VERB = new RegExp(
  String.raw`(?:\b(?:wrote|writes|said)(?:\s+(?:on|in|at)\b.{0,120})?|` +
    String.raw`\b(?:schrieb|schreibt|schreef|skrev|skriver|kirjoitti|escreveu|scritto|napsal(?:\(a\)|a)?)\b.{0,120}|` +
    String.raw`\ba écrit\b.{0,120}|\bescribi(?:ó|o\b).{0,120}|(?:napisał|написал|пишет|yazdı|έγραψε|γράφει).{0,120}|` +
    // Gmail's Japanese attribution does not contain a verb.
    String.raw`写道|寫道|のメール|書きました|작성|^\s*\d{4}[年년/.-].{0,120}@[^<>\s]+>)\s*[:：]\s*$`,
  "i",
);

/** First words of an attribution, in the languages of `VERB`. */
const OPENER =
  /^\s*(?:-{2,3}\s*)?(?:on|at|in|am|le|el|il|em|op|den|på|w dniu|dnia|dne|em|no dia|в|il giorno|ma|\d{1,4}[-./年])(?=\s|\d|,)/i;

const ADDRESS = /[\w.+'-]+@[\w-]+(?:\.[\w-]+)+/;
const HAS_DIGIT = /\d/;

/** Only a full name before the verb. A pronoun there means that the line is prose. */
const NAME_ALONE =
  /^\s*(?:-{2,3}\s*)?["']?\p{Lu}[\p{L}.'-]*(?:,?\s+\p{Lu}[\p{L}.'-]*){1,3}["']?\s+(?:wrote|writes)\s*:\s*$/u;

const MAX_ATTRIBUTION_LINES = 3;

/** Returns the first line of an attribution that ends at line `end`, or null if the line is prose. */
function attributionStart(lines: readonly string[], end: number, quotedLines: ReadonlySet<number>): number | null {
  const last = lines[end] ?? "";
  if (!VERB.test(last)) return null;
  let start = end;
  let text = last;
  for (let i = end - 1; i > end - MAX_ATTRIBUTION_LINES && i >= 0; i--) {
    const line = lines[i] ?? "";
    if (line.trim() === "" || quotedLines.has(i)) break;
    text = `${line} ${text}`;
    // Prose before a complete attribution does not belong to it.
    if (!OPENER.test(last) && (OPENER.test(line) || ADDRESS.test(line))) start = i;
  }
  const attribution = start === end ? last : text;
  const isDated = OPENER.test(attribution) && HAS_DIGIT.test(attribution);
  const isPerson = ADDRESS.test(attribution) || NAME_ALONE.test(attribution);
  return isDated || isPerson || quotedLines.has(nextText(lines, end + 1)) ? start : null;
}

// Headers of quoted email

const KINDS = Object.keys(FIELDS) as FieldKind[];

/** `*From:* Bo` is the plain text version of a bold label in HTML. */
const LABEL = new RegExp(
  String.raw`^\s*[*_]{0,2}(?:${KINDS.map((kind) => `(?<${kind}>${FIELDS[kind]})`).join("|")})\s*[*_]{0,2}\s*[:：][*_]{0,2}(?:\s|$|\S)`,
  "iu",
);

const DATE_TIME =
  /\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4},?\s+(?:at\s+|um\s+|à\s+)?\d{1,2}[:.h]\d{2}(?:[:.]\d{2})?(?:\s?[ap]\.?m\b)?/i;

/** Maximum number of folded lines. An address list can take up many. */
const MAX_FOLDED_LINES = 40;
/** Maximum number of blank lines. Lotus Notes puts some between the fields. */
const MAX_BLANK_LINES = 3;

/**
 * Returns the first line of a quoted email's header whose first labeled line is `first`, or null if it is other text.
 */
function headerStart(lines: readonly string[], first: number, { kinds, isSent }: Fields): number | null {
  const top = lines[first] ?? "";
  const has = (kind: FieldKind) => kinds.includes(kind);
  switch (kinds[0]) {
    case "from": {
      const isHeader =
        kinds.length > 1 && (isSent || ADDRESS.test(top) || (has("subject") && (has("to") || has("sent"))));
      const isAddressAlone = /^[^:：]*[:：]\s*[^@]{0,80}[\s<[:]?[\w.+'-]+@[\w.-]+[>\])\s]*$/.test(top);
      return isHeader || isAddressAlone || DATE_TIME.test(top) ? ruleAbove(lines, first) : null;
    }
    case "sent":
      return has("to") && has("subject") ? (lotusStart(lines, first) ?? ruleAbove(lines, first)) : null;
    case "subject":
      return has("from") && has("sent") ? ruleAbove(lines, first) : null;
    default: {
      const lotus = lotusStart(lines, first);
      // If a name and a date are directly above, a subject is not required.
      if (!has("subject")) return lotus === first - 2 && has("to") ? lotus : null;
      // If no date precedes it, only an address tells the header apart from a memo that the sender wrote.
      const isAddressed = /@/.test(top) && (first === 0 || lines[first - 1]?.trim() === "");
      return lotus ?? (isAddressed ? ruleAbove(lines, first) : null);
    }
  }
}

function fieldsFrom(lines: readonly string[], first: number): Fields {
  const kinds: FieldKind[] = [];
  let end = first;
  let isSent = false;
  let blanks = 0;
  for (let i = first; i < lines.length && i - end <= MAX_FOLDED_LINES; i++) {
    const line = lines[i] ?? "";
    const groups = LABEL.exec(line)?.groups;
    if (groups !== undefined) {
      kinds.push(...KINDS.filter((kind) => groups[kind] !== undefined));
      isSent ||= groups.sent !== undefined && !/^(?:date|datum|data|fecha|dato)$/i.test(groups.sent);
      end = i + 1;
      blanks = 0;
    } else if (line.trim() === "") {
      // The body starts after the blank line below the subject.
      if (++blanks > MAX_BLANK_LINES || kinds.includes("subject")) break;
    } else if (blanks > 0 || !isFolded(line, kinds.at(-1))) {
      break;
    }
  }
  return { kinds, end, isSent };
}

function isFolded(line: string, kind: FieldKind | undefined): boolean {
  return /^[ \t]/.test(line) || (kind === "to" && /[@,;/<]/.test(line)) || (kind === "from" && /@/.test(line));
}

/**
 * Returns the start of a Lotus Notes header, with the sender and the date above the labeled lines, or null if the date
 * is missing.
 */
function lotusStart(lines: readonly string[], first: number): number | null {
  let texts = 0;
  for (let i = first - 1; i >= 0 && texts < 4; i--) {
    const line = lines[i] ?? "";
    if (line.trim() === "") continue;
    texts++;
    const date = DATE_TIME.exec(line);
    if (date === null) continue;
    const isDateAlone = line.replace(date[0], "").trim().length < 8;
    const above = lines[i - 1]?.trim() ?? "";
    return isDateAlone && above !== "" && above.length <= 80 ? i - 1 : i;
  }
  return null;
}

/** Includes a rule directly above, because it belongs to the quotation. */
function ruleAbove(lines: readonly string[], first: number): number {
  let i = first - 1;
  while (i > 0 && lines[i]?.trim() === "" && first - i < 3) i--;
  return /^\s*[-_=*]{5,}\s*$/.test(lines[i] ?? "") ? i : first;
}
