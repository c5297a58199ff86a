import { expect, expectTypeOf, it } from "vitest";
import type {
  AgentFunction,
  AgentFunctionAnswer,
  AgentFunctionTurn,
  BenchmarkConfig,
  BenchmarkResult,
  Expected,
  LoadTasksOptions,
  Question,
  Scorer,
  Trace,
} from "../../src/library.js";
import { defineScorer, loadTasks, resumeArtEBenchmark, runArtEBenchmark } from "../../src/library.js";

/** The types that programs rely on. `tsc` fails if one changes. */

it("the functions of the library have the documented types", () => {
  expectTypeOf<LoadTasksOptions>().toHaveProperty("db");
  expectTypeOf(loadTasks).returns.resolves.toEqualTypeOf<Question[]>();
  expectTypeOf(runArtEBenchmark).parameters.toEqualTypeOf<[tasks: readonly Question[], config: BenchmarkConfig]>();
  expectTypeOf(runArtEBenchmark).returns.resolves.toEqualTypeOf<BenchmarkResult>();
  expectTypeOf(resumeArtEBenchmark).returns.resolves.toEqualTypeOf<BenchmarkResult>();
  expect(loadTasks).toBeTypeOf("function");
});

it("a scorer receives the trace and what is expected, without narrowing a union", () => {
  expectTypeOf<Scorer["score"]>().parameters.toEqualTypeOf<[trace: Trace, expected: Expected]>();
  expectTypeOf<Expected>().toEqualTypeOf<{ readonly answer: string; readonly sources: readonly string[] }>();
  const scorer = defineScorer({
    name: "cites",
    score: ({ sources }, expected) => (expected.sources.every((id) => sources.includes(id)) ? 1 : 0),
  });
  expect(scorer.name).toBe("cites");
});

it("an agent function returns a text, or an answer with the model calls behind it", () => {
  expectTypeOf<Awaited<ReturnType<AgentFunction>>>().toEqualTypeOf<string | AgentFunctionAnswer>();
  expectTypeOf<AgentFunctionAnswer["turns"]>().toEqualTypeOf<readonly AgentFunctionTurn[] | undefined>();
  const turn: AgentFunctionTurn = { content: "42", usage: { inputTokens: 1, outputTokens: 1 } };
  expect(turn.content).toBe("42");
});
