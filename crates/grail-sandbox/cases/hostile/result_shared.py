# expect: limit-hit memory | limit-hit duration | limit-hit result-size
# policy: max-duration = '300ms'
# tries: a small graph that is huge when written out
nest = ["x"]
for _ in range(30):
    nest = [nest, nest]
nest
