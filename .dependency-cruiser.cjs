// The rooms, from the bottom up (docs/architecture.md): a room imports from those before it in this list.
const ROOMS = [
  "platform",
  "statistics",
  "text",
  "store",
  "tasks",
  "models",
  "traces",
  "mail",
  "sandbox",
  "tools",
  "agents",
  "scoring",
  "evals",
  "trace-formats",
  "questions",
  "suites",
  "analysis",
  "reports",
  "runs",
  "queue",
  "server",
  "web",
  "cli",
];

const pathOf = (rooms) => `^src/(${rooms.join("|")})/`;

/** Packages that only some commands need; platform/optional-packages.ts says so where one is missing. */
const optionalPeers = Object.keys(require("./package.json").peerDependencies);

const upward = ROOMS.slice(0, -1).map((room, i) => ({
  name: `no-upward-from-${room}`,
  severity: "error",
  comment: "What a lower room needs from a higher one comes in as an argument.",
  from: { path: pathOf([room]) },
  to: { path: `${pathOf(ROOMS.slice(i + 1))}|^src/cli\\.ts$` },
}));

module.exports = {
  forbidden: [
    ...upward,
    {
      name: "through-the-door",
      severity: "error",
      comment: "Other rooms import only the files that stand directly in a room's folder.",
      from: { path: "^src/([^/]+)" },
      to: { path: "^src/[^/]+/[^/]+/", pathNot: "^src/$1/" },
    },
    {
      name: "no-circular",
      severity: "error",
      comment: "Type imports count.",
      from: {},
      to: { circular: true },
    },
    {
      name: "known-rooms-only",
      severity: "error",
      comment: "Every file lives in a room of the house.",
      from: { path: "^src/", pathNot: `${pathOf(ROOMS)}|^src/cli\\.ts$` },
      to: {},
    },
    {
      name: "named-packages-only",
      severity: "error",
      comment: "Packages of devDependencies are built in (build.js).",
      from: { path: "^src/" },
      to: {
        pathNot: `node_modules/(${optionalPeers.join("|")})/`,
        dependencyTypes: ["npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only"],
      },
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
