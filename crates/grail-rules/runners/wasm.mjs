// Answers requests to run Python 3.14 in WebAssembly: one JSON object per line in, one per line out, as `local.py` describes them.
//
// WebAssembly alone is no wall, since Python can reach JavaScript there. So Pyodide gets a realm without Node in it (`inside.mjs`), the
// process has no rights that a way out of that realm could use, and it refuses to serve when it was started with more. What this
// cannot keep is time: whoever starts it kills it. Requests to one process can spoil one another; use one process for what belongs together.
//
// Started as, with an empty environment and a RUNTIME folder as `scripts/runtimes` makes it:
//
//   node --permission --allow-fs-read=RUNTIME/ --disallow-code-generation-from-strings --experimental-vm-modules --no-warnings
//        RUNTIME/runners/wasm.mjs
//
// (`--experimental-permission` before Node 22.13). `--wasm-max-mem-pages=8192` bounds the memory of Python at 512 MiB. With
// `--make-snapshot` after it, it writes to standard output what `RUNTIME/snapshot.bin` should hold, for a quicker start.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, parse, sep } from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const MAX_REQUEST = 16 * 1024 * 1024;
const MAX_RESULT = 8 * 1024 * 1024;
const MAX_TIMERS = 10_000;

// Kept here because `disarm` takes them from the global object.
const { Buffer, TextDecoder, TextEncoder, clearTimeout, performance, process, setTimeout } = globalThis;
const runtime = dirname(dirname(fileURLToPath(import.meta.url)));

const missing = missingWalls();
if (missing.length > 0) {
  process.stderr.write(
    `error: the walls are not up: ${missing.join(", ")}\n` +
      "hint: start Node with the arguments at the top of `wasm.mjs`\n",
  );
  process.exit(2);
}
disarm();
// A promise that fails inside is the business of the inside; by default it would end the process.
process.on("unhandledRejection", () => undefined);
if (process.argv.includes("--make-snapshot")) {
  const snapshot = await startPython({ asSnapshot: true });
  process.stdout.write(Buffer.concat([Buffer.from(snapshotKey()), Buffer.from(snapshot)]));
} else {
  await serve(await startPython({ asSnapshot: false }));
}

function missingWalls() {
  const rights = process.permission;
  if (rights === undefined) {
    return ["Node's permission model is off"];
  }
  const elsewhere = parse(runtime).root;
  const walls = [
    ["files outside the runtime can be read", () => rights.has("fs.read", elsewhere)],
    ["files can be written", () => rights.has("fs.write", runtime) || rights.has("fs.write", elsewhere)],
    ["processes can be started", () => rights.has("child")],
    ["threads can be started", () => rights.has("worker")],
    // Older versions know no such right and say no.
    ["the network can be reached", () => rights.has("net")],
    ["text can become JavaScript", () => new Function("return true")()],
  ];
  return walls.filter(([, stands]) => attempt(stands)).map(([name]) => name);
}

function attempt(action) {
  try {
    return action();
  } catch {
    return false;
  }
}

/** The realm inside has none of this. It goes here too, so that a way out of that realm would lead into an empty room. */
function disarm() {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const name of ["binding", "_linkedBinding", "dlopen", "getBuiltinModule", "kill", "abort", "chdir", "mainModule"]) {
    delete process[name];
  }
  const bare = new Set(vm.runInNewContext("Object.getOwnPropertyNames(globalThis)"));
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!bare.has(name)) delete globalThis[name];
  }
}

/** The function that answers a request, both as text, from inside the realm; or the bytes of a snapshot of it. */
async function startPython({ asSnapshot }) {
  const realm = vm.createContext(Object.create(null), { codeGeneration: { strings: false, wasm: true } });
  const inside = await loadModule(realm, "runners/inside.mjs");
  const outside = makeOutside();
  inside.furnish(outside);
  const { loadPyodide } = await loadModule(realm, "pyodide/pyodide.mjs");
  const { default: createPyodideModule } = await loadModule(realm, "pyodide/pyodide.asm.mjs");
  if (asSnapshot) {
    return inside.makeSnapshot(loadPyodide, createPyodideModule);
  }
  const wheels = readdirSync(join(runtime, "wheels")).filter((name) => name.endsWith(".whl"));
  const answer = await inside.startPython(loadPyodide, createPyodideModule, wheels.sort().join("\n"), snapshotKey());
  // Python is up and has no more business with files.
  for (const name of ["readText", "fileSize", "readInto"]) delete outside[name];
  return answer;
}

/** A snapshot holds what it was made with: another Pyodide or another realm needs another. */
function snapshotKey() {
  const hash = createHash("sha256");
  for (const name of ["runners/inside.mjs", "pyodide/package.json"]) hash.update(readFileSync(join(runtime, name)));
  return hash.digest("hex");
}

/** Without a callback for them, `import()` in these modules is an error: nothing of Node can be imported from inside. */
async function loadModule(realm, name) {
  const module = new vm.SourceTextModule(readFileSync(join(runtime, name), "utf8"), {
    context: realm,
    identifier: name,
    initializeImportMeta: (meta) => {
      meta.url = `file:///${name}`;
    },
  });
  await module.link(() => {
    throw new Error(`${name} imports something`);
  });
  await module.evaluate();
  return module.namespace;
}

/** What the realm may ask for. Arguments come from code that is not trusted: no method of theirs is called, none is handed on. */
function makeOutside() {
  const setsBytes = Uint8Array.prototype.set;
  const timers = new Map();
  let lastTimer = 0;
  const inRuntime = (name) => {
    const path = join(runtime, name);
    if (!path.startsWith(runtime + sep)) throw new Error("outside the runtime");
    return path;
  };
  return {
    __proto__: null,
    decode: (label, fatal, ignoreBOM, bytes) => new TextDecoder(label, { fatal, ignoreBOM }).decode(bytes),
    encode: (text, bytes) => new TextEncoder().encodeInto(text, bytes).written,
    random: (count) => randomBytes(Math.min(count, 65536)).toString("latin1"),
    now: () => performance.now(),
    setTimeout: (action, milliseconds) => {
      if (timers.size >= MAX_TIMERS) throw new Error("too many timers");
      const timer = (lastTimer += 1);
      const run = () => {
        timers.delete(timer);
        // What is thrown inside stays there; it must not end the process that has a result to give.
        attempt(() => action());
      };
      timers.set(timer, setTimeout(run, milliseconds).unref());
      return timer;
    },
    clearTimeout: (timer) => {
      clearTimeout(timers.get(timer));
      timers.delete(timer);
    },
    readText: (name) => readFileSync(inRuntime(name), "utf8"),
    fileSize: (name) => statSync(inRuntime(name)).size,
    readInto: (name, bytes) => void setsBytes.call(bytes, readFileSync(inRuntime(name))),
  };
}

async function serve(answer) {
  for await (const request of requestLines()) {
    const result = request === undefined ? refuse("request has too many bytes") : attempt(() => answer(request));
    if (!isResult(result)) {
      // The interpreter is broken for good: say so and make room for another.
      process.stdout.write(`${refuse("the run broke the interpreter")}\n`, () => process.exit(3));
      return;
    }
    process.stdout.write(`${result}\n`);
  }
}

/** The inside may be spoilt: what it says must at least be one object on one line. */
function isResult(text) {
  if (typeof text !== "string" || text.length > MAX_RESULT || text.includes("\n")) return false;
  const value = attempt(() => JSON.parse(text));
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(message) {
  const error = { type: "RunnerError", message, traceback: "" };
  return JSON.stringify({ id: null, ok: false, exit: null, stdout: "", stderr: "", error });
}

/** The lines of standard input; `undefined` for one that is too long. */
async function* requestLines() {
  let parts = [];
  let size = 0;
  const finish = () => {
    const line = size > MAX_REQUEST ? undefined : Buffer.concat(parts).toString("utf8");
    parts = [];
    size = 0;
    return line;
  };
  for await (let chunk of process.stdin) {
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
      parts.push(chunk.subarray(0, end));
      size += end;
      chunk = chunk.subarray(end + 1);
      yield finish();
    }
    size += chunk.length;
    if (size > MAX_REQUEST) parts = [];
    else if (chunk.length > 0) parts.push(chunk);
  }
  if (size > 0) yield finish();
}
