# expect: rejected import-module
# tries: to open connections
import socket

socket.socket()
