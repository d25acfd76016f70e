// The package as npm installs it, from files, without any network.
"use strict";
const assert = require("node:assert");
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const { HOLDFAST, ROOT, folder } = require("./common.js");

const PACKAGE = path.resolve(__dirname, "..");
const ARCH = process.arch;
const hasNpm = spawnSync("npm", ["--version"]).status === 0;
const skip = !hasNpm ? "no npm here" : !["x64", "arm64"].includes(ARCH) ? `no package for ${ARCH}` : false;
const NPM = ["--offline", "--no-audit", "--no-fund", "--cache", path.join(folder, "cache")];

function pack(from) {
  const out = execFileSync("npm", ["pack", "--json", "--pack-destination", folder, ...NPM, from], { cwd: folder });
  const [{ filename, files }] = JSON.parse(out);
  return { file: path.join(folder, filename.replace("@", "").replace("/", "-")), files: files.map((one) => one.path) };
}

// A program with the package in its node_modules, and a PATH without holdfast.
function run(code, env = {}) {
  fs.writeFileSync(path.join(folder, "app", "main.js"), code);
  const { HOLDFAST_COMMAND, ...rest } = process.env;
  return execFileSync(process.execPath, ["main.js"], {
    cwd: path.join(folder, "app"),
    env: { ...rest, PATH: "/nowhere", ...env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

test("all packages have the version of the library", () => {
  const header = fs.readFileSync(path.join(ROOT, "include/holdfast.h"), "utf8");
  const version = ["MAJOR", "MINOR", "PATCH"].map((part) => RegExp(`HF_VERSION_${part} (\\d+)`).exec(header)[1]).join(".");
  const own = require("../package.json");
  assert.deepEqual([own.version, ...Object.values(own.optionalDependencies)], [version, version, version]);
});

test("the package has what it needs, and no more", { skip }, () => {
  const { files } = pack(PACKAGE);
  assert.deepEqual(files.filter((file) => !file.startsWith("lib/")).sort(),
    ["README.md", "index.d.ts", "package.json"]);
  assert.ok(files.includes("lib/index.js"));
});

test("installed from files, with the package for this platform", { skip }, () => {
  execFileSync(path.join(PACKAGE, "platform/fill"), [ARCH, HOLDFAST, folder]);
  const own = pack(PACKAGE), platform = pack(path.join(folder, `linux-${ARCH}`));
  assert.deepEqual(platform.files.sort(), ["README.md", "bin/holdfast", "package.json"]);
  fs.mkdirSync(path.join(folder, "app"));
  fs.writeFileSync(path.join(folder, "app", "package.json"), '{"name":"app","version":"1.0.0"}');
  execFileSync("npm", ["install", ...NPM, own.file, platform.file], { cwd: path.join(folder, "app"), stdio: "pipe" });
  const code = `require("holdfast").request("a", (lock) => console.log(lock.name, typeof lock.token))`;
  assert.equal(run(code), "a bigint\n");
  fs.rmSync(path.join(folder, "app/node_modules/@holdfast"), { recursive: true });
  assert.equal(run(code, { PATH: path.dirname(HOLDFAST) }), "a bigint\n");
  assert.throws(() => run(code), /cannot find the holdfast command/);
});

test("as an ES module", { skip }, () => {
  fs.writeFileSync(path.join(folder, "app", "main.mjs"),
    'import { lock, LockLostError } from "holdfast";\nconst one = await lock("a");\nawait one.release();\n' +
    "console.log(LockLostError.name);");
  const out = execFileSync(process.execPath, ["main.mjs"], { cwd: path.join(folder, "app"), encoding: "utf8" });
  assert.equal(out, "LockLostError\n");
});

test("fill refuses a file for another platform", { skip }, () => {
  const other = ARCH === "x64" ? "arm64" : "x64";
  assert.throws(() => execFileSync(path.join(PACKAGE, "platform/fill"), [other, HOLDFAST, folder], { stdio: "pipe" }),
    /is no program for/);
});

// The blocks of the README, typed as they stand.
const blocks = [...fs.readFileSync(path.join(PACKAGE, "README.md"), "utf8").matchAll(/^```js\n(.*?)^```$/gms)];
const PRINTS = [/^writing the report, token \d+n\nsending it\n$/, /^alone, in sqlite:.*locks\.db\n$/, /^paid true\n$/];
for (const [number, [, code]] of blocks.entries())
  test(`block ${number + 1} of the README`, { skip }, () => {
    assert.match(run(code, { PATH: path.dirname(HOLDFAST) }), PRINTS[number]);
  });

test("all blocks of the README are known", () => assert.equal(blocks.length, PRINTS.length));
