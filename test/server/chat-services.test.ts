import { expect, test } from "vitest";
import { withChatServices } from "../../src/server/chat-services.js";
import { fill, mail } from "../mail/small-corpus.js";
import { openEmpty } from "../runs/demo-setup.js";

test("chats search in threads as soon as a running server's mailbox is large", async () => {
  const empty = openEmpty();
  const context = {
    settings: { db: empty.db.name, cacheDir: empty.folder, agentStderr: null, env: {} },
    note: () => {},
  };
  const options = { chatMs: 1_000, modelCallMs: 1_000 };
  await withChatServices(options, { otlp: false, noContent: false }, context, async ({ resources }) => {
    expect(resources.searchThreads).toBeUndefined();
    fill(
      empty.db,
      Array.from({ length: 500 }, (_, i) => mail(`mail-${i}`, { subject: `Email ${i}` })),
    );
    const threads = resources.searchThreads;
    expect(threads).toBeDefined();
    expect(resources.searchThreads).toBe(threads);
  });
  empty.close();
});
