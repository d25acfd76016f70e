// command.js - finds the holdfast command.
"use strict";
const fs = require("fs");
const path = require("path");
const { HoldfastError } = require("./errors.js");

const PACKAGE = `@holdfast/${process.platform}-${process.arch}`;

function fromPackage() {
  try {
    return require.resolve(`${PACKAGE}/bin/holdfast`);
  } catch {
    return undefined; // there is none for this platform, or npm left it out
  }
}

function fromPath() {
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    const file = path.join(folder, "holdfast");
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (path.isAbsolute(file) && fs.statSync(file).isFile()) return file;
    } catch {
      continue;
    }
  }
  return undefined;
}

// The package comes first: it has the same version as this one.
function findCommand() {
  const found = process.env.HOLDFAST_COMMAND || fromPackage() || fromPath();
  if (found === undefined && process.platform !== "linux")
    throw new HoldfastError("HF_EUNSUPPORTED", `Holdfast runs on Linux only, not on ${process.platform}`);
  if (found === undefined)
    throw new HoldfastError(
      "HF_ENOTFOUND",
      `cannot find the holdfast command: the package ${PACKAGE} is not installed, and there is no ` +
        "holdfast in PATH; install one of them, or name the file by HOLDFAST_COMMAND",
    );
  return found;
}

module.exports = { findCommand };
