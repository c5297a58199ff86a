// Groups the questions of a comparison that depend on each other. Questions to one mailbox or about one email are right
// or wrong together more often than others, so they are less evidence than independent questions.
import type { TaskId } from "../tasks/question.js";

/** What a question has in common with others. */
export interface ClusteredQuestion {
  /** Empty for suite tasks. */
  readonly inbox: string;
  /** Keys that dependent questions share: their gold emails, or the pair of a suite task's two wordings. */
  readonly topics: readonly string[];
}

export interface Clustering {
  /**
   * `mailbox`: the figures are about other mailboxes too. `thread`: there are too few mailboxes for that, so the
   * figures are about other questions to these mailboxes. The questions of a thread share a gold email.
   */
  readonly by: "mailbox" | "thread";
  /** Number of clusters. */
  readonly n: number;
  /** Number of mailboxes. 0 for suite tasks. */
  readonly mailboxes: number;
}

export interface Clusters extends Clustering {
  /** Returns the cluster of a question. */
  of(taskId: TaskId): string;
}

/** Fewer mailboxes say too little about others. Unequal mailboxes count as the number of equal ones (Kish). */
export const MIN_MAILBOXES = 10;

/** Returns the clusters of questions. Every comparison of runs uses this function. */
export function clustersOf(questions: ReadonlyMap<TaskId, ClusteredQuestion>): Clusters {
  const sizes = new Map<string, number>();
  for (const { inbox } of questions.values()) sizes.set(inbox, (sizes.get(inbox) ?? 0) + 1);
  const squares = [...sizes.values()].reduce((sum, size) => sum + size * size, 0);
  const mailboxes = [...sizes.keys()].filter((inbox) => inbox !== "").length;
  if (mailboxes === sizes.size && questions.size ** 2 / squares >= MIN_MAILBOXES) {
    return { by: "mailbox", n: mailboxes, mailboxes, of: (taskId) => questions.get(taskId)?.inbox ?? "" };
  }
  const threads = threadsOf(questions);
  return { by: "thread", n: new Set(threads.values()).size, mailboxes, of: (id) => threads.get(id) ?? String(id) };
}

/** Joins the questions that share a topic, directly or through another question. */
function threadsOf(questions: ReadonlyMap<TaskId, ClusteredQuestion>): Map<TaskId, string> {
  const parents = new Map<string, string>();
  const rootOf = (key: string): string => {
    let root = key;
    for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent;
    for (let at = key; at !== root; ) {
      const next = parents.get(at) ?? root;
      parents.set(at, root);
      at = next;
    }
    return root;
  };
  const own = (taskId: TaskId) => JSON.stringify(taskId);
  for (const [taskId, { topics }] of questions) {
    for (const topic of topics) {
      const [a, b] = [rootOf(`topic ${topic}`), rootOf(own(taskId))];
      if (a !== b) parents.set(b, a);
    }
  }
  return new Map([...questions.keys()].map((taskId) => [taskId, rootOf(own(taskId))]));
}
