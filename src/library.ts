// art-e as a library: the package's entry point (package.json, "exports"). Each function loads what it needs when it is
// called, so that importing the package is cheap and has no side effects.
export type {
  AgentFunction,
  AgentFunctionAnswer,
  AgentFunctionTask,
  AgentFunctionTool,
  AgentFunctionToolCall,
  AgentFunctionTurn,
  AgentFunctionUsage,
} from "./agents/agent-function.js";
// biome-ignore lint/performance/noBarrelFile: users import from one file
export { resumeArtEBenchmark, runArtEBenchmark } from "./library/benchmark.js";
export type {
  BenchmarkConfig,
  BenchmarkOptions,
  BenchmarkProgress,
  Expected,
  Scorer,
} from "./library/benchmark-config.js";
export type {
  ArtEDatabase,
  ListedRun,
  Mail,
  MailHit,
  MailSearchOptions,
  MailSearchResult,
} from "./library/database.js";
export {
  defineEval,
  defineScorer,
  defineTool,
  type EvalFunction,
  type EvalInput,
  type EvalResult,
  type ToolModule,
  type ToolModuleContext,
} from "./library/define.js";
export {
  type ImportMailOptions,
  type ImportMailProgress,
  type ImportMailResult,
  importMail,
} from "./library/import-mail.js";
export { type LoadTasksOptions, loadTasks } from "./library/load-tasks.js";
export { fetchTrace, openDatabase } from "./library/open-database.js";
export type { LibraryOptions } from "./library/options.js";
export type {
  BenchmarkResult,
  ChatTrace,
  Question,
  QuestionTrace,
  SuiteTrace,
  TaskResult,
  ToolCall,
  Trace,
  Turn,
} from "./library/published-types.js";
export { UserError as ArtEError } from "./platform/errors.js";
export type { JsonObject, JsonSchema, JsonValue } from "./platform/json-value.js";
