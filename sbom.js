// The software bill of materials (CycloneDX) of a build: the packages that are built in, which no scanner finds in
// node_modules, and those that npm installs next to the program.
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Enums, Models, Serialize, SPDX, Spec } from "@cyclonedx/cyclonedx-library";

/**
 * Returns the JSON of the bill, with the same bytes for the same build: no time stamp, and no serial number.
 * @param folders folders below node_modules/ of the packages that are built in
 * @param copied folders of packages whose own builds are copied, which contain their dependencies
 */
export function sbomOf(folders, copied) {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;
  const { name, version, license, description } = JSON.parse(readFileSync("package.json", "utf8"));
  const program = new Models.Component(Enums.ComponentType.Application, name, { version, description });
  program.bomRef.value = purlOf(name, version);
  addLicense(program, license);

  const builtIn = new Set(folders.map(pathOf));
  for (const path of copied.map(pathOf)) addWithDependencies(path, builtIn, lock);
  const paths = new Set([...builtIn, ...installedPaths(lock)]);
  const components = new Map([...paths].map((path) => [path, componentOf(path, lock[path], builtIn.has(path))]));
  for (const [path, component] of [["", program], ...components]) {
    const entry = lock[path];
    const names = Object.keys({
      ...entry.dependencies,
      ...entry.optionalDependencies,
      ...(path === "" ? entry.devDependencies : {}),
    });
    for (const needed of names) {
      const found = components.get(resolve(path, needed, lock));
      if (found !== undefined) component.dependencies.add(found.bomRef);
    }
  }
  const bom = new Models.Bom({ metadata: new Models.Metadata({ component: program }) });
  for (const component of components.values()) bom.components.add(component);
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 1 })}\n`;
}

/** Returns the lockfile's path of a folder. The folder node_modules can be a link into another copy of the project. */
function pathOf(folder) {
  return relative(dirname(realpathSync("node_modules")), realpathSync(folder)).replaceAll("\\", "/");
}

function addWithDependencies(path, paths, lock) {
  if (paths.has(path)) return;
  paths.add(path);
  for (const name of Object.keys(lock[path].dependencies ?? {}))
    addWithDependencies(resolve(path, name, lock), paths, lock);
}

/** Where the lockfile puts the packages that npm installs with art-e. */
function installedPaths(lock) {
  return Object.entries(lock)
    .filter(([path, entry]) => path !== "" && !entry.dev && !entry.devOptional && !entry.peer)
    .map(([path]) => path);
}

function componentOf(path, { version, license, integrity }, isBuiltIn) {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  const [scope, plain] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const component = new Models.Component(Enums.ComponentType.Library, plain, { group: scope, version });
  component.purl = purlOf(name, version);
  component.bomRef.value = `${component.purl}#${path}`;
  addLicense(component, license);
  const [algorithm, digest] = (integrity ?? "").split(/-(.*)/s);
  if (algorithm === "sha512") {
    component.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(digest, "base64").toString("hex"));
  }
  component.properties.add(new Models.Property("art-e:placement", isBuiltIn ? "built in" : "installed by npm"));
  return component;
}

function purlOf(name, version) {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function addLicense(component, license) {
  if (license === undefined) return;
  const isExpression = / (OR|AND|WITH) /.test(license);
  if (isExpression) component.licenses.add(new Models.LicenseExpression(license));
  else if (SPDX.isSupportedSpdxId(license)) component.licenses.add(new Models.SpdxLicense(license));
  else component.licenses.add(new Models.NamedLicense(license));
}

/** The lockfile's path of a package that the package at `from` loads: the nearest one, going up. */
function resolve(from, name, lock) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = join(folder, "node_modules", name).replaceAll("\\", "/");
    if (lock[path] !== undefined) return path;
    if (folder === "") return undefined;
  }
}
