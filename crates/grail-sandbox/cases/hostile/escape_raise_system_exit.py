# expect: raised SystemExit
# tries: to end the worker
raise SystemExit("65")
