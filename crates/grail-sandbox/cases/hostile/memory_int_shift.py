# expect: limit-hit memory
# tries: an integer of four gigabits
(1 << 4_000_000_000) % 10
