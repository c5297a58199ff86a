const NAME = "art-e-chat";

/** What was chosen and asked last in this tab: a look at another section loses none of it, nor does a reload. */
export const kept = {
  agent: null,
  /** Null: nothing was chosen yet; empty: any mailbox. */
  inbox: null,
  day: "",
  model: "",
  session: null,
  draft: "",
  ...stored(),
};

export function keep(changes) {
  Object.assign(kept, changes);
  sessionStorage.setItem(NAME, JSON.stringify(kept));
}

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(NAME)) ?? {};
  } catch {
    return {};
  }
}
