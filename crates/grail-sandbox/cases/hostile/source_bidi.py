# expect: value "user"
# tries: text that reads otherwise than it runs
access = "user"
if access != "none‮ ⁦# Check if admin⁩ ⁦":
    result = access
result
