/** A Message-ID without its angle brackets: both spellings are in use. */
export function bareMessageId(messageId: string): string {
  return messageId.trim().replace(/^<|>$/g, "");
}
