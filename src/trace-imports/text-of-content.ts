interface ContentPart {
  readonly type: string;
  readonly text?: string | null | undefined;
}

/** What stands in the text parts; reasoning, images and files are left out. */
export function textOfContent(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.flatMap(({ type, text }) => (type === "text" ? (text ?? "") : [])).join("");
}
