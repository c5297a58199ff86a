const TOKEN = "art-e-token";

/** Asks the server; the token is asked for where it wants one. Throws an Error with the server's own words. */
export async function ask(path, options = {}) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

export function post(path, body, options = {}) {
  return ask(path, { ...options, method: "POST", body: JSON.stringify(body) });
}

/** The events of a chat, one by one. Ends with `[DONE]`; a stream that ends without it throws. */
export async function* chatEvents(agentId, body, signal) {
  const path = `/api/agents/${encodeURIComponent(agentId)}/playground/chat`;
  const response = await send(path, { method: "POST", body: JSON.stringify(body), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("The server broke off before the end of the answer.");
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return;
      yield JSON.parse(data);
    }
  }
}

async function send(path, { method = "GET", body, signal }) {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    const response = await fetch(path, {
      method,
      body,
      signal,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    if (response.ok) return response;
    if (response.status !== 401) throw new Error(await wordsOf(response));
    await askForToken();
  }
}

async function wordsOf(response) {
  try {
    const { error } = await response.json();
    return error.details?.hint ? `${error.message} ${error.details.hint}` : error.message;
  } catch {
    return `The server answers ${response.status}.`;
  }
}

let asking = null;

/** One dialog, however many requests were refused. */
function askForToken() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("token-dialog");
    const field = document.getElementById("token");
    field.value = "";
    dialog.addEventListener(
      "close",
      () => {
        asking = null;
        sessionStorage.setItem(TOKEN, field.value.trim());
        resolve();
      },
      { once: true },
    );
    dialog.showModal();
  });
  return asking;
}
