# expect: value "dropped"
# policy: max-memory = '512MiB'
# tries: to free a list a million deep
nest = []
for _ in range(1_000_000):
    nest = [nest]
nest = None
result = "dropped"
result
