// The floors, from the ground up. A file imports its own room and any floor below, never a neighbour, never upward.
const floors = [
  { name: "ground", rooms: ["domain"] },
  { name: "base", rooms: ["statistics", "platform"] },
  {
    name: "edges",
    rooms: ["store", "corpus", "huggingface", "models", "sandbox", "processes", "mcp", "ssrf-guard", "otlp", "queue"],
  },
  {
    name: "work",
    rooms: [
      "ingest",
      "questions",
      "tools",
      "agents",
      "scoring",
      "run-analysis",
      "suites",
      "exports",
      "trace-imports",
      "evalgen",
      "reports",
    ],
  },
  { name: "app", rooms: ["app"] },
  { name: "doors", rooms: ["commands", "servers"] },
];

const pathOf = (rooms) => `^src/(${rooms.join("|")})/`;

const upward = floors.flatMap((floor, i) => {
  const above = floors.slice(i + 1).flatMap((f) => f.rooms);
  if (above.length === 0) return [];
  return [
    {
      name: `no-upward-from-${floor.name}`,
      severity: "error",
      comment: "A file may not import from a floor above its own.",
      from: { path: pathOf(floor.rooms) },
      to: { path: `${pathOf(above)}|^src/cli\\.ts$` },
    },
  ];
});

// A command may start a server; a server knows no command.
const STARTS_SERVERS = "^src/commands/(serve|run|questions)/";

const sideways = floors.map((floor) => ({
  name: `no-neighbour-in-${floor.name}`,
  severity: "error",
  comment: "A file may not import from a neighbouring folder on its own floor.",
  from: { path: `^src/(${floor.rooms.join("|")})/`, pathNot: STARTS_SERVERS },
  to: { path: pathOf(floor.rooms), pathNot: "^src/$1/" },
}));

module.exports = {
  forbidden: [
    ...upward,
    ...sideways,
    {
      name: "no-circular",
      severity: "error",
      comment: "Type imports count.",
      from: {},
      to: { circular: true },
    },
    {
      name: "domain-imports-zod-only",
      severity: "error",
      comment: "domain/ does no I/O: it may import zod and itself.",
      from: { path: "^src/domain/" },
      to: { pathNot: "^src/domain/|node_modules/zod/" },
    },
    {
      name: "known-rooms-only",
      severity: "error",
      comment: "Every file lives in a room of the house.",
      from: { path: "^src/", pathNot: `${pathOf(floors.flatMap((f) => f.rooms))}|^src/cli\\.ts$` },
      to: {},
    },
    {
      name: "no-dev-dependencies",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "not-to-test",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^test/" },
    },
    { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node", "default"] },
  },
};
