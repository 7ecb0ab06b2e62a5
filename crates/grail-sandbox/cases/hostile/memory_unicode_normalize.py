# expect: limit-hit memory
# tries: one character that becomes eighteen
import unicodedata

len(unicodedata.normalize("NFKC", "\ufdfa" * 5_000_000))
