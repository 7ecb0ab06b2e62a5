// What Pyodide sees of JavaScript: a bare realm of its own, with the few things a WebAssembly Python cannot do without.
//
// `wasm.mjs` runs this text inside a `vm` context. It must stay free of imports, and it keeps every function of the outside in a
// closure: only strings, numbers and bytes cross, so that no object made outside can be walked back to Node.

/** Puts the globals up. `outside` is the one object of the other side; nothing here may hand it on. */
export function furnish(outside) {
  const call = (name, ...values) => {
    try {
      return outside[name](...values);
    } catch (error) {
      // An error made outside has the outside's constructors on it.
      throw new TypeError(`${error?.message}`);
    }
  };

  globalThis.TextDecoder = class TextDecoder {
    #label;
    #options;
    constructor(label = "utf-8", options = {}) {
      this.#label = `${label}`;
      this.#options = [Boolean(options.fatal), Boolean(options.ignoreBOM)];
    }
    get encoding() {
      return this.#label;
    }
    decode(bytes = new Uint8Array()) {
      return call("decode", this.#label, ...this.#options, bytes);
    }
  };
  globalThis.TextEncoder = class TextEncoder {
    encode(text = "") {
      const bytes = new Uint8Array(`${text}`.length * 3);
      return bytes.slice(0, call("encode", `${text}`, bytes));
    }
    encodeInto(text, bytes) {
      return { written: call("encode", `${text}`, bytes) };
    }
  };
  globalThis.crypto = {
    getRandomValues(view) {
      const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      const random = call("random", bytes.length);
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = random.charCodeAt(index);
      return view;
    },
  };
  globalThis.performance = { now: () => call("now") };
  globalThis.setTimeout = (action, milliseconds = 0, ...values) =>
    call("setTimeout", () => void action(...values), Number(milliseconds));
  globalThis.clearTimeout = (timer) => call("clearTimeout", Number(timer));
  globalThis.console = Object.fromEntries(
    ["debug", "error", "info", "log", "warn"].map((level) => [level, () => undefined]),
  );
  // Pyodide takes a place with `read` and `load` for a bare JavaScript shell, and asks it for its files.
  globalThis.read = (name) => call("readText", `${name}`);
  globalThis.readbuffer = (name) => {
    const bytes = new Uint8Array(call("fileSize", `${name}`));
    call("readInto", `${name}`, bytes);
    return bytes;
  };
  globalThis.load = () => {
    throw new TypeError("no scripts are loaded here");
  };
  // Emscripten takes a place with this for a worker, and then asks `crypto` for randomness instead of a shell command.
  globalThis.WorkerGlobalScope = class WorkerGlobalScope {};
}

const SITE_PACKAGES = "/lib/python3.14/site-packages";

/** Starts Python and returns the function that answers one request, as text, with one result, as text. */
export async function startPython(loadPyodide, createPyodideModule, wheels, snapshotKey) {
  const snapshot = readSnapshot(snapshotKey);
  const python = await loadPyodide({ ...settings(createPyodideModule), ...(snapshot && { _loadSnapshot: snapshot }) });
  for (const wheel of wheels.split("\n")) {
    python.unpackArchive(readbuffer(`/wheels/${wheel}`), "zip", { extractDir: SITE_PACKAGES });
  }
  python.FS.mkdirTree("/runner");
  for (const name of ["local.py", "quiet_loop.py"]) {
    python.FS.writeFile(`/runner/${name}`, read(`/runners/${name}`));
  }
  // A snapshot remembers its random numbers too.
  const answer = python.runPython(`
import random, sys
random.seed()
sys.path.insert(0, "/runner")
import local, quiet_loop
sys.path.remove("/runner")
quiet_loop.install()
local.answer
`);
  return (request) => `${answer(request)}`;
}

/** The memory of a Python that has just started, with what `local.py` imports: loading it is three times as fast as starting. */
export async function makeSnapshot(loadPyodide, createPyodideModule) {
  const python = await loadPyodide({ ...settings(createPyodideModule), _makeSnapshot: true });
  python.runPython("import ast, asyncio, importlib, inspect, io, json, runpy, shutil, tempfile, traceback");
  return python.makeMemorySnapshot();
}

function settings(createPyodideModule) {
  return {
    indexURL: "/pyodide/",
    createPyodideModule,
    lockFileContents: JSON.parse(read("/pyodide/pyodide-lock.json")),
    // All that `import js` will show.
    jsglobals: { __proto__: null, setTimeout, clearTimeout, Object, Array, Promise, Error },
    env: { HOME: "/home", TMPDIR: "/tmp", PYTHONDONTWRITEBYTECODE: "1" },
    // `local.py` catches what Python prints; what arrives here is below Python and belongs to nobody.
    stdout: () => undefined,
    stderr: () => undefined,
  };
}

/** A snapshot begins with the key of what it was made with; one of something else, or none, is no reason to fail. */
function readSnapshot(key) {
  let bytes;
  try {
    bytes = readbuffer("/snapshot.bin");
  } catch {
    return undefined;
  }
  const isOurs = new TextDecoder().decode(bytes.slice(0, key.length)) === key;
  return isOurs ? bytes.slice(key.length) : undefined;
}
