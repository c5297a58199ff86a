// Streamed answer text for readers that cannot take back text: the terminal of `art-e ask`, and OpenAI clients.
import type { ChatEvent } from "./chat-event.js";

/**
 * Text without refusals. It includes text before tool calls, because only the end of a reply shows whether its text is
 * the answer. A blank line separates the texts.
 */
export class AppendOnlyText {
  private all = "";
  /** Text since the last blank line. */
  private part = "";
  /** The call that contains the text, or undefined for the text of a reply. */
  private toolCallId: string | undefined;
  private isClosed = false;

  /** Returns the text that the reader shows next because of an event. */
  add(event: ChatEvent): string {
    switch (event.type) {
      case "text-delta": {
        if (event.isRefusal) return "";
        const isOther = this.isClosed || event.toolCallId !== this.toolCallId;
        this.toolCallId = event.toolCallId;
        return this.show(event.text, isOther);
      }
      case "text-replaced":
      case "tool-call":
      case "tool-result":
        this.isClosed = true;
        return "";
      default:
        return "";
    }
  }

  /** Returns the text that completes the answer. */
  finish(answer: string): string {
    if (this.part.trim() === answer.trim()) return "";
    const part = this.part.trimStart();
    if (answer.startsWith(part)) return this.show(answer.slice(part.length), false);
    return this.show(answer, true);
  }

  private show(text: string, isNewPart: boolean): string {
    if (text === "") return "";
    const space = isNewPart && this.all !== "" ? "\n\n" : "";
    if (isNewPart) this.part = "";
    this.isClosed = false;
    this.part += text;
    this.all += space + text;
    return space + text;
  }
}
