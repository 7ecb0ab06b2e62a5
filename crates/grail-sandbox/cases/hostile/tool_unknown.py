# expect: raised NameError
# tries: a tool it was not given
delete_everything()
