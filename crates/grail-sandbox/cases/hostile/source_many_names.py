# expect: value 1
# generate: "(x:=1);" * 20000 + "x"
# tries: twenty thousand variables
