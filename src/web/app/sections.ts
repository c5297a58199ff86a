/** Sections of each page, which are the first word of the URL fragment. The first one is the home section. */
export const SECTIONS = {
  all: [
    "chat",
    "chats",
    "compare",
    "mail",
    "traces",
    "trace",
    "agents",
    "tools",
    "runs",
    "label",
    "code",
    "modes",
    "evals",
  ],
  // This page ends with the run and is read-only.
  run: ["runs", "traces", "trace", "mail"],
  // This page ends with the command that reviews a dataset.
  review: ["review", "mail"],
} as const;

export type SectionName = (typeof SECTIONS)[keyof typeof SECTIONS][number];
