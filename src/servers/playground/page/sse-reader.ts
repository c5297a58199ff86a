/** The events of a response, up to `[DONE]`; throws where the stream ends without it. */
export async function* readEvents<T>(response: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = "";
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) throw new Error("The server broke off before the end.");
    text += decoder.decode(chunk.value, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return;
      yield JSON.parse(data) as T;
    }
  }
}
