// Finds the reasoning in the provider's own state of a message.
import type { Message } from "./model.js";
import { fieldsSchema, listSchema, textSchema } from "./wire/reply-fields.js";

const textsOf = (parts: unknown, field = "text") =>
  listSchema.parse(parts).map((part) => textSchema.parse(part[field]));

/**
 * Returns the model's reasoning before its text or calls, or an empty string if the provider did not return it. Each
 * provider stores it in a different form.
 */
export function reasoningText(message: Message): string {
  if (message.role !== "assistant") return "";
  const { reasoning = "", providerState } = message;
  return [reasoning, ...(providerState === undefined ? [] : reasoningParts(providerState.value))]
    .filter((text) => text.trim() !== "")
    .join("\n\n");
}

function reasoningParts(value: unknown): readonly string[] {
  if (Array.isArray(value)) {
    // Anthropic's blocks and items from OpenAI's Responses API.
    return listSchema.parse(value).flatMap(({ type, thinking, summary, content }) => {
      if (type === "thinking") return [textSchema.parse(thinking)];
      if (type !== "reasoning") return [];
      const whole = textsOf(content);
      return whole.length > 0 ? whole : textsOf(summary);
    });
  }
  const fields = fieldsSchema.parse(value);
  // Gemini's parts.
  if (fields.parts !== undefined) {
    const thoughts = listSchema.parse(fields.parts).filter(({ thought }) => thought === true);
    return textsOf(thoughts);
  }
  // Servers compatible with OpenAI return the same text in one or more fields.
  const text = textSchema.parse(fields.reasoning_content) || textSchema.parse(fields.reasoning);
  if (text !== "") return [text];
  return listSchema
    .parse(fields.reasoning_details)
    .map((part) => textSchema.parse(part.text) || textSchema.parse(part.summary));
}
