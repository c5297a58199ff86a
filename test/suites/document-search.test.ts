import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SuiteDocuments } from "../../src/suites/task/document-search.js";
import { temporaryFolder, writeFiles } from "./temporary-folder.js";

const { signal } = new AbortController();

const TASK = "examples/dbt/one";

/** A new suite, and its first task's documents. */
function openSuite(files: Readonly<Record<string, string | Buffer>>, cacheFolder: string | null = null) {
  const root = temporaryFolder();
  writeFiles(root, { [`${TASK}/one.json`]: "{}", ...files });
  const suite = new SuiteDocuments(root, cacheFolder);
  return { root, suite, documents: suite.open(join(root, TASK)) };
}

test("SuiteDocuments ranks parts that contain all words first, compares stems, and accepts any query", async () => {
  const { documents } = openSuite({
    "documents/dbt/models.md": "# Models\nA model is a SELECT statement. Materialized as a view.",
    "documents/dbt/seeds.txt": "Seeds are CSV files that are loaded.",
    "documents/other.md": "Loading a view of everything else.",
  });
  expect(await documents.search("materialize views", 10, signal)).toEqual([
    {
      path: "documents/dbt/models.md",
      offset: 0,
      snippet: expect.stringContaining("Materialized as a view"),
      match: "all_words",
    },
    { path: "documents/other.md", offset: 0, snippet: expect.any(String), match: "best_match" },
  ]);
  expect((await documents.search('"csv files"', 1, signal)).map(({ path }) => path)).toEqual([
    "documents/dbt/seeds.txt",
  ]);
  for (const query of ['a"b OR (', "NEAR(x,", "*", "", "path:x", "-"]) {
    expect(await documents.search(query, 5, signal)).toEqual(expect.any(Array));
  }
});

test("SuiteDocuments ranks the task's own files first, and finds no gold files, inputs or files of other tasks", async () => {
  const { suite, documents, root } = openSuite({
    "documents/a.md": "incremental models",
    [`${TASK}/retrieved_chunk_topk_4.txt`]: "incremental models, retrieved",
    [`${TASK}/retrieved_gold.txt`]: "incremental gold",
    [`${TASK}/gold.txt`]: "incremental gold",
    [`${TASK}/input.txt`]: "incremental input",
    "examples/dbt/two/retrieved.txt": "incremental models of another task",
  });
  const paths = (await documents.search("incremental", 10, signal)).map(({ path }) => path);
  expect(paths).toEqual(["retrieved_chunk_topk_4.txt", "documents/a.md"]);
  for (const path of ["gold.txt", "../one/gold.txt", `${TASK}/gold.txt`, "documents/../examples/dbt/one/gold.txt"]) {
    expect(await documents.read(path, 0, signal)).toBeNull();
  }
  const other = suite.open(join(root, "examples/dbt/two"));
  expect((await other.search("incremental", 10, signal)).map(({ path }) => path)).toEqual([
    "retrieved.txt",
    "documents/a.md",
  ]);
});

test("SuiteDocuments skips links, binary files and text that is not UTF-8", async () => {
  const { root, documents } = openSuite({
    "documents/good.txt": "word",
    "documents/binary.bin": Buffer.from([0, 119, 111, 114, 100]),
    "documents/latin.txt": Buffer.from([119, 111, 114, 100, 32, 0xe4]),
    "secret.txt": "word",
  });
  symlinkSync(join(root, "secret.txt"), join(root, "documents/link.txt"));
  symlinkSync(root, join(root, "documents/folder"));
  expect((await documents.search("word", 10, signal)).map(({ path }) => path)).toEqual(["documents/good.txt"]);
});

test("SuiteDocuments finds a word's place in a long document, and reads from there to the end", async () => {
  const lines = Array.from({ length: 3_000 }, (_, i) => `line ${i} of the log 😀`);
  lines[2_500] = "here is the needle";
  const text = lines.join("\n");
  const { documents } = openSuite({ "documents/long.txt": text, "documents/one-line.txt": "😀".repeat(30_000) });
  const [hit] = await documents.search("needle", 1, signal);
  const at = text.indexOf("here is the needle");
  expect(hit?.offset).toBeLessThanOrEqual(at);
  expect(hit?.offset).toBeGreaterThan(at - 8_000);
  const page = await documents.read("documents/long.txt", hit?.offset ?? 0, signal);
  expect(page?.content).toContain("here is the needle");
  for (const [path, whole] of [
    ["documents/long.txt", text],
    ["documents/one-line.txt", "😀".repeat(30_000)],
  ] as const) {
    let read = "";
    for (let offset: number | null = 0; offset !== null; ) {
      const next = await documents.read(path, offset, signal);
      if (next === null) throw new Error("not there");
      expect(next).toMatchObject({ offset: read.length, length: whole.length });
      read += next.content;
      offset = next.nextOffset;
    }
    expect(read).toBe(whole);
  }
  expect(await documents.read("documents/long.txt", text.length + 1, signal)).toMatchObject({
    content: "",
    nextOffset: null,
  });
});

test("SuiteDocuments does not let one document hide the others", async () => {
  const { documents } = openSuite({
    "documents/many.txt": "word word word\n".repeat(5_000),
    "documents/few.txt": "this one has the word too",
  });
  const paths = (await documents.search("word", 10, signal)).map(({ path }) => path);
  expect(paths.filter((path) => path === "documents/many.txt")).toHaveLength(2);
  expect(paths).toContain("documents/few.txt");
});

test("SuiteDocuments keeps the index in the cache folder, and rebuilds it if a document has changed", async () => {
  const cache = temporaryFolder();
  const { root, suite, documents } = openSuite({ "documents/a.md": "first words" }, cache);
  expect(await documents.search("first", 5, signal)).toHaveLength(1);
  await documents.close();
  await suite.close();
  const [name] = readdirSync(join(cache, "documents"));
  const again = new SuiteDocuments(root, cache);
  expect(await again.open(join(root, TASK)).search("first", 5, signal)).toHaveLength(1);
  await again.close();
  expect(readdirSync(join(cache, "documents"))).toEqual([name]);
  writeFileSync(join(root, "documents/a.md"), "other words, more of them");
  const changed = new SuiteDocuments(root, cache);
  expect(await changed.open(join(root, TASK)).search("other", 5, signal)).toHaveLength(1);
  await changed.close();
  expect(readdirSync(join(cache, "documents"))).toHaveLength(2);
});

test("SuiteDocuments finds nothing if the suite has no documents, and rejects if the task is interrupted", async () => {
  const { documents } = openSuite({});
  expect(await documents.search("word", 5, signal)).toEqual([]);
  expect(await documents.read("documents/a.md", 0, signal)).toBeNull();
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(documents.search("word", 5, stopped)).rejects.toThrow("stopped");
});

test("SuiteDocuments reads the text of HTML documents, in linear time", async () => {
  const page =
    "<html><head><style>p {}</style></head><body><!-- <b>no</b> --><h1>Head&nbsp;line</h1>" +
    "<p>a &lt; b &amp;&#32;c &#x41; &bogus;</p><script>if (a < b) alert('x')</script><ul><li>one<li>two</ul>" +
    "<p>Caf&eacute; &Auml;rger</p><table><tr><td>Gas</td><td>10</td></tr></table></body>";
  const hostile = ["<".repeat(2_000_000), "<!--".repeat(500_000), "<p>&".repeat(500_000), "<b>".repeat(600_000)];
  const files = Object.fromEntries(hostile.map((html, i) => [`documents/hostile-${i}.html`, html]));
  const { documents } = openSuite({ "documents/page.html": page, ...files });
  expect((await documents.read("documents/page.html", 0, signal))?.content.trim()).toBe(
    "Head line\n\na < b & c A &bogus;\n\n * one\n * two\n\nCafé Ärger\n\nGas\t10",
  );
});

test("SuiteDocuments keeps the recently used indexes in the cache folder, and removes partial ones of killed programs", async () => {
  const cache = temporaryFolder();
  const folder = join(cache, "documents");
  mkdirSync(folder);
  const leave = (name: string, hoursAgo: number) => {
    writeFileSync(join(folder, name), "");
    const then = new Date(Date.now() - hoursAgo * 3_600_000);
    utimesSync(join(folder, name), then, then);
  };
  for (let i = 1; i <= 20; i++) leave(`${i}.sqlite`, i);
  leave("old.sqlite.1.part", 30);
  leave("new.sqlite.2.part", 1);
  leave("notes.txt", 1_000);
  const { suite, documents } = openSuite({ "documents/a.md": "first words" }, cache);
  expect(await documents.search("words", 5, signal)).toHaveLength(1);
  await documents.close();
  await suite.close();
  const names = readdirSync(folder).filter((name) => !/^[0-9a-f]{32}\.sqlite$/.test(name));
  const kept = Array.from({ length: 7 }, (_, i) => `${i + 1}.sqlite`);
  expect(names.sort()).toEqual([...kept, "new.sqlite.2.part", "notes.txt"].sort());
  expect(readdirSync(folder)).toHaveLength(names.length + 1);
});
