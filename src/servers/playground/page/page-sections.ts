/** The sections of the page, by the first word of an address. */
export type SectionName =
  | "chat"
  | "chats"
  | "mail"
  | "traces"
  | "trace"
  | "agents"
  | "tools"
  | "runs"
  | "label"
  | "review";

interface PageScope {
  readonly home: SectionName;
  readonly sections: ReadonlySet<SectionName>;
}

const SCOPES: Readonly<Record<"all" | "run" | "review", PageScope>> = {
  all: {
    home: "chat",
    sections: new Set(["chat", "chats", "mail", "traces", "trace", "agents", "tools", "runs", "label"]),
  },
  // It ends with the run, and only reads.
  run: { home: "runs", sections: new Set(["runs", "traces", "trace", "mail"]) },
  // It ends with the command that reviews a dataset.
  review: { home: "review", sections: new Set(["review", "mail"]) },
};

const name = document.documentElement.dataset.scope;

export const pageScope = SCOPES[name === "run" || name === "review" ? name : "all"];

/** A page that ends with a run. */
export const isRunPage = name === "run";
