"""Trains a LoRA adapter with TRL and PEFT, as one file of settings says, and tells its progress as lines of JSON.

The adapter is written as the other trainers write it: in mlx-lm's layout, which they go on from, and below it in PEFT's, in `peft`.
"""

import json
import math
import shutil
import sys
import time
from pathlib import Path

# By name and not as "all-linear": only names can be restricted to some layers, and these are what the other trainers adapt.
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def tell(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def number(value):
    """Nothing if it is no number: JSON knows neither NaN nor infinity."""
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def adapted_layers(settings, model):
    """The last ones, or nothing for all of them."""
    count = model.config.num_hidden_layers
    return list(range(count))[-settings["layers"] :] if settings["layers"] else None


def lora_config(settings, model):
    from peft import LoraConfig

    return LoraConfig(
        r=settings["rank"],
        lora_alpha=settings["scale"] * settings["rank"],
        target_modules=PROJECTIONS,
        layers_to_transform=adapted_layers(settings, model),
        task_type="CAUSAL_LM",
    )


def load_adapter(settings, model):
    """The model with the adapter of a phase, in whichever of the two layouts the phase has it."""
    from peft import PeftModel, get_peft_model, set_peft_model_state_dict
    from safetensors.torch import load_file

    adapter = Path(settings["adapter"])
    for folder in (adapter / "peft", adapter):
        if (folder / "adapter_model.safetensors").exists():
            return PeftModel.from_pretrained(model, folder, is_trainable=True)
    names = {"lora_a": "lora_A.weight", "lora_b": "lora_B.weight"}
    turned = {}
    for name, matrix in load_file(adapter / "adapters.safetensors").items():
        layer, _, end = name.rpartition(".")
        turned[f"base_model.model.{layer}.{names[end]}"] = matrix.T.contiguous()
    model = get_peft_model(model, lora_config(settings, model))
    result = set_peft_model_state_dict(model, turned)
    missing = [name for name in result.missing_keys if ".lora_" in name]
    if missing or result.unexpected_keys:
        raise ValueError(f"the adapter in {adapter} has other layers than are trained: {(missing + result.unexpected_keys)[0]}")
    return model


def write_adapter(model, output):
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    model.save_pretrained(str(output / "peft"))
    names = {"lora_A": "lora_a", "lora_B": "lora_b"}
    turned, keys = {}, set()
    for name, matrix in get_peft_model_state_dict(model).items():
        layer, end, _ = name.removeprefix("base_model.model.").rsplit(".", 2)
        turned[f"{layer}.{names[end]}"] = matrix.float().T.contiguous()
        keys.add(layer.split(".", 3)[-1])
    config = model.peft_config["default"]
    parameters = {"rank": config.r, "scale": config.lora_alpha / config.r, "dropout": 0.0, "keys": sorted(keys)}
    layers = len({name.split(".")[2] for name in turned})
    config = {"fine_tune_type": "lora", "num_layers": layers, "lora_parameters": parameters}
    (output / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file(turned, output / "adapters.safetensors")


def main():
    settings = json.loads(Path(sys.argv[1]).read_text())
    try:
        import torch
        from datasets import Dataset, disable_progress_bars
        from peft import get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
        from transformers.trainer_utils import get_last_checkpoint
        from transformers.utils import is_torch_bf16_gpu_available, logging
        from trl import SFTConfig, SFTTrainer
    except ImportError as error:
        tell(
            "error",
            message=f"the trainer `trl` lacks a package in {sys.executable}: {error}",
            hint="`pip install trl peft` there, or name another Python: `python` under `[train]` in `grail.toml`",
        )
        return 1

    disable_progress_bars()
    logging.disable_progress_bar()
    torch.manual_seed(settings["seed"])
    output = Path(settings["output"])
    checkpoints = output / "checkpoints"
    tokenizer = AutoTokenizer.from_pretrained(settings["model"])
    model = AutoModelForCausalLM.from_pretrained(settings["model"])
    model = load_adapter(settings, model) if settings["adapter"] else get_peft_model(model, lora_config(settings, model))

    def read_rows(name):
        """The examples of a file that are short enough: TRL would cut the others off, maybe before the answer begins."""
        file = Path(settings["data"]) / f"{name}.jsonl"
        lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
        rows = [json.loads(line) for line in lines if line.strip()]
        tokens = [tokenizer.apply_chat_template(row["prompt"] + row["completion"], return_dict=False) for row in rows]
        rows = [row for row, found in zip(rows, tokens) if len(found) <= settings["max_tokens"]]
        # In memory: a cache elsewhere would remember what the project is to forget.
        return Dataset.from_list(rows) if rows else None

    train, valid = read_rows("train"), read_rows("valid")
    if train is None:
        tell("error", message=f"no example has at most {settings['max_tokens']} tokens", hint="`--max-tokens` lets them be longer")
        return 1

    class Tell(TrainerCallback):
        def __init__(self):
            self.started = time.monotonic()

        def on_log(self, arguments, state, control, logs=None, **others):
            logs = logs or {}
            seconds = time.monotonic() - self.started
            if "loss" in logs:
                tell(
                    "step",
                    step=state.global_step,
                    loss=number(logs["loss"]),
                    learning_rate=number(logs.get("learning_rate")),
                    seconds=seconds,
                )
            if "eval_loss" in logs:
                tell("checkpoint", step=state.global_step, validation_loss=number(logs["eval_loss"]), seconds=seconds)

    trainer = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=train,
        eval_dataset=valid,
        callbacks=[Tell()],
        args=SFTConfig(
            output_dir=str(checkpoints),
            max_steps=settings["iterations"],
            per_device_train_batch_size=settings["batch_size"],
            learning_rate=settings["learning_rate"],
            lr_scheduler_type="cosine",
            warmup_steps=settings["warmup"],
            max_length=settings["max_tokens"],
            completion_only_loss=True,
            logging_steps=1,
            save_steps=settings["checkpoint_every"],
            save_total_limit=2,
            eval_strategy="steps" if valid else "no",
            eval_steps=settings["checkpoint_every"],
            seed=settings["seed"],
            # TRL takes half precision for granted, which only some graphics cards have.
            bf16=is_torch_bf16_gpu_available(),
            report_to=[],
            disable_tqdm=True,
        ),
    )
    # It says everything once more, for people.
    trainer.remove_callback(PrinterCallback)
    tell("start", iterations=settings["iterations"])
    last = get_last_checkpoint(str(checkpoints)) if settings["resume"] and checkpoints.is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    write_adapter(trainer.model, output)
    shutil.rmtree(checkpoints, ignore_errors=True)
    tell("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
