"""Every layout of `grail dataset export`, read by the loaders it is for. Run by scripts/dataset-loaders.

A sample dataset is made by Grail itself: the reference examples of the skills, and a few imported lines with pairs and calls of tools. Each
export is read, then broken on purpose and read again: a loader that does not notice proves nothing.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import datasets
import numpy
import pyarrow.parquet
from mlx_lm.tuner.datasets import CacheDataset, load_local_dataset
from mlx_lm.tuner.trainer import iterate_batches
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import TypeAdapter
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from trl.data_utils import is_conversational, maybe_apply_chat_template, maybe_unpair_preference_dataset

BATCH = 4
SPLITS = ("train", "valid", "test")
TEMPLATE = """{%- if tools %}{{ "<tools>" + tools | tojson + "</tools>\n" }}{% endif -%}
{%- for message in messages -%}
{{ "<|im_start|>" + message.role + "\n" + (message.content or "") }}
{%- for call in message.tool_calls or [] -%}
{{ "<tool_call>" + call.function.name + call.function.arguments + "</tool_call>" }}
{%- endfor -%}
{{ "<|im_end|>\n" }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ "<|im_start|>assistant\n" }}{% endif -%}"""

CALLS = [
    ("Where is the mail service used?", "find_usages", {"name": "MailService"}),
    ("List everything that the billing module defines", "outline", {"path": "billing.py", "private": False}),
    ("Which files import the clock?", "find_imports", {"module": "clock"}),
    ("Run the checks on the views folder", "check", {"paths": ["views"], "fix": False}),
    ("Rename OrderService to PurchaseService everywhere", "rename", {"name": "OrderService", "to": "PurchaseService"}),
    ("What does the rule about keyword parameters say?", "show_rule", {"rule": "service-keyword-only"}),
    ("Show me the tree of the greeting component", "tree", {"path": "greeting.py", "depth": 3}),
    ("Try the pagination example in the sandbox", "run", {"path": "pagination.py", "seconds": 5}),
]

PAIRS = [
    ("Sum the amounts of an invoice", "def total(amounts):\n    return sum(amounts)\n", "def total(amounts): pass\n"),
    ("Say whether a year is a leap year", "from calendar import isleap\n\n\ndef leaps(year):\n    return isleap(year)\n",
     "def leaps(year):\n    return year % 4 == 0\n"),
    ("Read the first line of a text file", "def first_line(path):\n    with open(path) as file:\n        return file.readline()\n",
     "def first_line(path):\n    return open(path).readline()\n"),
    ("Reverse the words of a sentence", "def reversed_words(sentence):\n    return ' '.join(sentence.split()[::-1])\n",
     "def reversed_words(sentence):\n    return sentence[::-1]\n"),
]


def grail(program: str, folder: Path, *arguments: str) -> dict:
    command = [program, *arguments, "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: `grail {' '.join(arguments)}` ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def make_dataset(program: str, project: Path) -> dict:
    def turn(role: str, content: str, **more: object) -> dict:
        return {"role": role, "content": content, **more}

    calls = []
    for request, tool, arguments in CALLS:
        function = {"name": tool, "arguments": json.dumps(arguments)}
        answer = turn("assistant", "", tool_calls=[{"id": "call_1", "type": "function", "function": function}])
        calls.append({"messages": [turn("user", request), answer]})
    pairs = [{"prompt": request, "chosen": good, "rejected": bad} for request, good, bad in PAIRS]
    for name, rows in {"calls": calls, "pairs": pairs}.items():
        (project / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        grail(program, project, "dataset", "import", f"{name}.jsonl", "--name", name, "--licence", "MIT")
    grail(program, project, "dataset", "import", "--skills")
    return grail(program, project, "dataset", "build", "--valid", "0.15", "--test", "0.15")


def rows_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=800, special_tokens=special, initial_alphabet=alphabet))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", chat_template=TEMPLATE)


def check_mlx(folder: Path, tokenizer: PreTrainedTokenizerFast, masks_prompt: bool = True) -> str:
    sets = load_local_dataset(folder, tokenizer, SimpleNamespace(mask_prompt=masks_prompt))
    told = []
    for name, rows in zip(SPLITS, sets):
        expected = len(rows_of(folder / f"{name}.jsonl"))
        assert len(rows) == expected > 0, f"{name}: {len(rows)} of {expected} rows"
        cached = CacheDataset(rows)
        for number in range(len(cached)):
            tokens, offset = cached[number]
            assert len(tokens) > 1, f"{name}: row {number + 1} has no tokens"
            assert (0 < offset < len(tokens)) == masks_prompt, f"{name}: row {number + 1} has nothing to learn behind its prompt"
        batches = list(iterate_batches(cached, BATCH, 8192))
        seen = sum(batch.shape[0] for batch, _ in batches)
        assert name != "train" or seen == expected, f"{name}: {seen} of {expected} rows in batches"
        told.append(f"{name} {expected} rows in {len(batches)} batches")
    return ", ".join(told)


def load(folder: Path) -> datasets.DatasetDict:
    """As `load_dataset(folder)` of a trainer finds the files."""
    loaded = datasets.load_dataset(str(folder), cache_dir=str(folder.parent / "cache"))
    for split, name in {"train": "train", "validation": "valid", "test": "test"}.items():
        expected = len(rows_of(folder / f"{name}.jsonl"))
        assert expected == 0 or loaded[split].num_rows == expected, f"{name}: {loaded[split].num_rows} of {expected} rows"
    return loaded


def check_trl(folder: Path, tokenizer: PreTrainedTokenizerFast, keys: set[str], is_chat: bool) -> str:
    loaded = load(folder)
    for split, rows in loaded.items():
        assert set(rows.column_names) == keys, f"{split} has the columns {rows.column_names}"
        for number, row in enumerate(rows):
            assert is_conversational(row) == is_chat, f"{split}: row {number + 1} is {'' if not is_chat else 'not '}conversational"
            text = maybe_apply_chat_template(row, tokenizer)
            for key in keys - {"label"}:
                assert isinstance(text[key], str) and tokenizer(text[key])["input_ids"], f"{split}: row {number + 1} has no {key}"
            assert text["prompt"].endswith("<|im_start|>assistant\n"), f"{split}: row {number + 1} does not ask for an answer"
            if "label" in keys:
                assert isinstance(row["label"], bool), f"{split}: row {number + 1} has no label"
            if "chosen" in keys:
                assert text["chosen"] != text["rejected"], f"{split}: row {number + 1} prefers nothing"
    if "chosen" in keys:
        unpaired = maybe_unpair_preference_dataset(loaded["train"])
        assert unpaired.num_rows == 2 * loaded["train"].num_rows
    return ", ".join(f"{split} {rows.num_rows} rows" for split, rows in loaded.items())


def check_openai(folder: Path, is_preference: bool) -> str:
    message, tool = TypeAdapter(ChatCompletionMessageParam), TypeAdapter(ChatCompletionFunctionToolParam)
    told = []
    for name in SPLITS:
        for number, row in enumerate(rows_of(folder / f"{name}.jsonl")):
            allowed = {"input", "preferred_output", "non_preferred_output"} if is_preference else {"messages", "tools"}
            assert set(row) <= allowed, f"{name}: row {number + 1} has the fields {sorted(row)}"
            asked = row["input"]["messages"] if is_preference else row["messages"]
            answers = row["preferred_output"] + row["non_preferred_output"] if is_preference else asked[-1:]
            assert asked and answers, f"{name}: row {number + 1} says nothing"
            for said in asked + answers:
                message.validate_python(said, strict=True)
            for described in row.get("tools", []):
                tool.validate_python(described)
            for said in answers:
                assert said["role"] == "assistant", f"{name}: row {number + 1} does not end with an answer"
                for call in said.get("tool_calls", []):
                    assert isinstance(json.loads(call["function"]["arguments"]), dict)
        told.append(f"{name} {len(rows_of(folder / f'{name}.jsonl'))} rows")
    return ", ".join(told)


def check_parquet(folder: Path) -> str:
    table = pyarrow.parquet.read_table(folder / "train.parquet")
    loaded = datasets.load_dataset(str(folder), cache_dir=str(folder.parent / "cache"))
    assert loaded["train"].num_rows == table.num_rows > 0
    weights = numpy.array(table["weight"])
    assert (weights > 0).all(), "a weight is not above 0"
    for row in table.to_pylist():
        assert [turn["role"] for turn in row["prompt"]][:2] == ["system", "user"], f"`{row['id']}` is asked by nobody"
        assert row["chosen"] or row["rejected"] or json.loads(row["calls"]), f"`{row['id']}` has no answer"
    return f"{table.num_rows} rows, {table.num_columns} columns, weights from {weights.min()} to {weights.max()}"


def check_grail(program: str, folder: Path, project: Path) -> str:
    for number, name in enumerate(SPLITS):
        if rows_of(folder / f"{name}.jsonl"):
            file = str(folder / f"{name}.jsonl")
            record = grail(program, project, "dataset", "import", file, "--name", f"own-{number}", "--licence", "MIT", "--replace")
            assert record["import"]["examples"] == len(rows_of(folder / f"{name}.jsonl"))
    return "imported again by Grail"


def break_export(folder: Path) -> None:
    """A last row in another form; a file that is no Parquet."""
    for file in folder.glob("train.*"):
        if file.suffix == ".parquet":
            file.write_bytes(file.read_bytes()[:-64])
        else:
            first = json.loads(file.read_text().splitlines()[0])
            odd = {key: (not value if isinstance(value, bool) else None if isinstance(value, str) else []) for key, value in first.items()}
            file.write_text(file.read_text() + json.dumps(odd) + "\n")


def main() -> None:
    program = sys.argv[1]
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as scratch:
        project, exports = Path(scratch) / "project", Path(scratch) / "exports"
        project.mkdir()
        exports.mkdir()
        (project / "grail.toml").write_text("")
        built = make_dataset(program, project)
        counts = built["dataset"]["counts"]
        print(f"dataset {built['dataset']['hash'][:12]}: {counts['train']} train, {counts['valid']} valid, {counts['test']} test")

        def export(layout: str, *options: str) -> Path:
            folder = exports / "-".join([layout, *(option.strip("-") for option in options)])
            grail(program, project, "dataset", "export", "--to", layout, "--output", str(folder), "--batch", str(BATCH), *options)
            return folder

        chatml, mlx = export("chatml"), export("mlx")
        texts = [row["text"] for row in rows_of(chatml / "train.jsonl")]
        tokenizer = make_tokenizer(texts)
        sft, dpo, kto = {"prompt", "completion"}, {"prompt", "chosen", "rejected"}, {"prompt", "completion", "label"}
        checks = {
            mlx: lambda folder: check_mlx(folder, tokenizer),
            export("tools"): lambda folder: check_mlx(folder, tokenizer),
            export("completions"): lambda folder: check_mlx(folder, tokenizer),
            chatml: lambda folder: check_mlx(folder, tokenizer, masks_prompt=False),
            export("trl-sft"): lambda folder: check_trl(folder, tokenizer, sft, True),
            export("trl-sft", "--standard"): lambda folder: check_trl(folder, tokenizer, sft, False),
            export("trl-dpo"): lambda folder: check_trl(folder, tokenizer, dpo, True),
            export("trl-dpo", "--standard"): lambda folder: check_trl(folder, tokenizer, dpo, False),
            export("trl-kto"): lambda folder: check_trl(folder, tokenizer, kto, True),
            export("trl-kto", "--standard"): lambda folder: check_trl(folder, tokenizer, kto, False),
            export("openai"): lambda folder: check_openai(folder, False),
            export("openai-dpo"): lambda folder: check_openai(folder, True),
            export("parquet"): check_parquet,
            export("grail"): lambda folder: check_grail(program, folder, project),
        }
        failed = False
        for folder, check in checks.items():
            try:
                print(f"{folder.name:<18} {check(folder)}")
            except Exception as error:
                failed = True
                print(f"{folder.name:<18} FAILED: {type(error).__name__}: {error}")
        # What a trainer makes of messages is what Grail writes as text.
        laid_out = {tokenizer.apply_chat_template(row["messages"], tokenize=False) for row in rows_of(mlx / "valid.jsonl")}
        written = {row["text"] for row in rows_of(chatml / "valid.jsonl")}
        if not laid_out <= written:
            failed = True
            print("FAILED: messages laid out by the chat template are not the text that Grail writes")
        for folder, check in checks.items():
            broken = exports / f"broken-{folder.name}"
            shutil.copytree(folder, broken)
            break_export(broken)
            try:
                check(broken)
                failed = True
                print(f"{folder.name:<18} FAILED: a broken export was not noticed")
            except (Exception, SystemExit):
                pass
        if failed:
            raise SystemExit(1)
        print(f"{len(checks)} exports are read by their loaders, and each one is refused when it is broken")


main()
