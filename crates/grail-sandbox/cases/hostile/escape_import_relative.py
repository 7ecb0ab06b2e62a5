# expect: rejected relative-import
# tries: to import from where it lies
from . import secrets

secrets
