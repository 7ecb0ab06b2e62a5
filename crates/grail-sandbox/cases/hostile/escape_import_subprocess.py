# expect: rejected import-module
# tries: to start programs
import subprocess

subprocess.run(["id"])
