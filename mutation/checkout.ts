import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutant } from "./mutants.js";

/** Not needed by the tests, and not theirs to change. Hidden files may contain keys. */
const NOT_COPIED = /^(\..*|node_modules|coverage)$/;

/** `timeout`: the tests did not end in time, usually because the mutant loops forever. It counts as killed. */
export type MutantOutcome = "killed" | "survived" | "timeout";

/** Test files and folders. */
interface MutantTests {
  /** Tests that import the mutated file. They run first, because they take a second. */
  readonly importers: readonly string[];
  readonly tests: readonly string[];
}

/** A copy of the project for mutating one source file at a time. */
export class Checkout {
  private readonly folder = mkdtempSync(join(tmpdir(), "art-e-mutants-"));
  private isBuildMutated = false;

  constructor(root: string) {
    for (const name of readdirSync(root)) {
      if (!NOT_COPIED.test(name)) cpSync(join(root, name), join(this.folder, name), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(this.folder, "node_modules"));
  }

  /**
   * Runs tests (files or folders) until one fails: those that import the mutated file, then all, then the slow ones of
   * `npm run test:slow`. The program is built only before the second stage, because most mutants are killed in the
   * first.
   */
  async run(mutant: Mutant, { importers, tests }: MutantTests, timeoutMs: number): Promise<MutantOutcome> {
    await this.restoreBuild();
    const path = join(this.folder, mutant.file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, `${text.slice(0, mutant.start)}${mutant.replacement}${text.slice(mutant.end)}`);
    try {
      const early = importers.length === 0 ? "survived" : await this.vitest(importers, timeoutMs);
      if (early !== "survived") return early;
      this.isBuildMutated = true;
      if ((await this.node("build.js")) !== 0) return "killed";
      const outcome = await this.vitest(tests, timeoutMs);
      return outcome === "survived" ? await this.vitest(tests, timeoutMs, { isSlow: true }) : outcome;
    } finally {
      writeFileSync(path, text);
    }
  }

  /**
   * The duration of the tests without a mutant. Throws if the build or a test fails, because then every mutant would
   * count as killed.
   */
  async measure(tests: readonly string[]): Promise<number> {
    const started = performance.now();
    if ((await this.node("build.js", [], 0, "inherit")) !== 0) throw new Error("The build fails without any mutant.");
    for (const isSlow of [false, true]) {
      const outcome = await this.vitest(tests, 0, { isSlow, stdio: "inherit" });
      if (outcome !== "survived") throw new Error(`The tests in ${tests.join(", ")} fail without any mutant.`);
    }
    return Math.ceil(performance.now() - started);
  }

  /** Makes `dist` the build without a mutant, because tests of the source start its threads. */
  private async restoreBuild(): Promise<void> {
    const [dist, original] = [join(this.folder, "dist"), join(this.folder, "original-dist")];
    if (!existsSync(original)) {
      if ((await this.node("build.js", [], 0, "inherit")) !== 0) throw new Error("The build fails without any mutant.");
      cpSync(dist, original, { recursive: true });
    } else if (this.isBuildMutated) {
      rmSync(dist, { recursive: true, force: true });
      cpSync(original, dist, { recursive: true });
    }
    this.isBuildMutated = false;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async vitest(
    tests: readonly string[],
    timeoutMs: number,
    { isSlow = false, stdio = "ignore" }: { readonly isSlow?: boolean; readonly stdio?: "ignore" | "inherit" } = {},
  ): Promise<MutantOutcome> {
    // Most folders have no slow tests. On a busy machine, a test's own time limit would kill mutants.
    const limits = ["--testTimeout=600000", "--hookTimeout=600000"];
    const args = ["run", ...tests, "--bail=1", "--maxWorkers=1", "--reporter=dot", "--passWithNoTests", ...limits];
    const env = isSlow ? { ...process.env, ART_E_SLOW: "1" } : process.env;
    const code = await this.node("node_modules/vitest/vitest.mjs", args, timeoutMs, stdio, env);
    return code === 0 ? "survived" : code === null ? "timeout" : "killed";
  }

  /** The exit code, or null if the process was killed. */
  private node(
    program: string,
    args: readonly string[] = [],
    timeout = 0,
    stdio: "ignore" | "inherit" = "ignore",
    env: NodeJS.ProcessEnv = process.env,
  ): Promise<number | null> {
    return new Promise((resolve, reject) => {
      const options = { cwd: this.folder, env, stdio, timeout, killSignal: "SIGKILL" } as const;
      const child = spawn(process.execPath, [program, ...args], options);
      child.on("error", reject);
      child.on("exit", resolve);
    });
  }
}
