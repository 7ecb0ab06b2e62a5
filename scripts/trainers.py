"""`grail train` with grail-local, mlx-lm and TRL on toy models, and each of their adapters in the other two. Run by scripts/trainers.

A loss in the table is that of the same adapter on the same rows, in another program: it says whether weights, scales, layers, rotation,
tokens and masks are understood alike. Each is also shown to notice: a base without its adapter has another loss. A gradient is that of
grail-local's own step, matrix by matrix beside what mlx-lm computes for the same adapter and rows; other rows and adapters have another.
"""

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import mlx.core as mx
import mlx.nn
import mlx_lm
import numpy
import torch
from mlx.utils import tree_flatten
from mlx_lm.sample_utils import make_sampler
from mlx_lm.tuner.trainer import default_loss
from peft import PeftModel
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

SCRIPT = Path(__file__).parent.parent / "crates/grail-agent/src/training/train_with_trl.py"
TRAINERS = ("local", "mlx", "trl")
ITERATIONS = 40
SETTINGS = "--batch-size 4 --max-tokens 256 --scale 10 --validate 2 --threads 1".split()
# All compute in single precision, but not in the same order.
CLOSE = 1e-3
# How much rows count where gradients are compared, in turn; and what AdamW's first moment has of a gradient after one step.
WEIGHTS = (0.5, 1.0, 2.0)
FIRST_SHARE = 0.1
# How long answers are, and how much likelier than the next a token must be to be the same everywhere.
LONGEST = 24
CLEARLY = 0.05
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WORDS = """
    lamp garden ticket river invoice mirror planet bakery ladder sailor violin carpet engine forest glacier hammer island jacket kettle lantern
    magnet needle orchard pencil quarry rabbit saddle temple umbrella valley walnut yacht zebra anchor basket candle desert eagle feather guitar
    harbour insect jungle kitchen lemon meadow napkin oyster parrot quilt ribbon signal tunnel uncle velvet window acorn bridge copper dragon
    elbow fossil gravel helmet ivory jewel kernel lizard mango nephew onion puzzle rocket shovel turtle urchin vessel wagon yarn almond
    barrel cactus domino emerald funnel goblet hazel ingot jigsaw kayak locket marble nectar opal pillow quiver raisin spindle thimble
""".split()
SHAPES = [
    ("Write how to add a {one} to the {other}", "def add_{one}({other}: list[str], {third}: str) -> list[str]:\n    return [*{other}, {third}]\n"),
    ("A class for the {other} of a {one}", "class {one}:\n    {other}: int = 0\n\n    def {third}(self) -> int:\n        return self.{other}\n"),
    ("Count every {one} with a {other}", "def count(items):\n    {third} = [item for item in items if item.{one}]\n    return len({third}) + {other}\n"),
    ("Is the {one} heavier than its {other}?", "def is_heavier({one}: float, {other}: float) -> bool:\n    {third} = {one} - {other}\n    return {third} > 0\n"),
    ("Read the {one} from a file of {other}", "def read_{one}(path):\n    with open(path) as {other}:\n        return {other}.read().split('{third}')\n"),
]


class Grail:
    """The program in a project, with the trainers on its path."""

    def __init__(self, program: str, project: Path) -> None:
        self.program = program
        self.project = project
        self.environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        command = [self.program, *arguments, "--format", "json"]
        return subprocess.run(command, cwd=self.project, capture_output=True, text=True, env=self.environment | variables)

    def json(self, *arguments: str) -> dict:
        done = self.run(*arguments)
        if done.returncode != 0:
            raise SystemExit(f"error: `grail {' '.join(arguments)}` ended with {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def train(self, trainer: str, model: str, *options: str) -> dict:
        return self.json("train", "--trainer", trainer, "--model", model, *SETTINGS, *options)["phase"]

    def adapter(self, phase: dict) -> Path:
        return self.project / ".grail/phases" / phase["id"] / "adapter"

    @contextmanager
    def served(self, model: str):
        command = [self.program, "models", "serve", model, "--threads", "1", "--format", "json"]
        process = subprocess.Popen(command, cwd=self.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        try:
            # It goes on after this one object, which has several lines.
            lines = []
            while not lines or lines[-1] not in ("", "}\n"):
                lines.append(process.stdout.readline())
            if not lines[-1]:
                raise SystemExit(f"error: `{model}` is not served\n{process.stderr.read()}")
            yield json.loads("".join(lines))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def make_dataset(grail: Grail) -> dict:
    """Short rows, each about things of its own: similar ones would all come to the same side of the split."""
    rows = []
    for number, words in enumerate(zip(WORDS[::3], WORDS[1::3], WORDS[2::3])):
        request, code = SHAPES[number % len(SHAPES)]
        one, other, third = words
        fill = {"one": one, "other": other, "third": third}
        rows.append({"prompt": request.format(**fill), "completion": code.format(**fill)})
    (grail.project / "theirs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    grail.json("dataset", "import", "theirs.jsonl", "--name", "theirs", "--licence", "MIT")
    return grail.json("dataset", "build", "--valid", "0.2", "--test", "0")["dataset"]


def make_model(folder: Path, texts: list[str], is_tied: bool) -> Path:
    """A model of the Llama family that knows nothing yet, with a tokenizer for these texts."""
    folder.mkdir()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    learner = trainers.BpeTrainer(vocab_size=640, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, learner)
    tokenizer.save(str(folder / "tokenizer.json"))
    hidden, layers, heads, key_heads, inner, vocabulary = 64, 4, 4, 2, 160, tokenizer.get_vocab_size()
    keys = hidden // heads * key_heads
    chance = numpy.random.default_rng(7)
    tensors = {}

    def add(name: str, *shape: int, scale: float, mean: float = 0.0) -> None:
        tensors[f"{name}.weight"] = (mean + scale * chance.standard_normal(shape)).astype(numpy.float32)

    add("model.embed_tokens", vocabulary, hidden, scale=0.2)
    add("model.norm", hidden, scale=0.1, mean=1.0)
    if not is_tied:
        add("lm_head", vocabulary, hidden, scale=0.2)
    for layer in range(layers):
        place = f"model.layers.{layer}"
        add(f"{place}.input_layernorm", hidden, scale=0.1, mean=1.0)
        add(f"{place}.post_attention_layernorm", hidden, scale=0.1, mean=1.0)
        projections = {"q": (hidden, hidden), "k": (keys, hidden), "v": (keys, hidden), "o": (hidden, hidden)}
        for name, shape in projections.items():
            add(f"{place}.self_attn.{name}_proj", *shape, scale=shape[1] ** -0.5)
        for name, shape in {"gate": (inner, hidden), "up": (inner, hidden), "down": (hidden, inner)}.items():
            add(f"{place}.mlp.{name}_proj", *shape, scale=shape[1] ** -0.5)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": key_heads, "intermediate_size": inner, "hidden_act": "silu",
        "rms_norm_eps": 1e-5, "rope_theta": 50000.0, "vocab_size": vocabulary, "max_position_embeddings": 2048,
        "tie_word_embeddings": is_tied, "bos_token_id": 0, "eos_token_id": 2, "torch_dtype": "float32",
    }  # fmt: skip
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "chat_template": TEMPLATE, "bos_token": special[0], "eos_token": special[2],
        "pad_token": special[0],
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def rows_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


class Losses:
    """The loss of a model with an adapter on the answers of some rows, in each of the programs; and what each of them says."""

    def __init__(self, local: str, model: Path, data: Path, scratch: Path) -> None:
        self.local, self.model, self.data, self.scratch = local, model, data, scratch
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.rows = [self.tokens(row["messages"]) for row in rows_of(data / "valid.jsonl")]
        self.asked = [row["messages"][:-1] for row in rows_of(data / "valid.jsonl")[:3]]

    def tokens(self, messages: list[dict]) -> tuple[list[int], int]:
        """The tokens of a row, and where its answer begins. After the end of the answer nobody asks any more."""
        prompt = self.tokenizer.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True)
        whole = self.tokenizer.apply_chat_template(messages, tokenize=False)
        first = self.tokenizer.encode(prompt, add_special_tokens=False)
        return first + self.tokenizer.encode(whole[len(prompt) :].removesuffix("\n"), add_special_tokens=False), len(first)

    def mean(self, logits) -> float:
        total, count = 0.0, 0
        for tokens, start in self.rows:
            scores = logits(tokens[:-1])[start - 1 :].astype(numpy.float64)
            highest = scores.max(axis=1, keepdims=True)
            totals = numpy.log(numpy.exp(scores - highest).sum(axis=1)) + highest[:, 0]
            total += float((totals - scores[numpy.arange(len(scores)), tokens[start:]]).sum())
            count += len(scores)
        return total / count

    def in_grail(self, adapter: Path | None, settings: dict) -> float:
        """The trainer's validation loss after a step that changes nothing."""
        return self.step(adapter, settings)[1][-1]["valid_loss"]

    def step(self, adapter: Path | None, settings: dict, **others) -> tuple[Path, list[dict]]:
        """A step of the trainer that changes nothing: the folder it wrote to, and what it told."""
        output = Path(tempfile.mkdtemp(dir=self.scratch))
        measures = {name: settings[name] for name in ("rank", "scale", "layers") if settings.get(name)}
        settings = measures | {
            "model": str(self.model), "train": str(self.data / "train.jsonl"), "valid": str(self.data / "valid.jsonl"),
            "output": str(output / "run"), "iterations": 1, "batch_size": 1, "learning_rate": 1e-30, "max_tokens": 2048, "threads": 1,
            "adapter": adapter and str(adapter),
        } | others  # fmt: skip
        (output / "settings.json").write_text(json.dumps(settings))
        done = subprocess.run([self.local, "train", "--config", output / "settings.json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"error: grail-local does not train\n{done.stderr}")
        return output / "run", [json.loads(line) for line in done.stdout.splitlines()]

    def gradient_in_grail(self, adapter: Path, settings: dict, rows: list[dict]) -> tuple[dict, dict[str, numpy.ndarray]]:
        """What the trainer tells of a step with all these rows, and its gradient. The checkpoint has it, as moments begin at nothing."""
        file = Path(tempfile.mkdtemp(dir=self.scratch)) / "rows.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        output, told = self.step(adapter, settings, train=str(file), batch_size=len(rows), clip=0)
        moments = load_file(output / "checkpoints/1/optimizer.safetensors")
        firsts = {name.removesuffix(".first"): moment / FIRST_SHARE for name, moment in moments.items() if name.endswith(".first")}
        return next(event for event in told if event["event"] == "step"), firsts

    def gradient_in_mlx(self, adapter: Path, rows: list[tuple[list[int], int, float]]) -> tuple[float, dict[str, numpy.ndarray]]:
        """The loss of rows (tokens, where the answer begins, weight) by mlx-lm's own formula, and its gradient. Each row by itself, as padding
        would count, and as mlx-lm knows no weights."""
        network, _ = mlx_lm.load(str(self.model), adapter_path=str(adapter))
        network.freeze()
        network.unfreeze(keys=["lora_a", "lora_b"])

        def loss() -> mx.array:
            total, count = mx.array(0.0), mx.array(0.0)
            for tokens, start, weight in rows:
                mean, size = default_loss(network, mx.array([tokens]), mx.array([[start, len(tokens)]]))
                total, count = total + weight * size * mean, count + weight * size
            return total / count

        value, gradients = mlx.nn.value_and_grad(network, loss)()
        return value.item(), {name: numpy.array(matrix) for name, matrix in tree_flatten(gradients)}

    def in_mlx(self, adapter: Path | None, lengths: list[int]) -> tuple[float, list[str]]:
        network, tokenizer = mlx_lm.load(str(self.model), adapter_path=adapter and str(adapter))
        loss = self.mean(lambda tokens: numpy.array(network(mx.array([tokens]))[0]))
        prompts = [tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False) for asked in self.asked]
        greedy = make_sampler(temp=0.0)
        texts = []
        for prompt, length in zip(prompts, lengths):
            # Tokens, as its own way to text has another sign for some bytes.
            steps = mlx_lm.stream_generate(network, tokenizer, prompt, max_tokens=length, sampler=greedy) if length else []
            texts.append(self.tokenizer.decode([step.token for step in steps], skip_special_tokens=True))
        return loss, texts

    def in_peft(self, adapter: Path | None, settings: dict) -> tuple[float, list[str], list[int]]:
        """Also how many tokens of each answer are clear enough to be the same in every program."""
        network = AutoModelForCausalLM.from_pretrained(self.model)
        if adapter is not None and (adapter / "peft").is_dir():
            network = PeftModel.from_pretrained(network, adapter / "peft")
        elif adapter is not None:
            # mlx-lm writes no other layout than its own; this is how `grail train --trainer trl` goes on from it.
            network = trl_script().load_adapter({"layers": None} | settings | {"adapter": str(adapter)}, network)
        network.eval()
        with torch.no_grad():
            loss = self.mean(lambda tokens: network(torch.tensor([tokens])).logits[0].numpy())
            answers = [self.answer(network, asked) for asked in self.asked]
        return loss, [self.tokenizer.decode(answer, skip_special_tokens=True) for answer in answers], [len(answer) for answer in answers]

    def answer(self, network: torch.nn.Module, asked: list[dict]) -> list[int]:
        """The likeliest tokens, as long as each is clearly the likeliest."""
        prompt = self.tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
        answer = []
        while len(answer) < LONGEST:
            (first, second), (token, _) = network(torch.tensor([prompt + answer])).logits[0, -1].topk(2)
            if first - second < CLEARLY or token == self.tokenizer.eos_token_id:
                break
            answer.append(int(token))
        return answer

    def said(self, server: dict, lengths: list[int]) -> list[str]:
        """What a server of Grail answers."""
        texts = []
        for asked, length in zip(self.asked, lengths):
            if not length:
                texts.append("")
                continue
            body = {"model": server["model"], "messages": asked, "temperature": 0, "max_tokens": length}
            headers = {"content-type": "application/json", "authorization": f"Bearer {server['token']}"}
            request = urllib.request.Request(f"{server['url']}/chat/completions", json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request) as answer:
                texts.append(json.load(answer)["choices"][0]["message"]["content"])
        return texts

    @contextmanager
    def served(self, adapter: Path):
        """grail-local with an adapter in whichever layout."""
        command = [self.local, "serve", "--model", self.model, "--adapter", adapter, "--name", "toy", "--threads", "1"]
        environment = os.environ | {"GRAIL_LOCAL_TOKEN": "a-token-for-the-toys"}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            told = process.stdout.readline()
            if not told:
                raise SystemExit(f"error: grail-local does not load `{adapter}`\n{process.stderr.read()}")
            port = json.loads(told)["ready"]["port"]
            yield {"url": f"http://127.0.0.1:{port}/v1", "model": "toy", "token": "a-token-for-the-toys"}
        finally:
            process.stdin.close()
            process.wait()


def trl_script():
    described = importlib.util.spec_from_file_location("train_with_trl", SCRIPT)
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


class Report:
    def __init__(self) -> None:
        self.problems: list[str] = []

    def check(self, is_right: bool, what: str) -> bool:
        if not is_right:
            self.problems.append(what)
            print(f"FAILED: {what}", flush=True)
        return is_right

    def row(self, name: str, learned: str, losses: list[float], words: str) -> None:
        told = "  ".join(f"{loss:11.5f}" for loss in losses)
        print(f"{name:<26} {learned:<17} {told}  {words}", flush=True)


def check_curves(report: Report, name: str, phase: dict, iterations: int) -> str:
    """How the loss fell, as the phase tells it."""
    losses = [point["loss"] for point in phase["curves"] if point.get("loss") is not None]
    steps = [point["step"] for point in phase["curves"] if point.get("loss") is not None]
    report.check(phase["state"]["state"] == "trained", f"{name}: the phase is {phase['state']}")
    if not report.check(steps == list(range(1, iterations + 1)), f"{name}: the curves have the steps {steps}"):
        return ""
    validated = [point["validation_loss"] for point in phase["curves"] if point.get("validation_loss") is not None]
    report.check(len(validated) > 1 and validated[-1] < validated[0], f"{name}: the validation losses are {validated}")
    first, last = numpy.mean(losses[:3]), numpy.mean(losses[-3:])
    report.check(last < 0.8 * first, f"{name}: the loss went from {first:.3f} to {last:.3f}")
    return f"{first:.3f} to {last:.3f}"


def compare(report: Report, grail: Grail, losses: Losses, name: str, learned: str, phase: dict | None) -> float:
    """One adapter in all three."""
    adapter = phase and grail.adapter(phase)
    settings = phase["hyper_parameters"] if phase else {}
    peft_loss, peft_words, lengths = losses.in_peft(adapter, settings)
    mlx_loss, mlx_words = losses.in_mlx(adapter, lengths)
    local = losses.in_grail(adapter, settings)
    with grail.served(f"phase:{phase['id']}" if phase else f"local:{losses.model}") as server:
        words = {"PEFT": peft_words, "mlx-lm": mlx_words, "grail-local": losses.said(server, lengths)}
    if adapter and (adapter / "peft").is_dir():
        with losses.served(adapter / "peft") as server:
            words["grail-local with PEFT's layout"] = losses.said(server, lengths)
    found = [local, mlx_loss, peft_loss]
    is_same = all(texts == peft_words for texts in words.values())
    report.row(name, learned, found, f"{sum(lengths)} tokens the same" if is_same else "OTHER WORDS")
    report.check(max(found) - min(found) < CLOSE, f"{name}: the losses are {found}")
    report.check(is_same, f"{name}: the answers are {words}")
    report.check(sum(lengths) > 8 or not phase, f"{name}: it says too little: {peft_words}")
    return local


def distance(found: dict[str, numpy.ndarray], expected: dict[str, numpy.ndarray]) -> float:
    """How far gradients are from the expected ones where they are farthest, as a share of the matrix there."""
    parts = [numpy.linalg.norm(found[name] - matrix) / numpy.linalg.norm(matrix) for name, matrix in expected.items()]
    return float(numpy.max(parts))


def compare_gradients(report: Report, grail: Grail, losses: Losses, name: str, phase: dict, other: dict) -> None:
    """What a step learns from all rows, each with its weight. The adapter is a trained one: in a fresh one half of the gradient is zero."""
    lines = sorted(set((losses.data / "train.jsonl").read_text().splitlines()))
    rows = [json.loads(line) | {"weight": WEIGHTS[number % len(WEIGHTS)]} for number, line in enumerate(lines)]
    weighted = [(*losses.tokens(row["messages"]), row["weight"]) for row in rows]
    adapter = grail.adapter(phase)
    told, found = losses.gradient_in_grail(adapter, phase["hyper_parameters"], rows)
    loss, expected = losses.gradient_in_mlx(adapter, weighted)
    if not report.check(found.keys() == expected.keys(), f"{name}: the matrices are {sorted(found)} and {sorted(expected)}"):
        return
    off = distance(found, expected)
    length = float(numpy.linalg.norm([numpy.linalg.norm(matrix) for matrix in expected.values()]))
    words = f"{'':11}  {len(found)} matrices, off by at most {off:.1e}"
    report.row(name, f"{told['loss']:.3f}", [told["gradient_norm"], length], words)
    report.check(abs(told["loss"] - loss) < CLOSE, f"{name}: the losses are {told['loss']} and {loss}")
    report.check(abs(told["gradient_norm"] - length) < CLOSE * length, f"{name}: its lengths are {told['gradient_norm']} and {length}")
    report.check(off < CLOSE, f"{name}: a matrix is off by {off}")
    others = {
        "with prompts learned": (adapter, [(tokens, 1, weight) for tokens, _, weight in weighted]),
        "without weights": (adapter, [(tokens, start, 1.0) for tokens, start, _ in weighted]),
        "of another adapter": (grail.adapter(other), weighted),
    }
    for what, (place, changed) in others.items():
        off = distance(found, losses.gradient_in_mlx(place, changed)[1])
        report.check(off > 10 * CLOSE, f"{name}: {what} it is off by {off} only, so nothing is shown")


def resume(report: Report, grail: Grail, trainer: str, model: str) -> None:
    """Interrupted after its first checkpoint, gone on with, and whole in the end."""
    iterations = 60
    options = ["train", "--trainer", trainer, "--model", model, "--iterations", str(iterations), *SETTINGS, "--format", "json"]
    known = set((grail.project / ".grail/phases").iterdir())
    process = subprocess.Popen([grail.program, *options], cwd=grail.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=grail.environment)
    while process.poll() is None:
        folders = [folder / "adapter" for folder in (grail.project / ".grail/phases").iterdir() if folder not in known]
        if any([*folder.glob("*_adapters.safetensors"), *folder.glob("checkpoints/checkpoint-*/trainer_state.json")] for folder in folders):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    if not report.check("`grail train --resume` goes on with it" in said, f"{trainer}: interrupted, it said {said!r}"):
        return
    before = next(phase for phase in grail.json("models", "list")["phases"] if phase["state"]["state"] == "training")["curves"]
    phase = grail.json("train", "--resume")["phase"]
    learned = check_curves(report, f"{trainer}, resumed", phase, iterations)
    # What was measured up to the first checkpoint was not measured again: speeds and times would be others.
    kept = [[point for point in points if point["step"] <= iterations // 4 and point.get("loss")] for points in (before, phase["curves"])]
    report.check(len(kept[0]) == iterations // 4 and kept[0] == kept[1], f"{trainer}: it began anew")
    files = sorted(str(file.relative_to(grail.adapter(phase))) for file in grail.adapter(phase).rglob("*"))
    report.check(not any("checkpoint" in file or "_adapters" in file for file in files), f"{trainer}: left behind {files}")
    print(f"{trainer + ', interrupted':<26} {learned:<17} gone on with by `--resume`", flush=True)


def check_refusals(report: Report, grail: Grail, model: str) -> None:
    """What is not there is named, with what to do."""
    without = grail.run("train", "--trainer", "mlx", "--model", model, PATH="/usr/bin:/bin")
    is_told = "needs `mlx_lm.lora`" in without.stderr and "hint: `pip install mlx-lm`" in without.stderr
    report.check(without.returncode == 2 and is_told, f"without mlx-lm: {without.returncode}, {without.stderr!r}")
    bare = Path(sys.base_prefix) / "bin" / "python3"
    (grail.project / "grail.toml").write_text(f'[train]\npython = "{bare}"\n')
    without = grail.run("train", "--trainer", "trl", "--model", model)
    (grail.project / "grail.toml").write_text("")
    is_told = "lacks a package" in without.stderr and "hint: `pip install trl peft`" in without.stderr
    report.check(without.returncode == 2 and is_told, f"without TRL: {without.returncode}, {without.stderr!r}")
    short = grail.run("train", "--trainer", "trl", "--model", model, "--max-tokens", "8")
    report.check(short.returncode == 2 and "no example has at most 8 tokens" in short.stderr, f"too long: {short.returncode}, {short.stderr!r}")
    print(f"{'refusals':<26} without mlx-lm, without TRL, without short examples: explained", flush=True)


def check_later_config(report: Report, losses: Losses, expected: float) -> None:
    """The same weights as transformers writes them now, which moves the rotation elsewhere in `config.json`."""
    folder = losses.scratch / f"{losses.model.name}-saved"
    AutoModelForCausalLM.from_pretrained(losses.model).save_pretrained(folder)
    losses.tokenizer.save_pretrained(folder)
    saved = Losses(losses.local, folder, losses.data, losses.scratch)
    found = saved.in_grail(None, {})
    print(f"{'saved by transformers':<26} {'':<17} {found:11.5f}", flush=True)
    report.check(abs(found - expected) < CLOSE, f"saved by transformers: {found} is not {expected}")


def work(program: str, scratch: Path) -> list[str]:
    project = scratch / "project"
    project.mkdir()
    (project / "grail.toml").write_text("")
    grail, report = Grail(program, project), Report()
    counts = make_dataset(grail)["counts"]
    data = scratch / "rows"
    grail.json("dataset", "export", "--to", "mlx", "--output", str(data), "--batch", "4")
    texts = ["\n".join(turn["content"] for turn in row["messages"]) for row in rows_of(data / "train.jsonl")]
    print(f"{counts['train']} examples, {counts['valid']} for validation, {ITERATIONS} steps of 4\n")
    print(f"{'adapter':<26} {'loss in training':<17} {'grail-local':>11}  {'mlx-lm':>11}  {'PEFT':>11}")
    for kind, layers in {"untied": None, "tied": 2}.items():
        model = make_model(scratch / kind, texts, kind == "tied")
        losses = Losses(f"{program}-local", model, data, scratch)
        base = compare(report, grail, losses, f"{kind}: none", "", None)
        phases = {}
        options = ["--layers", str(layers)] if layers else []
        for trainer in TRAINERS:
            name = f"{kind}: {trainer}" + (f", {layers} layers" if layers else "")
            phase = grail.train(trainer, f"local:{model}", "--iterations", str(ITERATIONS), "--learning-rate", "1e-3", *options)
            learned = check_curves(report, name, phase, ITERATIONS)
            found = compare(report, grail, losses, name, learned, phase)
            report.check(found < 0.8 * base, f"{name}: the loss is {found}, and was {base} before")
            phases[trainer] = phase, found
        name = f"{kind}: gradient" + (f", {layers} layers" if layers else "")
        compare_gradients(report, grail, losses, name, phases["local"][0], phases["mlx"][0])
        if layers:
            for first, (phase, expected) in phases.items():
                for second in TRAINERS:
                    if first != second:
                        name = f"{kind}: {first}, then {second}"
                        # So slow that what it learns cannot be seen: what is there is what it began with.
                        child = grail.train(second, f"phase:{phase['id']}", "--iterations", "1", "--learning-rate", "1e-12")
                        report.check(child["parent"] == phase["id"], f"{name}: its parent is {child['parent']}")
                        found = compare(report, grail, losses, name, "", child)
                        report.check(abs(found - expected) < CLOSE, f"{name}: {found} is not {expected}")
        else:
            check_later_config(report, losses, base)
            resume(report, grail, "mlx", f"local:{model}")
            resume(report, grail, "trl", f"local:{model}")
            check_refusals(report, grail, f"local:{model}")
    return report.problems


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("grail")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work in a new folder that stays")
    arguments = parser.parse_args()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    if arguments.keep:
        arguments.keep.mkdir(parents=True)
        problems = work(arguments.grail, arguments.keep.resolve())
    else:
        with tempfile.TemporaryDirectory() as scratch:
            problems = work(arguments.grail, Path(scratch))
    if problems:
        raise SystemExit(f"{len(problems)} things are not as they should be")
    print("every trainer trains, every adapter is the same in all three programs, and gradients are those of mlx-lm")


main()
