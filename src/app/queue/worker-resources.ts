import type { Redis } from "ioredis";
import type { ToolResources } from "../../tools/tool-handler.js";
import type { IdentifiedSuite } from "../suites/suite-digest.js";
import type { AppContext } from "../use-case-context.js";

/** What the runs of a worker share. */
export interface WorkerResources {
  readonly redis: Redis;
  readonly name: string;
  readonly tools: ToolResources;
  /** A suite's folder on this machine; null: none. */
  readonly suite: (IdentifiedSuite & { readonly path: string }) | null;
  readonly context: AppContext;
  readonly concurrency: number | "auto";
  readonly lockMs: number;
}
